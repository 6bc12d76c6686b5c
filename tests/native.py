"""Kineto captures written as native Perfetto traces, the way the tracing SDK and GPU producers do.

Each host thread is a sequence of its own with interned names and categories and times that
are differences to the event before; GPU render stages have absolute times on a clock of the
producer, which a snapshot ties to the trace's. Calls of the runtime name the GPU events they
submit. The messages are Perfetto's own; field 3000 is that of its gpu_track_event.proto.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from perfetto_autoviz.engine.wire import encode_bytes_field, encode_varint

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_CALLS = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver")

BOOTTIME, INCREMENTAL, GPU_CLOCK = 6, 64, 65
GPU_CLOCK_AHEAD_NS = 123_456_789
"""The GPU's clock is ahead of the trace's by this."""

_CLEARED, _NEEDED = 1, 2
_BEGIN, _END = 1, 2
_GPU_SEQUENCE = 2


@dataclass(frozen=True)
class Event:
    """A complete event of a capture; times in ns."""

    start: int
    end: int
    name: str
    category: str
    pid: int
    tid: int
    correlation: int | None


def complete_events(path: Path) -> list[Event]:
    """The complete events of a Kineto capture whose ids are numbers, by time."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found = []
    for event in json.loads(raw)["traceEvents"]:
        ids = (event.get("pid"), event.get("tid"))
        if event.get("ph") != "X" or not all(isinstance(each, int) for each in ids):
            continue
        start = round(event["ts"] * 1000)
        end = start + round(event.get("dur", 0) * 1000)
        correlation = event.get("args", {}).get("correlation")
        found.append(
            Event(start, end, event["name"], event.get("cat", ""), *ids, correlation)  # type: ignore[arg-type]
        )
    return sorted(found, key=lambda each: (each.start, -each.end))


@dataclass
class _Sequence:
    """A writer of packets, as the SDK has one per thread."""

    number: int
    packets: list[Any]
    clock: int = 0
    names: dict[str, int] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)

    def packet(self, *, flags: int = _NEEDED) -> Any:
        packet = perfetto_trace_pb2.TracePacket()
        packet.trusted_packet_sequence_id = self.number
        packet.sequence_flags = flags
        self.packets.append(packet)
        return packet

    def interned(self, packet: Any, event: Event) -> tuple[int, int]:
        """Numbers of name and category, which the packet defines where they are new."""
        for text, known, kind in (
            (event.name, self.names, "event_names"),
            (event.category, self.categories, "event_categories"),
        ):
            if text not in known:
                known[text] = len(known) + 1
                getattr(packet.interned_data, kind).add(iid=known[text], name=text)
        return self.names[event.name], self.categories[event.category]


def native_trace(events: Iterable[Event]) -> list[bytes]:
    """The packets of the events, in order of time over all sequences."""
    timed: list[tuple[int, int, bytes]] = []
    threads: dict[tuple[int, int], list[Event]] = defaultdict(list)
    device = []
    for event in events:
        if event.category in DEVICE:
            device.append(event)
        elif event.category != "gpu_user_annotation":
            threads[event.pid, event.tid].append(event)
    submitted = defaultdict(list)
    for number, event in enumerate(device):
        submitted[event.correlation].append(number + 1)
    timed += _gpu_packets(device)
    for number, ((pid, tid), there) in enumerate(sorted(threads.items())):
        timed += _thread_packets(3 + number, pid, tid, there, submitted)
    return [packet for _, _, packet in sorted(timed, key=lambda each: each[:2])]


def _gpu_packets(device: list[Event]) -> Iterator[tuple[int, int, bytes]]:
    sequence = _Sequence(_GPU_SEQUENCE, [])
    first = sequence.packet(flags=_CLEARED)
    first.trace_packet_defaults.timestamp_clock_id = GPU_CLOCK
    snapshot = sequence.packet().clock_snapshot
    snapshot.clocks.add(clock_id=BOOTTIME, timestamp=1_000_000)
    snapshot.clocks.add(clock_id=GPU_CLOCK, timestamp=1_000_000 + GPU_CLOCK_AHEAD_NS)
    streams: dict[tuple[int, int], int] = {}
    for event in device:
        stream = event.pid, event.tid
        if stream not in streams:
            streams[stream] = len(streams) + 1
            interned = sequence.packet().interned_data
            interned.gpu_specifications.add(iid=streams[stream], name=f"stream {event.tid}")
            interned.gpu_specifications.add(iid=1000 + streams[stream], name="kernel")
    for packet in sequence.packets:
        yield 0, 0, packet.SerializeToString()
    for number, event in enumerate(device):
        packet = _Sequence(_GPU_SEQUENCE, []).packet()
        packet.timestamp = event.start + GPU_CLOCK_AHEAD_NS
        gpu = packet.gpu_render_stage_event
        gpu.event_id = number + 1
        gpu.duration = event.end - event.start
        gpu.hw_queue_iid = streams[event.pid, event.tid]
        gpu.stage_iid = 1000 + gpu.hw_queue_iid
        gpu.gpu_id = event.pid
        gpu.name = event.name
        yield event.start, number + 1, packet.SerializeToString()


