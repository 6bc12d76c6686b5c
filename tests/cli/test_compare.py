"""``autoviz compare``, from captures to a folder of results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import perfetto_autoviz
from perfetto_autoviz.errors import UsageError
from tests.cli.conftest import Result
from tests.comparison.captures import (
    GAP,
    LAYER_A,
    LAYER_B,
    LAYERS,
    STEPS,
    wall,
    write,
)
from tests.live import bare_engine

Run = Callable[..., Result]

FILES = {
    "A/a.autoviz.zip",
    "B/b.autoviz.zip",
    "matches.csv",
    "pairs.csv",
    "report.html",
    "summary.json",
    *(
        f"pairs/{pair}/{name}"
        for pair in ("P1-P1", "P1.1-P1.1")
        for name in ("edits.csv", "ops.csv", "timing.csv", "waterfall.svg")
    ),
}
RELATIONS = (
    "comparison",
    "match",
    "pair_score",
    "operation_change",
    "edit",
    "unshared_operation",
    "run_match",
)


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("builds")
    return write(folder / "a.json", LAYER_A), write(folder / "b.json", LAYER_B)


@pytest.fixture(scope="module")
def results(builds: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results") / "out"
    perfetto_autoviz.compare(builds[0], builds[1], out)
    return out


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_holds_everything(results: Path) -> None:
    assert files(results) == FILES
    assert set(json.loads((results / "summary.json").read_text())["files"]) == FILES


def test_the_numbers_are_those_of_the_captures(results: Path) -> None:
    matches = pd.read_csv(results / "matches.csv").set_index("pattern_a")
    # A layer's wall time, and a step's: a gather, the layers and an argmax, 1 µs apart.
    layer = [1e3 * wall(kernels) for kernels in (LAYER_A, LAYER_B)]
    step = [LAYERS * ns + 1e3 * (2 + 7 + GAP * (LAYERS + 1)) for ns in layer]
    assert [matches.loc["P1.1", f"median_{side}"] for side in "ab"] == layer
    assert [matches.loc["P1", f"mean_{side}"] for side in "ab"] == step
    assert matches.loc["P1.1", "runs_a"] == LAYERS * STEPS
    assert matches.loc["P1.1", "difference"] == layer[1] - layer[0] == 4000
    assert matches.loc["P1.1", "verdict"] == "slower"
    ops = pd.read_csv(results / "pairs" / "P1.1-P1.1" / "ops.csv").set_index("op")
    assert ops.loc["act_and_mul", "difference"] == 5000
    assert ops.loc["kernel_unified_attention_2d", "dur_a"] == 6000
    assert ops.loc["flash_attn_fwd", "dur_b"] == 5000
    edits = pd.read_csv(results / "pairs" / "P1.1-P1.1" / "edits.csv")
    renamed = edits[edits["kind"] == "renamed"].iloc[0]
    assert (renamed["ops_a"], renamed["ops_b"], renamed["effect"]) == (
        "kernel_unified_attention_2d",
        "flash_attn_fwd",
        -1000,
    )


def test_the_terminal_shows_matches_and_changes(
    autoviz: Run, builds: tuple[Path, Path], tmp_path: Path
) -> None:
    done = autoviz("compare", builds[0], "--with", builds[1], "-o", tmp_path / "out")
    assert done.code == 0
    shown = " ".join(done.out.split())
    assert "P1.1 P1.1 8 → 8" in shown
    assert "77.00 µs → 81.00 µs +5.2 % +4.00 µs to +4.00 µs slower" in shown
    assert "P1.1-P1.1 slower act_and_mul +5.00 µs +120.00 µs significant" in shown
    assert "renamed kernel_unified_attention_2d → flash_attn_fwd −1.00 µs −24.00 µs" in shown


def test_json_and_quiet(autoviz: Run, builds: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = autoviz("compare", *builds[:1], "--with", builds[1], "-o", out, "--json")
    found = json.loads(done.out)
    assert found["output"] == str(out)
    assert [match["pattern_a"] for match in found["matches"]] == ["P1", "P1.1"]
    assert found["largest_changes"][0]["total"] == 5000 * LAYERS * STEPS
    for match in found["matches"]:
        fall = match["waterfall"]
        assert fall["a"] + sum(bar["change"] for bar in fall["bars"]) == fall["b"]
    done = autoviz("compare", builds[0], "--with", builds[1], "-o", out, "-q", "--force")
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("build", ["A", "B"])
def test_enriched_traces_tell_the_comparison(results: Path, build: str) -> None:
    (trace,) = (results / build).iterdir()
    with bare_engine(trace) as engine:
        row = engine.query("SELECT * FROM autoviz_comparison").iloc[0]
        assert (row["build"], row["label_a"], row["label_b"]) == (build, "a", "b")
        runs = engine.query("SELECT * FROM autoviz_run_match WHERE pattern = 'P1.1'")
        own = engine.query("SELECT id, ts, dur FROM autoviz_pattern_run WHERE pattern = 'P1.1'")
        drawn = engine.query(
            "SELECT slice.name, ts, dur FROM slice JOIN track ON track.id = track_id"
            " WHERE track.name = 'comparison level 1' ORDER BY ts"
        )
        changes = engine.query(
            "SELECT op, change.difference FROM autoviz_match AS match"
            " JOIN autoviz_operation_change AS change ON match_id = match.id"
            " WHERE pattern_a = 'P1.1' AND significant = 1 ORDER BY change.difference"
        )
    assert len(runs) == LAYERS * STEPS
    assert runs["run_id"].tolist() == own["id"].tolist()
    assert sorted(runs["ts"]) == drawn["ts"].tolist()
    assert (drawn["dur"] == 1e3 * wall(LAYER_A if build == "A" else LAYER_B)).all()
    assert set(runs["difference"]) == {4000}
    title = "P1.1 → B P1.1 +5.2 %" if build == "A" else "A P1.1 → P1.1 +5.2 %"
    assert set(drawn["name"]) == {title}
    # The attention has another name: one operation is gone, one is new.
    assert changes["difference"].tolist() == [-6000, 5000, 5000]
    assert changes["op"].iloc[0] == "kernel_unified_attention_2d"


def test_both_traces_tell_the_same(results: Path) -> None:
    found = []
    for build in "AB":
        (trace,) = (results / build).iterdir()
        with bare_engine(trace) as engine:
            found.append(
                {name: engine.query(f"SELECT * FROM autoviz_{name}") for name in RELATIONS[1:-1]}
            )
    for name, frame in found[0].items():
        assert not frame.empty
        assert_frame_equal(frame, found[1][name])


def test_the_tables_are_what_the_traces_hold(results: Path) -> None:
    (trace,) = (results / "A").iterdir()
    with bare_engine(trace) as engine:
        edits = engine.query(
            "SELECT edit.* FROM autoviz_edit AS edit JOIN autoviz_match AS match"
            " ON match.id = match_id WHERE pattern_a = 'P1.1' ORDER BY number"
        )
        matches = engine.query("SELECT * FROM autoviz_match")
    table = pd.read_csv(results / "pairs" / "P1.1-P1.1" / "edits.csv")
    assert edits["effect"].tolist() == table["effect"].tolist()
    assert edits["ops_a"].tolist() == table["ops_a"].tolist()
    csv = pd.read_csv(results / "matches.csv")
    for name in ("score", "mean_a", "median_b", "difference_low", "idle_difference"):
        assert matches[name].tolist() == csv[name].tolist()


def test_enriched_traces_compare_like_their_captures(
    results: Path, builds: tuple[Path, Path], tmp_path: Path
) -> None:
    (trace,) = (results / "A").iterdir()
    found = perfetto_autoviz.compare(trace, builds[1], tmp_path / "out")
    again = tmp_path / "out" / "A" / trace.name
    assert again.read_bytes()
    assert [pair.name for pair in found.pairs] == ["P1-P1", "P1.1-P1.1"]
    assert found.pairs[1].timing.difference == 4000


def test_a_build_compared_with_itself_did_not_change(builds: tuple[Path, Path]) -> None:
    from perfetto_autoviz.reports.comparison.changes import largest_changes

    found = perfetto_autoviz.compare(builds[0], builds[0])
    assert {pair.timing.verdict for pair in found.pairs} == {"no change"}
    assert {pair.match.score.score for pair in found.pairs} == {1.0}
    assert largest_changes(found) == []
    assert found.unshared.empty


def test_ranks_of_both_builds(autoviz: Run, tmp_path: Path) -> None:
    for build, layer in (("a", LAYER_A), ("b", LAYER_B)):
        for rank in (0, 1):
            folder = tmp_path / build
            write(folder / f"r{rank}.json", layer, rank=rank, slower=rank)
    # Several paths after --with, and an option after them.
    b = [tmp_path / "b" / f"r{rank}.json" for rank in (0, 1)]
    done = autoviz(
        "compare", tmp_path / "a", "--with", *b, "--threshold", "0.4", "-o", tmp_path / "out", "-q"
    )
    assert (done.code, done.err) == (0, "")
    assert {"A/r0.autoviz.zip", "A/r1.autoviz.zip", "B/r1.autoviz.zip"} <= files(tmp_path / "out")
    timing = pd.read_csv(tmp_path / "out" / "pairs" / "P1.1-P1.1" / "timing.csv")
    each = timing[timing["rank"].notna()].set_index(["build", "rank"])
    # Each of a layer's 8 kernels takes 1 µs longer on rank 1.
    assert each.loc[("A", 1), "median"] - each.loc[("A", 0), "median"] == 8000
    assert each.loc[("B", 1), "difference"] == 4000
    assert each.loc[("A", 1), "slowest"]


def test_names_of_files_may_be_equal(autoviz: Run, tmp_path: Path) -> None:
    for folder, rank in (("x", 0), ("y", 1)):
        write(tmp_path / folder / "trace.json", LAYER_A, rank=rank)
    b = write(tmp_path / "b" / "trace.json", LAYER_B)
    a = [tmp_path / folder / "trace.json" for folder in "xy"]
    done = autoviz("compare", *a, "--with", b, "-o", tmp_path / "out", "-q")
    assert done.code == 0
    assert {"A/rank0-trace.autoviz.zip", "A/rank1-trace.autoviz.zip", "B/trace.autoviz.zip"} <= (
        files(tmp_path / "out")
    )


def test_a_pair_that_is_asked_for(builds: tuple[Path, Path]) -> None:
    found = perfetto_autoviz.compare(*builds, pairs=["P1:P1.1"])
    assert ("P1-P1.1", "manual") in [(pair.name, pair.match.basis) for pair in found.pairs]


def test_weights_decide_the_score(builds: tuple[Path, Path]) -> None:
    found = perfetto_autoviz.compare(*builds, weights=(0, 1), threshold=0)
    layer = found.pairs[1].match
    # 7 of 8 kernels are the same at the same place.
    assert layer.score.score == layer.score.levenshtein == 7 / 8


def test_steady_iterations_only(builds: tuple[Path, Path], tmp_path: Path) -> None:
    found = perfetto_autoviz.compare(*builds, tmp_path / "out", steady=True)
    assert found.steady is not None
    step, layer = found.pairs
    assert 0 < len(step.runs_a) == len(step.runs_b) <= STEPS
    assert len(layer.runs_a) == LAYERS * len(step.runs_a)
    assert layer.timing.difference == 4000


def test_kernel_names_are_harmless(autoviz: Run, tmp_path: Path) -> None:
    hostile = '=cmd|"/c calc"!A1'
    layer = [(hostile if name == "flash_attn_fwd" else name, dur) for name, dur in LAYER_B]
    a, b = write(tmp_path / "a.json", LAYER_A), write(tmp_path / "b.json", layer)
    assert autoviz("compare", a, "--with", b, "-o", tmp_path / "out").code == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "=cmd|&quot;/c calc&quot;!A1" in page
    for table in (tmp_path / "out").rglob("*.csv"):
        assert not any(
            cell.startswith("=") for cell in table.read_text().replace('"', "").split(",")
        )


def test_what_was_never_compared_says_so(autoviz: Run, builds: tuple[Path, Path]) -> None:
    for name in RELATIONS:
        done = autoviz("query", builds[0], f"SELECT count() AS n FROM autoviz_{name}")
        assert done.out.split()[2] == "0"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--pair", "P1"], "'P1' is no pair of patterns"),
        (["--pair", "P1:P9"], "B has no pattern P9; it has P1, P1.1"),
        (["--weights", "1"], "'1' is no pair of numbers"),
        (["--weights", "0,0"], "make no score"),
        (["--threshold", "2"], "2"),
    ],
)
def test_what_makes_no_sense_is_refused(
    autoviz: Run, builds: tuple[Path, Path], tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    out = tmp_path / "out"
    done = autoviz("compare", builds[0], "--with", builds[1], "-o", out, *arguments)
    assert done.code == 2
    assert complaint in done.err
    assert not out.exists()


def test_missing_builds_are_refused(
    autoviz: Run, builds: tuple[Path, Path], tmp_path: Path
) -> None:
    assert "--with" in autoviz("compare", builds[0], "-o", tmp_path / "out").err
    done = autoviz("compare", "--with", builds[1], "-o", tmp_path / "out")
    assert done.code == 2
    done = autoviz("compare", builds[0], "--with", tmp_path / "no.json", "-o", tmp_path / "out")
    assert done.code == 2
    assert "no.json" in done.err


def test_only_a_comparison_is_replaced(
    autoviz: Run, builds: tuple[Path, Path], results: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(results, out)
    assert "--force" in autoviz("compare", builds[0], "--with", builds[1], "-o", out).err
    (out / "notes.txt").write_text("mine")
    done = autoviz("compare", builds[0], "--with", builds[1], "-o", out, "--force")
    assert (done.code, (out / "notes.txt").read_text()) == (2, "mine")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        perfetto_autoviz.compare(*builds, out, force=True)
