from __future__ import annotations

import gzip
import json
import threading
import time
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from perfetto_autoviz.errors import CaptureError, UsageError
from perfetto_autoviz.relations import Column, Relation
from perfetto_autoviz.tracks import enriched
from perfetto_autoviz.tracks.enriched import (
    EnrichedWriter,
    safe_member_name,
    write_enriched,
)
from perfetto_autoviz.tracks.specs import TrackSpec
from perfetto_autoviz.tracks.writer import build_annotations
from tests.tracks.conftest import Load

SPAN = Relation(
    "span",
    "A span.",
    (Column("ts", "LONG", "Start."), Column("dur", "LONG", "Duration.")),
    timed=True,
)
# Microseconds. Gaps are larger than a double's step of 0.25 µs at epoch scale: the engine
# rounds to it, and would lose kernels that overlap then.
KERNELS = [(1000.0, 12.5), (1014.5, 3.0), (1020.125, 100.0), (1500.0, 0.125)]


def capture(offset: float = 0.0) -> bytes:
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": f"k{n}",
            "pid": 0,
            "tid": 7,
            "ts": offset + ts,
            "dur": dur,
        }
        for n, (ts, dur) in enumerate(KERNELS)
    ]
    return json.dumps({"traceEvents": events}).encode()


def tracks_over(spans: list[tuple[int, int]]) -> bytes:
    frame = pd.DataFrame(spans, columns=["ts", "dur"])
    track = TrackSpec("span", "spans", [f"over {ts}" for ts, _ in spans])
    return build_annotations({"span": frame}, [track], [], spans[0][0], [SPAN])


@pytest.mark.parametrize("offset", [0.0, 1_700_000_000_000_000.0])
@pytest.mark.parametrize("packed", [False, True])
def test_annotations_lie_exactly_on_the_kernels(
    load: Load, tmp_path: Path, offset: float, packed: bool
) -> None:
    raw = capture(offset)
    alone = load(raw).query("SELECT ts, dur FROM slice ORDER BY ts")
    spans = [(int(ts), int(dur)) for ts, dur in alone.itertuples(index=False)]
    assert len(spans) == len(KERNELS)
    out = tmp_path / "enriched.zip"
    name = "trace.json.gz" if packed else "trace.json"
    stored = gzip.compress(raw) if packed else raw
    write_enriched(out, name, [stored], tracks_over(spans), already_compressed=packed)

    engine = load(out.read_bytes())
    rows = engine.query(
        "SELECT kernel.ts AS ts, kernel.dur AS dur, kernel.name AS name, over.name AS over"
        " FROM slice AS kernel JOIN slice AS over ON over.ts = kernel.ts AND over.dur = kernel.dur"
        " WHERE kernel.category = 'kernel' AND over.category = 'autoviz.span' ORDER BY kernel.ts"
    )
    assert [tuple(row) for row in rows.itertuples(index=False)] == [
        (ts, dur, f"k{n}", f"over {ts}") for n, (ts, dur) in enumerate(spans)
    ]
    assert engine.query("SELECT COUNT(*) AS n FROM slice")["n"].tolist() == [2 * len(KERNELS)]
    assert not [stat for stat in engine.stats() if stat.severity in ("error", "data_loss")]


def test_the_archive_holds_two_plain_members(tmp_path: Path) -> None:
    out = tmp_path / "enriched.zip"
    write_enriched(out, "trace.json", [b"abc", b"def"], b"tracks", already_compressed=False)
    with zipfile.ZipFile(out) as archive:
        infos = archive.infolist()
        assert [info.filename for info in infos] == ["trace.json", "annotations.pftrace"]
        assert archive.read("trace.json") == b"abcdef"
        for info in infos:
            assert (info.compress_type, info.extra, info.flag_bits) == (
                zipfile.ZIP_DEFLATED,
                b"",
                0,
            )
            assert info.extract_version == 20
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
        assert archive.read("annotations.pftrace") == b"tracks"


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        write_enriched(tmp_path / name, "t.json", [capture()], b"x" * 99, already_compressed=False)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_compressed_capture_is_stored_as_it_is(tmp_path: Path) -> None:
    packed = gzip.compress(capture())
    source = tmp_path / "trace.json.gz"
    source.write_bytes(packed)
    out = tmp_path / "enriched.zip"
    write_enriched(out, source.name, [packed], b"tracks", already_compressed=True)
    assert packed in out.read_bytes()
    assert source.read_bytes() == packed


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        write_enriched(tmp_path / "no" / "x.zip", "t", [b""], b"", already_compressed=False)