def _thread_packets(
    number: int, pid: int, tid: int, events: list[Event], submitted: dict[Any, list[int]]
) -> Iterator[tuple[int, int, bytes]]:
    sequence = _Sequence(number, [])
    snapshot = sequence.packet(flags=_CLEARED)
    snapshot.trace_packet_defaults.timestamp_clock_id = INCREMENTAL
    snapshot.trace_packet_defaults.track_event_defaults.track_uuid = number
    clocks = snapshot.clock_snapshot
    clocks.clocks.add(clock_id=BOOTTIME, timestamp=5000)
    clocks.clocks.add(clock_id=INCREMENTAL, timestamp=5000, is_incremental=True)
    descriptor = sequence.packet().track_descriptor
    descriptor.uuid = number
    descriptor.thread.pid, descriptor.thread.tid = pid, tid
    for packet in sequence.packets:
        yield 0, number, packet.SerializeToString()
    clock = 5000
    for order, (time, event) in enumerate(_edges(events)):
        packet = _Sequence(number, []).packet()
        packet.timestamp, clock = time - clock, time
        packet.track_event.type = _END if event is None else _BEGIN
        if event is not None:
            name, category = sequence.interned(packet, event)
            packet.track_event.name_iid = name
            packet.track_event.category_iids.append(category)
        raw = packet.SerializeToString()
        if event is not None and event.category in _CALLS and event.correlation in submitted:
            raw = _with_submission(packet, submitted[event.correlation])
        yield time, 1_000_000_000 + number * 10_000_000 + order, raw


def _edges(events: list[Event]) -> Iterator[tuple[int, Event | None]]:
    """Begins, and None for ends, as a thread writes them; what crosses ends with what is around."""
    open_: list[int] = []
    for event in events:
        while open_ and open_[-1] <= event.start:
            yield open_.pop(), None
        end = min([event.end, *open_])
        yield event.start, event
        open_.append(end)
    while open_:
        yield open_.pop(), None


def _with_submission(packet: Any, ids: list[int]) -> bytes:
    """The packet, its track event extended by the GPU events that it submits."""
    correlation = b"".join(encode_varint(1 << 3) + encode_varint(each) for each in ids)
    event = packet.track_event.SerializeToString() + encode_bytes_field(3000, correlation)
    packet.ClearField("track_event")
    raw: bytes = packet.SerializeToString() + encode_bytes_field(11, event)
    return raw


def as_trace(packets: Iterable[bytes], *, compressed: int = 0) -> bytes:
    """A trace of the packets; every so many of them in one compressed packet."""
    framed = [encode_bytes_field(1, packet) for packet in packets]
    if not compressed:
        return b"".join(framed)
    bundles = (b"".join(framed[at : at + compressed]) for at in range(0, len(framed), compressed))
    return b"".join(
        encode_bytes_field(1, encode_bytes_field(50, zlib.compress(bundle))) for bundle in bundles
    )


def write_native(source: Path, target: Path, *, compressed: int = 0) -> list[Event]:
    """Writes a Kineto capture as a native trace, and returns its events."""
    events = complete_events(source)
    target.write_bytes(as_trace(native_trace(events), compressed=compressed))
    return events


Slice = tuple[int, int, str, str]
"""Start and duration in ns, name and category; GPU slices have no category."""


def read_native(data: bytes) -> tuple[Counter[Slice], Counter[Slice]]:
    """The slices of a trace that `native_trace` wrote, or of a cut of one.

    Read by the rules of the format as far as that writer uses them, and nothing else: it
    fails on a text that isn't defined, and on an end without a begin.

    Returns:
        The slices of the GPU, and those of the host.
    """
    gpu: Counter[Slice] = Counter()
    host: Counter[Slice] = Counter()
    clock: dict[int, int] = {}
    texts: dict[tuple[int, str, int], str] = {}
    open_: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for packet in perfetto_trace_pb2.Trace.FromString(data).packet:
        number = packet.trusted_packet_sequence_id
        for kind in ("event_names", "event_categories"):
            for each in getattr(packet.interned_data, kind):
                texts[number, kind, each.iid] = each.name
        for each in packet.clock_snapshot.clocks:
            if each.clock_id == INCREMENTAL:
                clock[number] = each.timestamp
        if packet.HasField("gpu_render_stage_event"):
            event = packet.gpu_render_stage_event
            gpu[packet.timestamp - GPU_CLOCK_AHEAD_NS, event.duration, event.name, ""] += 1
        elif number in clock:
            clock[number] += packet.timestamp
        if packet.track_event.type == _BEGIN:
            name = texts[number, "event_names", packet.track_event.name_iid]
            category = texts[number, "event_categories", packet.track_event.category_iids[0]]
            open_[number].append((clock[number], name, category))
        elif packet.track_event.type == _END:
            begin, name, category = open_[number].pop()
            host[begin, clock[number] - begin, name, category] += 1
    assert not any(open_.values())
    return gpu, host
