"""When the events of a native trace are: asked of an engine, which knows all about clocks.

The trace is given to an engine once more, with a counter in the place of each event that
counts rows. All that concerns clocks stays as it is, and nothing else is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from perfetto_autoviz.engine import Engine
from perfetto_autoviz.ingest.packet_schema import Clocks, Packet, Trace
from perfetto_autoviz.splitting.index import Ints
from perfetto_autoviz.splitting.native.events import NO_TIME, Events

_TRACK = 0x6175746F76697A  # "autoviz", as the number of the counter's track
_TYPE_COUNTER = 4
_OTHER_SEQUENCE = 0xFFFF_FFF0
"""Sequence of packets that name none, which only events need."""

_PACKETS = 4096
"""Packets given to the engine at once."""


def _description() -> bytes:
    """A trace of the packet that makes the track a counter's."""
    packet = Packet()
    packet.track.uuid = _TRACK
    packet.track.counter.SetInParent()
    text: bytes = Trace(packet=[packet.SerializeToString()]).SerializeToString()
    return text


def event_times(engine: Engine, packets: Iterable[tuple[bytes, Any]], events: Events) -> Ints:
    """Reads all packets once.

    Args:
        engine: one that has loaded nothing.
        packets: of the trace.
        events: filled with its events.

    Returns:
        Shape (events,): times in ns, ``NO_TIME`` for what the engine passes over.

    Raises:
        CaptureError: the trace can't be cut.
    """
    engine.load(_counted(packets, events))
    found = engine.query("SELECT ts, value FROM counter")
    times = np.full(len(events), NO_TIME)
    times[found["value"].to_numpy(np.int64)] = found["ts"].to_numpy(np.int64)
    return times


def _counted(packets: Iterable[tuple[bytes, Any]], events: Events) -> Iterator[bytes]:
    yield _description()
    block = Clocks()
    for raw, packet in packets:
        row = events.add(packet)
        ticks = block.packet.add()
        ticks.MergeFromString(raw)
        if row is None:
            ticks.ClearField("track_event")
        else:
            count = ticks.track_event
            count.type, count.track, count.value = _TYPE_COUNTER, _TRACK, row
            if not ticks.HasField("sequence"):
                ticks.sequence = _OTHER_SEQUENCE
        if len(block.packet) == _PACKETS:
            yield _text(block)
            block = Clocks()
    yield _text(block)


def _text(block: Any) -> bytes:
    block.DiscardUnknownFields()
    text: bytes = block.SerializeToString()
    return text