class BrokenError(Exception):
    pass


def breaks_off() -> Iterator[bytes]:
    yield b"some bytes"
    raise BrokenError


@pytest.mark.parametrize("before", [None, b"an older output"])
def test_an_error_leaves_nothing_behind(tmp_path: Path, before: bytes | None) -> None:
    out = tmp_path / "enriched.zip"
    if before is not None:
        out.write_bytes(before)
    with pytest.raises(BrokenError):
        write_enriched(out, "t.json", breaks_off(), b"", already_compressed=False)
    assert [path.name for path in tmp_path.iterdir()] == ([] if before is None else [out.name])
    assert before is None or out.read_bytes() == before


def test_a_capture_too_large_for_the_engines_zip_reader_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enriched, "MAX_MEMBER_SIZE", 10)
    with pytest.raises(CaptureError, match="compress it with gzip first"):
        write_enriched(tmp_path / "x.zip", "t", [b"123456"] * 2, b"", already_compressed=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("rank0.pt.trace.json.gz", "rank0.pt.trace.json.gz"),
        ("folder/trace (1).json", "trace (1).json"),
        ("C:\\traces\\a.json", "a.json"),
        ("trace-层.json", "trace-_.json"),
        ("annotations.pftrace", "capture-annotations.pftrace"),
        ("", "capture"),
    ],
)
def test_member_names_are_what_every_engine_reads(name: str, stored: str) -> None:
    assert safe_member_name(name) == stored


def test_every_kernel_of_a_real_capture_can_be_covered_exactly(
    load: Load, tmp_path: Path, corpus: Path
) -> None:
    folder = corpus / "llm_serving" / "vllm_gptoss20b_mi300x_decode"
    source = folder / "graph_execution.json.gz"
    kernels = "SELECT ts, dur FROM slice WHERE category = 'kernel' ORDER BY ts, dur"
    alone = load(source.read_bytes()).query(kernels)
    spans = [(int(ts), int(dur)) for ts, dur in alone.itertuples(index=False)]
    assert len(spans) > 100
    # Each kernel alone and together with its successor, so that spans overlap everywhere.
    pairs = [(one[0], max(sum(one), sum(two)) - one[0]) for one, two in pairwise(spans)]
    out = tmp_path / "enriched.zip"
    tracks = tracks_over(sorted(spans + pairs))
    write_enriched(out, source.name, [source.read_bytes()], tracks, already_compressed=True)

    engine = load(out.read_bytes())
    assert engine.query(kernels).equals(alone)
    written = engine.query("SELECT ts, dur FROM slice WHERE category = 'autoviz.span'")
    assert sorted(map(tuple, written.to_numpy().tolist())) == sorted(spans + pairs)


def test_what_is_not_finished_is_thrown_away(tmp_path: Path) -> None:
    """Also while the capture is still being packed, however much of it is left."""
    given = 0

    def endless() -> Iterator[bytes]:
        nonlocal given
        while True:
            given += 1
            yield b"some bytes"

    with EnrichedWriter(tmp_path / "x.zip", "t", endless(), already_compressed=False):
        while not given:
            time.sleep(0.001)
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    assert not list(tmp_path.iterdir())


def test_the_capture_is_packed_before_the_annotations_are_there(tmp_path: Path) -> None:
    out = tmp_path / "x.zip"
    packed = threading.Event()

    def chunks() -> Iterator[bytes]:
        yield b"all of it"
        packed.set()

    with EnrichedWriter(out, "t", chunks(), already_compressed=False) as writer:
        assert packed.wait(30)
        assert not out.exists()
        writer.finish(b"tracks")
    with zipfile.ZipFile(out) as archive:
        assert archive.read("annotations.pftrace") == b"tracks"
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]
