"""``autoviz split``: what is written where, what is said about it, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.handmade import BATCH_SIZES, LAYER_KERNELS, LAYERS, write_capture
from tests.native import write_native

Run = Callable[..., Any]

KERNELS = LAYERS * len(LAYER_KERNELS)
"""Kernels of one step."""


def _text(path: Path) -> Any:
    with gzip.open(path) as file:
        return json.loads(file.read())


def _kernels(path: Path) -> int:
    return sum(event.get("cat") == "kernel" for event in _text(path)["traceEvents"])


def test_writes_cuts_and_a_manifest_that_says_what_they_hold(
    autoviz: Run, capture: Path, tmp_path: Path
) -> None:
    original = capture.read_bytes()
    out = tmp_path / "cuts"
    done = autoviz("split", capture, "-o", out, "--first", "--iterations", "1-2")
    assert (done.code, done.err) == (0, "")
    names = ["small.iteration-0.pt.trace.json.gz", "small.iterations-1-2.pt.trace.json.gz"]
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", *names]
    assert capture.read_bytes() == original
    assert [_kernels(out / name) for name in names] == [KERNELS, 2 * KERNELS]
    manifest = json.loads((out / "manifest.json").read_text())
    (source,) = manifest["captures"]
    assert source["sha256"] == hashlib.sha256(original).hexdigest()
    assert source["name"] == capture.name
    first = next(file for file in manifest["files"] if file["file"] == names[0])
    assert first["sha256"] == hashlib.sha256((out / names[0]).read_bytes()).hexdigest()
    assert first["chosen_by"] == ["--first"]
    assert first["counts"]["kernels"] == KERNELS
    assert first["counts"]["runtime_calls"] == first["counts"]["annotations"] == 1
    assert first["phases"] == {"decode": 1}
    (iteration,) = first["iterations"]
    assert iteration["number"] == 0
    assert iteration["host_ts"] == 10_000_000
    assert first["ts"] == 10_100_000
    gaps = KERNELS - 1
    assert first["dur"] == 1000 * (LAYERS * sum(dur for _, dur in LAYER_KERNELS) + gaps)
    lines = done.out.splitlines()
    assert names[0] in done.out
    assert "2 files and manifest.json" in lines[-1]
    assert "MB/s" in lines[-1]


def test_all_iterations_as_json(autoviz: Run, capture: Path, tmp_path: Path) -> None:
    done = autoviz("split", capture, "-o", tmp_path / "cuts", "--iterations", "all", "--json")
    document = json.loads(done.out)
    assert [file["window"] for file in document["files"]] == [
        f"iteration-{number}" for number in range(len(BATCH_SIZES))
    ]
    assert document["megabytes_per_second"] > 0
    written = json.loads((tmp_path / "cuts" / "manifest.json").read_text())
    assert written.items() <= document.items()


def test_lists_of_iterations_add_up(autoviz: Run, capture: Path, tmp_path: Path) -> None:
    """A file that is asked for twice is one."""
    done = autoviz("split", capture, "-o", tmp_path / "cuts",
                   "--iterations", "1-2", "--iterations", "all,0", "--json")  # fmt: skip
    assert done.code == 0, done.err
    files = json.loads(done.out)["files"]
    assert [each["window"] for each in files] == [
        "iteration-0", "iteration-1", "iteration-2", "iterations-1-2"
    ]  # fmt: skip
    assert files[0]["chosen_by"] == ["--iterations all", "--iterations 0"]


def test_the_same_input_gives_the_same_files(autoviz: Run, capture: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert autoviz("split", capture, "-q", "-o", tmp_path / name, "--phases").out == ""
    one, other = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_enriched_cuts_of_an_enriched_trace(autoviz: Run, capture: Path, tmp_path: Path) -> None:
    assert autoviz("annotate", capture, "-q").code == 0
    enriched = capture.with_name("small.autoviz.zip")
    done = autoviz("split", enriched, "-o", tmp_path / "cuts", "--last", "--enriched")
    assert (done.code, done.err) == (0, "")
    cut = tmp_path / "cuts" / "small.iteration-2.autoviz.zip"
    assert sorted(path.name for path in cut.parent.iterdir()) == ["manifest.json", cut.name]
    with zipfile.ZipFile(cut) as archive:
        assert archive.namelist()[1] == "annotations.pftrace"
        text = gzip.decompress(archive.read(archive.namelist()[0]))
    assert sum(e.get("cat") == "kernel" for e in json.loads(text)["traceEvents"]) == KERNELS
    found = autoviz(
        "query", cut, "--format", "json", "SELECT number, phase FROM autoviz_iteration"
        " JOIN autoviz_phase ON iteration_id = autoviz_iteration.id",
    )  # fmt: skip
    assert json.loads(found.out) == [{"number": 0, "phase": "decode"}]


def test_ranks_are_cut_alike_into_runs(autoviz: Run, tmp_path: Path) -> None:
    ranks = tmp_path / "run"
    ranks.mkdir()
    for rank in (1, 0):
        write_capture(ranks / f"any{rank}.json", distributedInfo={"rank": rank, "world_size": 2})
    done = autoviz("split", ranks, "-o", tmp_path / "cuts", "--first", "--last", "--json")
    files = json.loads(done.out)["files"]
    assert [(file["file"], file["rank"]) for file in files] == [
        ("iteration-0/any0.rank0.iteration-0.json.gz", 0),
        ("iteration-0/any1.rank1.iteration-0.json.gz", 1),
        ("iteration-2/any0.rank0.iteration-2.json.gz", 0),
        ("iteration-2/any1.rank1.iteration-2.json.gz", 1),
    ]
    again = autoviz("annotate", tmp_path / "cuts" / "iteration-2", "--json", "-o", tmp_path / "o/")
    assert [each["capture"]["rank"] for each in json.loads(again.out)["captures"]] == [0, 1]


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        ([], "nothing is chosen"),
        (["--iterations", "7"], "there is no iteration 7: this capture has 0-2"),
        (["--iterations", "0-1,1-2"], "iteration 1 is in two ranges"),
        (["--iterations", "two"], "is no list of iterations"),
        (["--first", "--level", "1"], "no iterations at level 1"),
        (["--steady", "prefill"], "no steady window of mode prefill"),
        (["--steady", "often"], "'often' is not one of"),
    ],
)
def test_bad_choices_are_refused_in_one_line(
    choice: list[str], line: str, autoviz: Run, capture: Path, tmp_path: Path
) -> None:
    done = autoviz("split", capture, "-o", tmp_path / "cuts", *choice)
    assert done.code == 2
    assert line in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "cuts").exists()


def test_files_that_exist_are_kept_without_force(
    autoviz: Run, capture: Path, tmp_path: Path
) -> None:
    out = tmp_path / "cuts"
    assert autoviz("split", capture, "-q", "-o", out, "--first").code == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    done = autoviz("split", capture, "-o", out, "--first", "--compact")
    assert done.code == 2
    assert "--force" in done.err
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert autoviz("split", capture, "-q", "-f", "-o", out, "--last").code == 0
    file = tmp_path / "file"
    file.touch()
    assert "give a folder with -o" in autoviz("split", capture, "-o", file, "--first").err


def test_a_step_without_device_work_is_no_capture(autoviz: Run, tmp_path: Path) -> None:
    path = write_capture(tmp_path / "x.json")
    document = json.loads(path.read_text())
    document["traceEvents"].append(
        {
            "ph": "X", "cat": "user_annotation", "name": "execute_context_0(0)_generation_1(1)",
            "pid": 1, "tid": 1, "ts": 20_000, "dur": 50,
        }
    )  # fmt: skip
    path.write_text(json.dumps(document))
    done = autoviz("split", path, "-o", tmp_path / "cuts", "--last")
    assert done.code == 2
    assert "iteration-3 has no work on the device" in done.err
    done = autoviz("split", path, "-o", tmp_path / "cuts", "--iterations", "all")
    assert done.code == 0
    assert "it is left out" in done.err
    assert len(list((tmp_path / "cuts").glob("*.gz"))) == len(BATCH_SIZES)


def test_enriched_cuts_of_a_native_trace(autoviz: Run, capture: Path, tmp_path: Path) -> None:
    """The cut of a native trace is one, and so is what an enriched one holds."""
    trace = tmp_path / "run.pftrace"
    write_native(capture, trace)
    done = autoviz("split", trace, "-o", tmp_path / "cuts", "--iterations", "1-2", "--enriched")
    assert done.code == 0, done.err
    with zipfile.ZipFile(tmp_path / "cuts" / "run.iterations-1-2.autoviz.zip") as archive:
        assert sorted(archive.namelist()) == ["annotations.pftrace", "run.iterations-1-2.pftrace"]
    again = autoviz("split", tmp_path / "cuts" / "run.iterations-1-2.autoviz.zip",
                    "-o", tmp_path / "again", "--last", "--json")  # fmt: skip
    assert again.code == 0, again.err
    file = json.loads(again.out)["files"][0]
    assert file["file"] == "run.iterations-1-2.iteration-1.pftrace.gz"
    assert file["counts"]["kernels"] == file["iterations"][0]["activity_count"] > 0
