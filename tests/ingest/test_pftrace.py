"""Native traces: GPU slices counted in the wire format, against Perfetto's own messages."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest
from google.protobuf import text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest import scan_capture
from perfetto_autoviz.ingest.pftrace import count_packets


def trace_of(text: Path) -> perfetto_trace_pb2.Trace:
    trace = perfetto_trace_pb2.Trace()
    text_format.Parse(
        text.read_text(), trace, allow_unknown_extension=True, allow_unknown_field=True
    )
    return trace


def made(slices: int) -> perfetto_trace_pb2.Trace:
    """GPU slices between packets that are none."""
    trace = perfetto_trace_pb2.Trace()
    trace.packet.add().clock_snapshot.primary_trace_clock = 6
    for number in range(slices):
        packet = trace.packet.add(timestamp=10 * number)
        packet.gpu_render_stage_event.event_id = number
        packet.gpu_render_stage_event.duration = 5
    specifications = trace.packet.add().gpu_render_stage_event.specifications
    specifications.hw_queue.add(name="queue")
    return trace


@pytest.mark.parametrize(
    ("name", "slices"),
    [("gpu_render_stages_flow", 2), ("gpu_compute_kernel", 3), ("gpu_compute_launch", 1)],
)
def test_perfettos_own_examples(corpus: Path, tmp_path: Path, name: str, slices: int) -> None:
    trace = trace_of(corpus / "perfetto" / f"{name}.textproto")
    path = tmp_path / "x.pftrace"
    path.write_bytes(trace.SerializeToString())
    capture = scan_capture(path, drops_overlaps=True)
    assert capture.kind == "pftrace"
    assert (capture.counts.unnamed, capture.counts.device) == (slices, slices)
    assert capture.event_count == len(trace.packet)
    assert capture.repairs == ()
    assert b"".join(capture.chunks()) == path.read_bytes()


def test_a_trace_without_gpu_work(corpus: Path) -> None:
    with pytest.raises(CaptureError, match="without GPU render stages"):
        scan_capture(corpus / "perfetto" / "nested_tracks.perfetto-trace", drops_overlaps=True)


def test_gzip_and_compressed_packets(tmp_path: Path) -> None:
    data = made(3).SerializeToString()
    packed = perfetto_trace_pb2.Trace()
    packed.packet.add().compressed_packets = zlib.compress(data)
    packed.packet.add().compressed_packets = zlib.compress(data)
    path = tmp_path / "x.bin"
    path.write_bytes(gzip.compress(packed.SerializeToString()))
    capture = scan_capture(path, drops_overlaps=True)
    assert (capture.counts.unnamed, capture.event_count) == (6, 2)
    assert capture.member_name == "x.bin.pftrace"


def test_zstd_is_refused_by_name(tmp_path: Path) -> None:
    """Its packets can't be counted, so that nobody could say whether all of them arrived."""
    trace = made(3)
    trace.packet.add().zstd_compressed_packets = b"\x28\xb5\x2f\xfd"
    path = tmp_path / "x.pftrace"
    path.write_bytes(trace.SerializeToString())
    with pytest.raises(CaptureError, match="compressed with zstd, which isn't read"):
        scan_capture(path, drops_overlaps=True)


def test_a_compressed_packet_that_breaks_halfway(tmp_path: Path) -> None:
    """Nothing of it counts, as no engine reads it; what follows is not trusted."""
    whole = made(3).SerializeToString()
    broken = perfetto_trace_pb2.Trace()
    broken.packet.add().compressed_packets = zlib.compress(whole + b"\x0a\x02\xff\xff")
    path = tmp_path / "x.pftrace"
    path.write_bytes(whole + broken.SerializeToString() + whole)
    capture = scan_capture(path, drops_overlaps=True)
    assert capture.counts.unnamed == 3
    assert [repair.kind for repair in capture.repairs] == ["unreadable_events"]
    assert b"".join(capture.chunks()) == whole


def test_blocks_of_any_size() -> None:
    data = made(40).SerializeToString()
    for size in (1, 7, 64, len(data)):
        found = count_packets(data[at : at + size] for at in range(0, len(data), size))
        assert (found.gpu_slices, found.packets, found.whole) == (40, 42, len(data))
        assert not found.broken


def test_a_truncated_trace_keeps_its_whole_packets(tmp_path: Path) -> None:
    trace = made(3)
    data = trace.SerializeToString()
    del trace.packet[-1]
    path = tmp_path / "x.pftrace"
    path.write_bytes(data[:-2])
    capture = scan_capture(path, drops_overlaps=True)
    assert [repair.kind for repair in capture.repairs] == ["truncated"]
    assert b"".join(capture.chunks()) == trace.SerializeToString()


def test_damage_keeps_what_comes_before(tmp_path: Path) -> None:
    data = made(3).SerializeToString()
    path = tmp_path / "x.pftrace"
    path.write_bytes(data + b"\xff\xff\xff\xff garbage")
    capture = scan_capture(path, drops_overlaps=True)
    assert [repair.kind for repair in capture.repairs] == ["unreadable_events"]
    assert b"".join(capture.chunks()) == data
