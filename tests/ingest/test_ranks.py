"""Which files of a run are captures, and of which rank."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.ingest.ranks import NAME_PATTERNS, rank_in_name
from perfetto_autoviz.tracks.enriched import write_enriched
from tests.ingest.broken import bytes_of, events_of, text_of

NAMES = [(name, rank) for kind in NAME_PATTERNS for name, rank in kind.examples.items()]


def write(folder: Path, name: str, rank: int | None = None, *, packed: bool = False) -> Path:
    """A capture whose metadata tells its rank, or tells none."""
    told = {} if rank is None else {"rank": rank}
    data = bytes_of(distributedInfo=told)
    path = folder / name
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.parametrize(("name", "rank"), NAMES)
def test_ranks_in_real_names(name: str, rank: int) -> None:
    assert rank_in_name(name) == rank


@pytest.mark.parametrize("name", ["trace.json", "frank3.json", "http-0.json", "crank1.json"])
def test_names_without_a_rank(name: str) -> None:
    assert rank_in_name(name) is None


def test_the_eight_ranks_of_a_real_run(corpus: Path) -> None:
    found = find_captures([corpus / "multirank" / "dlrm_8ranks_v100"])
    assert [(item.rank, item.evidence) for item in found] == [(n, "metadata") for n in range(8)]
    assert [item.path.name[:7] for item in found] == [f"worker{n}" for n in range(8)]


def test_metadata_counts_more_than_the_name(tmp_path: Path) -> None:
    write(tmp_path, "rank1.json", 0, packed=True)
    write(tmp_path, "rank0.json", 1)
    found = find_captures([tmp_path])
    assert [(item.rank, item.path.name) for item in found] == [(0, "rank1.json"), (1, "rank0.json")]


def test_names_tell_what_the_metadata_does_not(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"run-TP-{rank}.json.gz", packed=True) for rank in (10, 2)]
    found = find_captures(paths)
    assert [(item.rank, item.evidence) for item in found] == [(2, "file name"), (10, "file name")]


@pytest.mark.parametrize("packed", [False, True])
def test_metadata_behind_the_events(tmp_path: Path, packed: bool) -> None:
    for rank in (0, 1):
        text = text_of(events_of(6000)).replace(
            '"distributedInfo": {"rank": 0, "world_size": 1}', '"before": 1'
        )
        text = text[:-1] + f', "distributedInfo": {{"backend": "nccl", "rank": {rank}}}}}'
        data = gzip.compress(text.encode()) if packed else text.encode()
        (tmp_path / f"{'ba'[rank]}.json").write_bytes(data)
    assert [item.path.name for item in find_captures([tmp_path])] == ["b.json", "a.json"]


def test_a_single_capture_needs_no_rank(tmp_path: Path) -> None:
    (found,) = find_captures([write(tmp_path, "trace.json")])
    assert (found.rank, found.evidence) == (None, None)
    (found,) = find_captures([tmp_path])
    assert found.path.name == "trace.json"


def test_unknown_and_double_ranks_are_errors(tmp_path: Path) -> None:
    write(tmp_path, "first.json")
    write(tmp_path, "second.json")
    with pytest.raises(CaptureError, match=r"rank of first.json, second.json is unknown; name the"):
        find_captures([tmp_path])
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    write(tmp_path, "first.json", 3)
    write(tmp_path, "second.json", 3)
    with pytest.raises(CaptureError, match=r"first.json, second.json all claim rank 3"):
        find_captures([tmp_path])


def test_other_files_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "rank0.json")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "kernels.csv").write_text("a,b")
    (tmp_path / "config.json").write_text('{"layers": 24}')
    (tmp_path / ".hidden.json").write_bytes(bytes_of())
    (tmp_path / "folder").mkdir()
    (found,) = find_captures([tmp_path])
    assert found.path.name == "rank0.json"


def test_a_folder_without_captures_and_a_named_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="holds no capture"):
        find_captures([tmp_path])
    (tmp_path / "page.json").write_text("<!doctype html><html>")
    with pytest.raises(CaptureError, match="web page"):
        find_captures([tmp_path / "page.json"])
    with pytest.raises(CaptureError, match="no capture was given"):
        find_captures([])


def test_enriched_traces_beside_their_captures_are_passed_over(tmp_path: Path) -> None:
    captures = [write(tmp_path, f"rank{rank}.json", rank) for rank in (0, 1)]
    for capture in captures:
        enriched = tmp_path / f"{capture.stem}.autoviz.zip"
        content = [capture.read_bytes()]
        write_enriched(enriched, capture.name, content, b"", already_compressed=False)
    assert [item.path for item in find_captures([tmp_path])] == captures
    for capture in captures:
        capture.unlink()
    names = [item.path.name for item in find_captures([tmp_path])]
    assert names == ["rank0.autoviz.zip", "rank1.autoviz.zip"]


def test_one_file_under_two_names_is_refused(tmp_path: Path) -> None:
    first = write(tmp_path, "rank0.json")
    (tmp_path / "rank1.json").symlink_to(first)
    for paths in ([first, first], [first, tmp_path / "rank1.json"]):
        with pytest.raises(CaptureError, match="same file"):
            find_captures(paths)
