"""Whatever a cut leaves out of a native trace, what it keeps has the times and texts it had."""

from __future__ import annotations

import gzip
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from perfetto_autoviz.ingest.pftrace import PacketReader
from perfetto_autoviz.splitting.native.events import Events
from perfetto_autoviz.splitting.native.write import write_packets
from perfetto_autoviz.splitting.select import Selection
from tests.native import as_trace

COUNTING, PLAIN = 64, 65
Packet = perfetto_trace_pb2.TracePacket

Said = tuple[int, int, int, str]
"""Number of an event, its sequence, its time on its clock, its category's text."""


def _read(data: bytes) -> list[Said]:
    """The events of a trace by the rules of the format; fails on a text that isn't defined."""
    clock: dict[tuple[int, int], int] = {}
    default: dict[int, int] = {}
    texts: dict[int, dict[int, str]] = defaultdict(dict)
    said = []
    for packet in perfetto_trace_pb2.Trace.FromString(data).packet:
        at = packet.trusted_packet_sequence_id
        if packet.sequence_flags & 1:
            texts[at].clear()
            default.pop(at, None)
        if packet.HasField("trace_packet_defaults"):
            default[at] = packet.trace_packet_defaults.timestamp_clock_id
        for text in packet.interned_data.event_categories:
            texts[at][text.iid] = text.name
        number = packet.timestamp_clock_id or default.get(at, 0)
        time = packet.timestamp
        if number == COUNTING and packet.HasField("timestamp"):
            time = clock[at, number] = clock[at, number] + packet.timestamp
        for each in packet.clock_snapshot.clocks:
            clock[at, each.clock_id] = each.timestamp
        if packet.HasField("track_event"):
            event = packet.track_event
            said.append((event.flow_ids[0], at, time, texts[at][event.category_iids[0]]))
    return said


class _Trace:
    """Draws a trace of events numbered in the order of the file."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.packets: list[Any] = []
        self.known: dict[int, set[int]] = defaultdict(set)
        self.events = 0

    def packet(self, sequence: int) -> Any:
        self.packets.append(Packet(trusted_packet_sequence_id=sequence, sequence_flags=2))
        return self.packets[-1]

    def begin(self, sequence: int) -> None:
        """Ends the state of a sequence, and sets its clock anew."""
        first = self.packet(sequence)
        first.sequence_flags = 1
        first.trace_packet_defaults.timestamp_clock_id = COUNTING
        self.known[sequence].clear()
        clocks = self.packet(sequence).clock_snapshot.clocks
        time = self.draw(st.integers(0, 1000))
        clocks.add(clock_id=COUNTING, timestamp=time, is_incremental=True)

    def describe(self, sequence: int) -> None:
        packet = self.packet(sequence)
        packet.timestamp = self.draw(st.integers(0, 9))
        packet.track_descriptor.uuid = 1

    def other(self, sequence: int) -> None:
        """Something of another data source, whose time counts, too."""
        packet = self.packet(sequence)
        packet.timestamp = self.draw(st.integers(0, 9))
        packet.system_info.page_size = 1

    def event(self, sequence: int) -> None:
        packet = self.packet(sequence)
        packet.timestamp = self.draw(st.integers(0, 10**12))
        if self.draw(st.booleans()):
            packet.timestamp_clock_id = PLAIN
        category = self.draw(st.integers(1, 3))
        if category not in self.known[sequence]:
            self.known[sequence].add(category)
            name = f"{sequence} {category} {self.events}"
            packet.interned_data.event_categories.add(iid=category, name=name)
        packet.track_event.type = 3
        packet.track_event.category_iids.append(category)
        packet.track_event.flow_ids.append(self.events)
        self.events += 1


@st.composite
def _traces(draw: Any) -> tuple[list[bytes], int]:
    trace = _Trace(draw)
    sequences = (1, 2)
    for sequence in sequences:
        trace.begin(sequence)
    steps = [trace.event] * 5 + [trace.describe, trace.other, trace.begin]
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=25)):
        step(draw(st.sampled_from(sequences)))
    return [each.SerializeToString() for each in trace.packets], trace.events


@given(trace=_traces(), data=st.data(), compressed=st.sampled_from([0, 3]))
def test_events_keep_their_times_and_texts(
    trace: tuple[list[bytes], int], data: st.DataObject, compressed: int
) -> None:
    packets, events = trace
    text = as_trace(packets, compressed=compressed)
    pairs = st.tuples(st.integers(0, max(0, events - 1)), st.integers(0, 1))
    chosen = sorted(data.draw(st.sets(pairs))) if events else []
    row, output = np.array(chosen, np.int64).reshape(-1, 2).T
    found = Events()
    reader = PacketReader([text])
    for _, packet in reader:
        found.add(packet)
    layout = found.layout(compressed=reader.compressed)
    assert layout.compressed == bool(compressed)
    with tempfile.TemporaryDirectory() as folder:
        targets = {number: Path(folder) / f"{number}.gz" for number in (0, 1)}
        again = PacketReader([text]).raw(compressed=layout.compressed)
        write_packets(again, layout, Selection(row, output), targets)
        want = _read(as_trace(packets))
        for number, path in targets.items():
            kept = [said for said in want if (said[0], number) in chosen]
            assert _read(gzip.decompress(path.read_bytes())) == kept
