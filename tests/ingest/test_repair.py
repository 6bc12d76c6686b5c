"""What exactly becomes of an event, read from the text an engine gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfetto_autoviz.ingest import Capture, scan_capture
from perfetto_autoviz.ingest.repair import UNCLIPPED
from tests.ingest.broken import Event, bytes_of, events_of, kernel, launch, without
from tests.ingest.conftest import slices, written_events


def scan(tmp_path: Path, data: bytes, **options: Any) -> Capture:
    path = tmp_path / "capture.json"
    path.write_bytes(data)
    return scan_capture(path, **{"drops_overlaps": True, **options})


def repaired(tmp_path: Path, events: list[Event], **options: Any) -> list[Event]:
    return written_events(scan(tmp_path, bytes_of(events), **options))


def test_a_sound_capture_is_handed_over_byte_for_byte(tmp_path: Path) -> None:
    data = bytes_of()
    capture = scan(tmp_path, data)
    assert b"".join(capture.chunks()) == data
    assert capture.repairs == ()
    assert capture.original_is_enough
    assert capture.event_count == 10
    assert (capture.size, capture.unpacked_size) == (len(data), len(data))


def test_overlong_kernels_end_at_the_next_start(tmp_path: Path) -> None:
    events = [kernel(0), kernel(1, dur=2_000_000.5), kernel(2), kernel(3, dur=3e6)]
    written = repaired(tmp_path, events, drops_overlaps=False)
    assert written[1]["dur"] == 10
    assert written[1]["args"] == {**kernel(1)["args"], UNCLIPPED: 2_000_000.5}
    assert written[3] == kernel(3, dur=3e6)  # nothing follows it


def test_a_kernel_below_a_second_is_not_clipped(tmp_path: Path) -> None:
    events = [kernel(0, dur=999_999), kernel(1)]
    assert scan(tmp_path, bytes_of(events), drops_overlaps=False).repairs == ()


def test_begin_end_pairs_become_complete_events(tmp_path: Path) -> None:
    begin = without({**kernel(0), "ph": "B"}, "dur")
    inner = without({**kernel(1, name="inner"), "ph": "B", "ts": 1001.0}, "dur")
    ends = [
        {"ph": "E", "pid": 0, "tid": 7, "ts": 1002.5},
        {"ph": "E", "pid": 0, "tid": 7, "ts": 1005.375, "args": {"bytes": 12}},
    ]
    capture = scan(tmp_path, bytes_of([begin, inner, *ends, launch(1)]))
    written = written_events(capture)
    assert capture.counts.kernel == 2
    assert written[0] == {**kernel(0), "args": {**kernel(0)["args"], "bytes": 12}}
    assert written[1] == {**kernel(1, name="inner"), "ts": 1001.0, "dur": 1.5}
    assert written[2:] == [launch(1)]


def test_begin_end_pairs_of_the_host_stay(tmp_path: Path) -> None:
    pair = [
        {"ph": "B", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 1},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 2},
    ]
    assert scan(tmp_path, bytes_of([*pair, kernel(0)])).repairs == ()


def test_negative_timestamps_move_the_whole_capture(tmp_path: Path) -> None:
    events = [kernel(0, ts=-12.5), kernel(1, ts=0.25), launch(0, ts="7.5")]
    written = repaired(tmp_path, events)
    assert [event["ts"] for event in written] == [0.5, 13.25, 20.5]


def test_text_numbers_become_numbers(tmp_path: Path) -> None:
    events = [kernel(0, ts="1689180447634364.867", dur="1e1"), kernel(1, dur=" 2 ")]
    written = repaired(tmp_path, events)
    assert written[0]["ts"] == 1689180447634364.867
    assert [event["dur"] for event in written] == [10.0, 2.0]


def test_doubles_and_large_integers_come_back_as_they_were(tmp_path: Path) -> None:
    args = {"id": 2**64 + 3, "unsigned": 2**63 + 1, "share": 0.1 + 0.2}
    events = [
        kernel(0, ts=1689180447634364.867, dur=12.345, args=args),
        kernel(1, ts=1689180447634370.112, dur=-1, args=args),
    ]
    written = repaired(tmp_path, events)
    assert written[0] == events[0]
    assert written[1] == {**events[1], "dur": 0}


def test_overlapping_kernels_move_and_nothing_else_changes(tmp_path: Path) -> None:
    flow = {"ph": "f", "cat": "ac2g", "name": "ac2g", "bp": "e", "id": 1, "pid": 0, "tid": 7}
    events = [kernel(0, dur=12), kernel(1), launch(1), {**flow, "ts": kernel(1)["ts"]}]
    capture = scan(tmp_path, bytes_of(events))
    written = written_events(capture)
    lane = written[1]["tid"]
    assert lane not in (0, 7, 100)
    assert written[:4] == [
        events[0],
        {**events[1], "tid": lane},
        events[2],
        {**events[3], "tid": lane},
    ]
    assert written[4]["args"] == {"name": "7 (autoviz lane 1)"}
    assert (written[4]["ph"], written[4]["name"]) == ("M", "thread_name")
    assert (written[4]["pid"], written[4]["tid"]) == (0, lane)
    assert [(r.kind, r.count) for r in capture.repairs] == [("overlapping_slices", 1)]
    assert capture.original_is_enough
    assert capture.member_name == "capture.json"


def test_an_engine_that_keeps_overlaps_gets_the_original(tmp_path: Path) -> None:
    data = bytes_of([kernel(0, dur=12), kernel(1)])
    assert b"".join(scan(tmp_path, data, drops_overlaps=False).chunks()) == data


def test_threads_that_are_one_for_the_engine_are_one_here(tmp_path: Path) -> None:
    # An id beyond 32 bits counts as absent, so these two share the thread of their process.
    events = [kernel(0, tid=2**40, dur=12), kernel(1, tid=2**41)]
    assert [r.kind for r in scan(tmp_path, bytes_of(events)).repairs] == ["overlapping_slices"]
    # Thread 0 is the main thread of its process: streams 0 and 2 of device 2 are one.
    events = [kernel(0, pid=2, tid=0, dur=12), kernel(1, pid=2, tid=2)]
    assert [r.kind for r in scan(tmp_path, bytes_of(events)).repairs] == ["overlapping_slices"]
    apart = [kernel(0, tid="stream 7", dur=12), kernel(1, tid=7)]
    assert scan(tmp_path, bytes_of(apart)).repairs == ()


def test_lanes_of_a_thread_named_by_text(tmp_path: Path) -> None:
    events = [kernel(0, tid="stream 7 ", dur=12), kernel(1, tid="stream 7 ")]
    written = repaired(tmp_path, events)
    assert written[-1]["args"]["name"] == "stream 7  (autoviz lane 1)"


def test_a_light_load_leaves_categories_out_and_nothing_else(tmp_path: Path) -> None:
    host = [
        {**launch(number), "cat": category, "name": category, "tid": 100 + number}
        for number, category in enumerate(("python_function", "cpu_op", "Operator"))
    ]
    capture = scan(tmp_path, bytes_of([*host, *events_of()]), leave_out=("python_function",))
    assert written_events(capture) == [*host[1:], *events_of()]
    assert capture.left_out == ("python_function",)
    assert not capture.original_is_enough
    both = scan(tmp_path, bytes_of([*host, *events_of()]), leave_out=("python_function", "cpu_op"))
    assert written_events(both) == events_of()
    assert (both.counts.kernel, both.counts.launch, both.event_count) == (5, 5, 13)


def test_leaving_out_what_is_not_there_changes_nothing(tmp_path: Path) -> None:
    capture = scan(tmp_path, bytes_of(), leave_out=("python_function",))
    assert capture.left_out == ()
    assert capture.original_is_enough


def test_metadata_stays_where_it_was(tmp_path: Path) -> None:
    data = bytes_of([kernel(0, dur=-1)], displayTimeUnit="ms", big=2**70)
    text = b"".join(scan(tmp_path, data).chunks())
    trace = json.loads(text)
    assert list(trace) == [
        "schemaVersion",
        "distributedInfo",
        "displayTimeUnit",
        "big",
        "traceEvents",
        "traceName",
    ]
    assert trace["big"] == 2**70


def test_a_bare_list_is_written_as_an_object(tmp_path: Path) -> None:
    events = [kernel(0, dur=-1), kernel(1)]
    written = written_events(scan(tmp_path, json.dumps(events).encode()))
    assert written == [{**events[0], "dur": 0}, events[1]]


def test_what_was_lost_is_told(tmp_path: Path) -> None:
    data = bytes_of()
    cut = data.index(b'"kernel_4"')
    capture = scan(tmp_path, data[:cut])
    (repair,) = capture.repairs
    text = data[data.rindex(b"{", 0, cut) : cut].rstrip()
    assert (repair.kind, repair.count) == ("truncated", 1)
    assert f"({len(text)} bytes)" in repair.detail


def test_a_file_that_changes_after_the_scan_is_noticed(tmp_path: Path) -> None:
    capture = scan(tmp_path, bytes_of())
    capture.path.write_bytes(bytes_of(events_of(6)))
    with pytest.raises(Exception, match="has changed"):
        list(capture.chunks())


def test_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfetto_autoviz.ingest.unpack.BLOCK", 700)
    events = events_of(200)
    events[101] = kernel(50, dur=13.5, name="a\\b")
    data = bytes_of(events).replace(b"kernel_7", rb"kernel_\ud83d\ude00")
    capture = scan(tmp_path, data)
    written = written_events(capture)
    assert len(slices(written, "kernel")) == capture.counts.kernel == 200
    assert {repair.kind for repair in capture.repairs} == {
        "surrogate_escapes",
        "overlapping_slices",
    }
    same = [event for event in written if event["ph"] == "X" and event["tid"] in (7, 100)]
    expected = [json.loads(json.dumps(e).replace("kernel_7", "kernel_😀")) for e in events]
    assert [e for e in expected if e["name"] != "kernel_51"] == same
