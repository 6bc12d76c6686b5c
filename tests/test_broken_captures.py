"""Broken captures through the whole path: a right result, or one line and nothing written."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from perfetto_autoviz import CaptureError
from perfetto_autoviz.annotate import write_annotated
from perfetto_autoviz.ingest import scan_capture
from perfetto_autoviz.session import Session
from tests.ingest.broken import BrokenFile, broken_files, bytes_of, events_of, kernel
from tests.ingest.mutate import mutations
from tests.live import bare_engine, open_fresh

MENDED = [file for file in broken_files() if file.devices is not None]
SENT = list({file.repairs: file for file in reversed(MENDED)}.values())
"""One for each kind of repair, whose enriched trace is opened, too."""

# Three of each kind of damage. A thousand are scanned by another test; the way through an
# engine takes half a second each.
GENERATED = int(os.environ.get("AUTOVIZ_GENERATED_FILES", "24"))


KERNELS = "SELECT ts, dur, name, stream, correlation FROM autoviz_kernel"


@pytest.mark.parametrize("broken", MENDED, ids=lambda file: file.name)
def test_a_mended_capture_holds_all_its_kernels(broken: BrokenFile, tmp_path: Path) -> None:
    path = tmp_path / broken.file_name
    path.write_bytes(broken.data)
    with open_fresh(path) as session:
        told = _repairs(session)
        assert broken.repairs <= told
        kernels = session.query(KERNELS)
        assert len(kernels) == broken.devices
        if broken in SENT:
            out = tmp_path / "out.autoviz.zip"
            write_annotated(session, out)
            check_that_a_teammate_can_open(out, kernels, told)
    assert path.read_bytes() == broken.data


def check_that_a_teammate_can_open(out: Path, kernels: pd.DataFrame, told: set[str]) -> None:
    with bare_engine(out) as engine:
        if told == {"overlapping_slices"} and engine.drops_overlaps:
            return
        back = engine.query(KERNELS)
        warning = engine.query("SELECT warning FROM autoviz_capture")["warning"].iloc[0]
    assert back.equals(kernels)
    assert warning is None


def _repairs(session: Session) -> set[str]:
    return {repair["kind"] for repair in json.loads(session.metadata["repairs"])}


def test_generated_damage_ends_in_a_result_or_one_line(tmp_path: Path) -> None:
    endings = {"result": 0, "one line": 0}
    for number, (what, data) in enumerate(mutations(bytes_of(events_of(12)), GENERATED, seed=7)):
        path = tmp_path / f"{number}.json"
        path.write_bytes(data)
        endings[ending(path, what, tmp_path / "out.autoviz.zip")] += 1
    assert endings["result"] > GENERATED // 4
    assert sum(endings.values()) == GENERATED


def ending(path: Path, what: str, out: Path) -> str:
    try:
        with open_fresh(path) as session:
            counted = scan_capture(path, drops_overlaps=session.engine.drops_overlaps).counts
            loaded = session.query("SELECT count() AS n FROM autoviz_kernel")["n"].iloc[0]
            write_annotated(session, out)
    except CaptureError as error:
        complaint = str(error)
    else:
        assert loaded == counted.device, what
        out.unlink()
        return "result"
    assert "\n" not in complaint, what
    assert not out.exists(), what
    return "one line"


def test_numbers_written_as_texts_join_kernels_with_launches(tmp_path: Path) -> None:
    events = events_of(4)
    for event in events:
        event["args"] = {name: str(value) for name, value in event.get("args", {}).items()}
    path = tmp_path / "texts.json"
    path.write_bytes(bytes_of(events))
    plain = tmp_path / "numbers.json"
    plain.write_bytes(bytes_of(events_of(4)))
    sql = "SELECT device, stream, correlation, launch_name FROM autoviz_kernel"
    with open_fresh(path) as texts, open_fresh(plain) as numbers:
        assert texts.query(sql).equals(numbers.query(sql))
        assert texts.query(sql)["launch_name"].notna().all()


def test_stream_0_runs_beside_the_stream_of_the_devices_number(tmp_path: Path) -> None:
    # An engine takes thread 0 of process 2 for thread 2.
    streams = {0: kernel(0, pid=2, tid=0, dur=12), 2: kernel(1, pid=2, tid=2)}
    for stream, event in streams.items():
        event["args"] = {**event["args"], "device": 2, "stream": stream}
    path = tmp_path / "streams.json"
    path.write_bytes(bytes_of([*streams.values()]))
    with open_fresh(path) as session:
        found = session.query("SELECT name, stream FROM autoviz_kernel ORDER BY seq")
    assert found.to_records(index=False).tolist() == [("kernel_0", 0), ("kernel_1", 2)]


@pytest.mark.parametrize("behind", [b"\0" * 512, b"not gzip"])
def test_padding_behind_a_packed_capture_is_ignored(tmp_path: Path, behind: bytes) -> None:
    path = tmp_path / "padded.json.gz"
    path.write_bytes(gzip.compress(bytes_of(events_of(4))) + behind)
    with open_fresh(path) as session:
        repairs = json.loads(session.metadata["repairs"])
        assert [repair["kind"] for repair in repairs] == ["padded_gzip"]
        assert session.query("SELECT count() AS n FROM autoviz_kernel")["n"].iloc[0] == 4
