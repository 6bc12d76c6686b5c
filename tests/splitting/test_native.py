"""Cuts of native Perfetto traces, read by the rules of the format and compared with the capture."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.pftrace import PacketReader
from perfetto_autoviz.session import Session
from perfetto_autoviz.splitting.native.events import Events
from tests.conftest import ROOT
from tests.live import bare_engine, open_fresh
from tests.native import (
    DEVICE,
    Event,
    Slice,
    as_trace,
    complete_events,
    native_trace,
    read_native,
    write_native,
)
from tests.splitting.conftest import Cutter, split_session

CAPTURE = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"
Packet = perfetto_trace_pb2.TracePacket


def _unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _device(events: Sequence[Event]) -> Counter[Slice]:
    return Counter(
        (each.start, each.end - each.start, each.name, "")
        for each in events
        if each.category in DEVICE
    )


@dataclass(frozen=True)
class Cuts:
    """Cuts of one capture as JSON and as a native trace, by their windows."""

    session: Session
    native: dict[str, Path]
    files: list[dict[str, Any]]
    json: dict[str, Path]


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cuts]:
    folder = tmp_path_factory.mktemp("native")
    native = folder / "run.pftrace"
    write_native(CAPTURE, native, compressed=500)
    wanted: dict[str, Any] = {"iterations": "4,6-9", "phases": True, "first": True}
    with open_fresh(native) as session, open_fresh(CAPTURE) as json:
        theirs = split_session(json, folder / "json", **wanted)
        files = split_session(session, folder / "cuts", **wanted)
        yield Cuts(
            session,
            {each["window"]: folder / "cuts" / each["file"] for each in files},
            files,
            {each["window"]: folder / "json" / each["file"] for each in theirs},
        )


def test_a_cut_holds_what_the_cut_of_the_json_capture_holds(cuts: Cuts) -> None:
    """All of it: kernels and copies, calls, operators, frames and annotations, with their times."""
    assert len(cuts.native) == 6
    for window, path in cuts.native.items():
        assert path.name == f"run.{window}.pftrace.gz"
        gpu, host = read_native(_unzipped(path))
        events = complete_events(cuts.json[window])
        assert gpu == _device(events)
        assert host == read_native(as_trace(native_trace(events)))[1]


def test_the_manifest_counts_it(cuts: Cuts) -> None:
    for file in cuts.files:
        gpu, host = read_native(_unzipped(cuts.native[file["window"]]))
        counts = file["counts"]
        assert counts["kernels"] == gpu.total()
        categories = Counter(each[3] for each in host.elements())
        assert counts["python_frames"] == categories["python_function"]
        assert counts["annotations"] == categories["user_annotation"]
        assert counts["events"] == gpu.total() + 2 * host.total()


def test_an_engine_reads_all_of_a_cut(cuts: Cuts) -> None:
    """Flows are there too: each kernel has its launch."""
    path = cuts.native["iterations-06-09"]
    gpu, host = read_native(_unzipped(path))
    with bare_engine(path, package=False) as engine:
        slices = engine.query("SELECT ts, dur, name FROM slice")
        lost = engine.query("SELECT name FROM stats WHERE value > 0 AND severity != 'info'")
        flows = engine.query("SELECT count() AS n FROM flow")["n"].item()
    assert Counter(slices.itertuples(index=False, name=None)) == Counter(
        each[:3] for each in (gpu + host).elements()
    )
    assert lost.empty
    assert flows == gpu.total()


def test_a_cut_annotates_to_the_same_result(cuts: Cuts) -> None:
    sql = (
        "SELECT iteration.ts, iteration.dur, name, kernel_count, phase, host_ts, host_dur"
        " FROM autoviz_iteration AS iteration JOIN autoviz_phase ON iteration_id = iteration.id"
        " WHERE number BETWEEN {} ORDER BY iteration.id"
    )
    with open_fresh(cuts.native["iterations-06-09"]) as session:
        found = session.query(sql.format("0 AND 99"))
    want = cuts.session.query(sql.format("6 AND 9"))
    assert len(want) == 4
    assert found.to_dict("records") == want.to_dict("records")


def test_without_frames_of_python(cutter: Cutter, tmp_path: Path) -> None:
    path = tmp_path / "run.pftrace.gz"
    write_native(CAPTURE, tmp_path / "run.pftrace")
    path.write_bytes(gzip.compress((tmp_path / "run.pftrace").read_bytes()))
    manifest = cutter(path, first=True, compact=True)
    file = manifest["files"][0]
    assert file["file"] == "run.iteration-00.pftrace.gz"
    _, host = read_native(_unzipped(tmp_path / "cuts" / file["file"]))
    categories = Counter(each[3] for each in host.elements())
    assert "python_function" not in categories
    assert categories["hip_runtime"] + categories["cuda_runtime"] > 0


# ---- what is beside slices -----------------------------------------------------------


def _steps() -> list[Event]:
    """Three annotated steps of two kernels; each kernel runs after the call that launched it."""
    events = []
    for number in range(3):
        at = 1_000_000 * (number + 1)
        name = f"step[DECODE bs={number + 1}]"
        events.append(Event(at, at + 400_000, name, "user_annotation", 7, 7, None))
        for each in range(2):
            call = at + 100_000 * (each + 1)
            key = 10 * number + each
            launch = Event(call, call + 20_000, "cudaLaunchKernel", "cuda_runtime", 7, 7, key)
            kernel = Event(call + 200_000, call + 260_000, f"k{each}", "kernel", 0, 7, key)
            events += [launch, kernel]
    return sorted(events, key=lambda each: (each.start, -each.end))


@pytest.fixture
def cut_middle(cutter: Cutter, tmp_path: Path) -> Callable[[list[bytes]], Any]:
    """Cuts the middle one of the three steps out of packets, and returns the trace of it."""

    def run(packets: list[bytes]) -> Any:
        path = tmp_path / "x.pftrace"
        path.write_bytes(as_trace(packets))
        manifest = cutter(path, iterations="1")
        return perfetto_trace_pb2.Trace.FromString(
            _unzipped(tmp_path / "cuts" / manifest["files"][0]["file"])
        )

    return run


def test_counters_come_along_while_the_step_runs(
    cut_middle: Callable[[list[bytes]], Any],
) -> None:
    """Of the GPU and of tracks, whose description is kept; the step works from 2.1 to 2.46 ms."""
    described = Packet(trusted_packet_sequence_id=90, sequence_flags=1)
    described.gpu_counter_event.counter_descriptor.specs.add(counter_id=1, name="power")
    track = Packet(trusted_packet_sequence_id=91, sequence_flags=1)
    track.track_descriptor.uuid = 900
    track.track_descriptor.counter.unit_name = "W"
    values = []
    for number, at in enumerate(range(1_000_000, 4_000_000, 100_000)):
        gpu = Packet(trusted_packet_sequence_id=90, timestamp=at)
        gpu.gpu_counter_event.counters.add(counter_id=1, int_value=number)
        own = Packet(trusted_packet_sequence_id=91, timestamp=at)
        own.track_event.type = 4
        own.track_event.track_uuid = 900
        own.track_event.counter_value = number
        values += [gpu, own]
    texts = [each.SerializeToString() for each in (described, track, *values)]
    found = cut_middle([*native_trace(_steps()), *texts])
    gpu = [p.timestamp for p in found.packet if p.gpu_counter_event.counters]
    own = [p.timestamp for p in found.packet if p.track_event.type == 4]
    assert gpu == own == [2_100_000, 2_200_000, 2_300_000, 2_400_000]
    assert any(p.gpu_counter_event.HasField("counter_descriptor") for p in found.packet)
    assert any(p.track_descriptor.uuid == 900 for p in found.packet)


def test_what_is_unknown_stays(cut_middle: Callable[[list[bytes]], Any]) -> None:
    """Packets of other data sources are not ours to leave out."""
    unknown = Packet(trusted_packet_sequence_id=92, timestamp=5)
    unknown.system_info.utsname.sysname = "Linux"
    found = cut_middle([unknown.SerializeToString(), *native_trace(_steps())])
    assert [p.system_info.utsname.sysname for p in found.packet].count("Linux") == 1


def test_a_text_defined_by_an_event_that_is_cut_off(
    cut_middle: Callable[[list[bytes]], Any],
) -> None:
    """The first launch defines the name that the launches of the second step use."""
    found = cut_middle(native_trace(_steps()))
    gpu, host = read_native(found.SerializeToString())
    assert gpu == _device([each for each in _steps() if 2_000_000 <= each.start < 3_000_000])
    assert host == Counter(
        {
            (2_000_000, 400_000, "step[DECODE bs=2]", "user_annotation"): 1,
            (2_100_000, 20_000, "cudaLaunchKernel", "cuda_runtime"): 1,
            (2_200_000, 20_000, "cudaLaunchKernel", "cuda_runtime"): 1,
        }
    )


def test_a_slice_that_never_ends_is_around_the_step(
    cut_middle: Callable[[list[bytes]], Any],
) -> None:
    begin = Packet(trusted_packet_sequence_id=93, timestamp=1, sequence_flags=1)
    begin.track_event.type = 1
    begin.track_event.name = "serve"
    begin.track_event.track_uuid = 3  # that of the thread
    found = cut_middle([*native_trace(_steps()), begin.SerializeToString()])
    assert [p.track_event.name for p in found.packet].count("serve") == 1


# ---- what can't be cut ---------------------------------------------------------------


def _legacy() -> Any:
    packet = Packet(timestamp=1)
    packet.track_event.legacy_event.phase = ord("B")
    return packet


def _own_time() -> Any:
    packet = Packet()
    packet.track_event.type = 1
    packet.track_event.timestamp_absolute_us = 1000
    return packet


def _difference() -> Any:
    packet = Packet()
    packet.track_descriptor.uuid = 5
    packet.track_descriptor.counter.is_incremental = True
    return packet


@pytest.mark.parametrize(
    ("packet", "line"),
    [
        (_legacy(), "events of the kind that Chrome wrote before tracks"),
        (_own_time(), "times of their own beside those of their packets"),
        (_difference(), "counters that are written as differences"),
    ],
)
def test_what_a_cut_would_falsify_is_refused(packet: Any, line: str) -> None:
    ((_, decoded),) = PacketReader([as_trace([packet.SerializeToString()])])
    with pytest.raises(CaptureError, match=line):
        Events().add(decoded)


def test_a_refusal_leaves_nothing(cut_middle: Callable[[list[bytes]], Any], tmp_path: Path) -> None:
    packets = [*native_trace(_steps()), _difference().SerializeToString()]
    with pytest.raises(CaptureError, match=r"x\.pftrace can't be cut: it holds counters"):
        cut_middle(packets)
    assert list((tmp_path / "cuts").iterdir()) == []


def test_ends_that_name_another_slice_than_the_last(
    cut_middle: Callable[[list[bytes]], Any],
) -> None:
    """An engine ends the slice of that category, so that pairs are not what the order says."""
    packets = native_trace(_steps())
    for time, kind, category in ((100, 1, "a"), (200, 1, "b"), (300, 2, "a"), (400, 2, "b")):
        packet = Packet(trusted_packet_sequence_id=94, sequence_flags=1, timestamp=time)
        packet.track_event.type = kind
        packet.track_event.track_uuid = 3  # that of the thread
        packet.track_event.categories.append(category)
        packet.track_event.name = category if kind == 1 else ""
        packets.append(packet.SerializeToString())
    with pytest.raises(CaptureError, match="pairs the begins and ends of its slices otherwise"):
        cut_middle(packets)
