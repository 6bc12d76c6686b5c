"""One pass over a native trace that writes all its cuts side by side.

An event goes as it is into the cuts that hold it. What later packets depend on goes into all
of them: descriptors, texts, defaults, clocks; of an event that defines some of these, the
definitions alone. Where a packet's time is the difference to the one before it, a cut that
lacks some in between has the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from perfetto_autoviz.engine.wire import encode_bytes_field
from perfetto_autoviz.ingest.packet_schema import Packet
from perfetto_autoviz.splitting.native.events import DEFINING_EVENT, OTHER_PACKET, Layout
from perfetto_autoviz.splitting.native.sequences import ABSOLUTE
from perfetto_autoviz.splitting.packing import GzipFiles, gzip_files
from perfetto_autoviz.splitting.select import Selection

_TRACE_PACKET = 1
_LARGEST_WAITING = 16 << 20
"""Bytes for all cuts that wait until each is written to anyway."""

_EVENTS = ("track_event", "gpu_event", "gpu_counters")
_TIMELESS = ("track", "snapshot")
"""What holds for the rest of the trace, whenever its packet says it was written."""


def write_packets(
    packets: Iterable[bytes], layout: Layout, selection: Selection, targets: Mapping[int, Path]
) -> None:
    """Writes the events of each output to its file, gzipped, with all that they depend on.

    Args:
        packets: of the trace.
        layout: what is known of them.
        selection: which events go where.
        targets: the file of each output.
    """
    outputs = _outputs(selection)
    row = 0
    with gzip_files(targets) as files:
        writer = _Writer(files, targets)
        steps = zip(packets, layout.part, layout.counting, layout.count, strict=True)
        for raw, part, counting, count in steps:
            if part == OTHER_PACKET:
                writer.add_other(raw, counting, count)
                continue
            if part == DEFINING_EVENT:
                writer.add_common(_definitions(raw))
            if row in outputs:
                writer.add(outputs[row], raw, counting, count)
            row += 1
        writer.finish()


def _outputs(selection: Selection) -> dict[int, list[int]]:
    """The outputs of each event that has some."""
    if not len(selection.row):
        return {}
    first = np.flatnonzero(np.concatenate(([True], selection.row[1:] != selection.row[:-1])))
    groups = np.split(selection.output, first[1:])
    rows = selection.row[first].tolist()
    return {row: group.tolist() for row, group in zip(rows, groups, strict=True)}


class _Writer:
    """The files, and where each of them is behind.

    Packets for all files wait until a file is written to anyway: most cuts lie in a short
    part of the trace.
    """

    def __init__(self, files: GzipFiles, outputs: Iterable[int]) -> None:
        self._files = files
        self._common: list[bytes] = []
        self._waiting = 0
        self._begin = dict.fromkeys(outputs, 0)  # how many of the common packets each has
        self._counts: dict[tuple[int, int], int] = {}  # by output and counting

    def add(self, outputs: Iterable[int], raw: bytes, counting: int, count: int) -> None:
        """Writes a packet to some outputs, with its time as these need it."""
        for output in outputs:
            self._catch_up(output)
            text = raw if counting == ABSOLUTE else self._timed(output, raw, counting, count)
            self._files.add(output, encode_bytes_field(_TRACE_PACKET, text))

    def add_common(self, raw: bytes) -> None:
        """Writes a packet to all outputs."""
        framed = encode_bytes_field(_TRACE_PACKET, raw)
        self._common.append(framed)
        self._waiting += len(framed)
        if self._waiting > _LARGEST_WAITING:
            self.finish()
            self._common, self._waiting = [], 0
            self._begin = dict.fromkeys(self._begin, 0)

    def add_other(self, raw: bytes, counting: int, count: int) -> None:
        """Writes a packet that is no event to all outputs."""
        if counting == ABSOLUTE:
            self.add_common(raw)
            return
        packet = Packet.FromString(raw)
        if packet.WhichOneof("data") in _TIMELESS:
            self.add_common(_without_time(packet))
        else:
            self.add(self._begin, raw, counting, count)

    def finish(self) -> None:
        """Gives all outputs what still waits."""
        for output in self._begin:
            self._catch_up(output)

    def _catch_up(self, output: int) -> None:
        begin = self._begin[output]
        if begin < len(self._common):
            self._files.add(output, b"".join(self._common[begin:]))
            self._begin[output] = len(self._common)

    def _timed(self, output: int, raw: bytes, counting: int, count: int) -> bytes:
        packet = Packet.FromString(raw)
        packet.timestamp = count - self._counts.get((output, counting), 0)
        self._counts[output, counting] = count
        text: bytes = packet.SerializeToString()
        return text


def _definitions(raw: bytes) -> bytes:
    packet = Packet.FromString(raw)
    for name in _EVENTS:
        packet.ClearField(name)
    return _without_time(packet)


def _without_time(packet: Any) -> bytes:
    packet.ClearField("timestamp")
    packet.ClearField("clock")
    text: bytes = packet.SerializeToString()
    return text
