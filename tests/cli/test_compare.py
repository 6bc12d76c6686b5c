"""``autoviz compare``, from captures to a folder of results."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import perfetto_autoviz
from perfetto_autoviz.cli import main
from perfetto_autoviz.comparison import Choices, Comparison, compare_builds
from perfetto_autoviz.comparison.opened import Side, read_side
from perfetto_autoviz.comparison.window import steady_builds, whole_build
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.opening import OpenOptions
from perfetto_autoviz.reports.comparison.changes import largest_changes
from perfetto_autoviz.steps.compare import Weights
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
from tests.live import bare_engine, open_fresh

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


class Shown(NamedTuple):
    """A comparison by the command line: its folder, and what was printed."""

    out: Path
    text: str


@pytest.fixture(scope="module")
def shown(builds: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Shown:
    out = tmp_path_factory.mktemp("results") / "new" / "out"
    with redirect_stdout(io.StringIO()) as printed:
        code = main(["compare", str(builds[0]), "--with", str(builds[1]), "-o", str(out)])
    assert code == 0
    return Shown(out, printed.getvalue())


@pytest.fixture(scope="module")
def results(shown: Shown) -> Path:
    return shown.out


@pytest.fixture(scope="module")
def sides(builds: tuple[Path, Path]) -> list[Side]:
    """Both builds as they were read."""
    return [read_side(find_captures([path]), path.stem, OpenOptions(fresh=True)) for path in builds]


def compared(a: Side, b: Side, choices: Choices | None = None) -> Comparison:
    one, other = whole_build(a), whole_build(b)
    return compare_builds(one, other, a.info(one), b.info(other), choices)


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


def test_the_terminal_shows_matches_and_changes(shown: Shown) -> None:
    text = " ".join(shown.text.split())
    assert "P1.1 P1.1 8 → 8" in text
    assert "77.00 µs → 81.00 µs +5.2 % +4.00 µs to +4.00 µs slower" in text
    assert "P1.1-P1.1 slower act_and_mul +5.00 µs +120.00 µs significant" in text
    assert "renamed kernel_unified_attention_2d → flash_attn_fwd −1.00 µs −24.00 µs" in text
    assert str(shown.out) in text


def test_the_summary_adds_up(results: Path) -> None:
    found = json.loads((results / "summary.json").read_text())
    assert [match["pattern_a"] for match in found["matches"]] == ["P1", "P1.1"]
    assert found["largest_changes"][0]["total"] == 5000 * LAYERS * STEPS
    for match in found["matches"]:
        fall = match["waterfall"]
        assert fall["a"] + sum(bar["change"] for bar in fall["bars"]) == fall["b"]


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
    autoviz: Run, results: Path, builds: tuple[Path, Path], tmp_path: Path
) -> None:
    (trace,) = (results / "A").iterdir()
    out = tmp_path / "out"
    shutil.copytree(results, out)
    done = autoviz("compare", trace, "--with", builds[1], "-o", out, "--force", "--json")
    found = json.loads(done.out)
    assert found["output"] == str(out)
    before = json.loads((results / "summary.json").read_text())
    assert found["matches"] == before["matches"]
    assert found["largest_changes"] == before["largest_changes"]
    assert files(out) == FILES


def test_a_build_compared_with_itself_did_not_change(sides: list[Side]) -> None:
    found = compared(sides[0], sides[0])
    assert {pair.timing.verdict for pair in found.pairs} == {"no change"}
    assert {pair.match.score.score for pair in found.pairs} == {1.0}
    assert largest_changes(found) == []
    assert found.unshared.empty


def test_ranks_of_both_builds(autoviz: Run, tmp_path: Path) -> None:
    for build, layer in (("a", LAYER_A), ("b", LAYER_B)):
        for rank in (0, 1):
            # A's files have different names; B's lie in folders of their own.
            name = f"{build}/r{rank}.json" if build == "a" else f"{build}{rank}/trace.json"
            write(tmp_path / name, layer, rank=rank, slower=rank)
    # Several paths after --with, and an option after them.
    b = [tmp_path / f"b{rank}" / "trace.json" for rank in (0, 1)]
    done = autoviz(
        "compare", tmp_path / "a", "--with", *b, "--threshold", "0.4", "-o", tmp_path / "out", "-q"
    )
    assert (done.code, done.out, done.err) == (0, "", "")
    assert {
        "A/r0.autoviz.zip",
        "A/r1.autoviz.zip",
        "B/rank0-trace.autoviz.zip",
        "B/rank1-trace.autoviz.zip",
    } <= files(tmp_path / "out")
    timing = pd.read_csv(tmp_path / "out" / "pairs" / "P1.1-P1.1" / "timing.csv")
    each = timing[timing["rank"].notna()].set_index(["build", "rank"])
    # Each of a layer's 8 kernels takes 1 µs longer on rank 1.
    assert each.loc[("A", 1), "median"] - each.loc[("A", 0), "median"] == 8000
    assert each.loc[("B", 1), "difference"] == 4000
    assert each.loc[("A", 1), "slowest"]


def test_a_pair_that_is_asked_for(sides: list[Side]) -> None:
    found = compared(*sides, Choices(pairs=("P1:P1.1",)))
    assert ("P1-P1.1", "manual") in [(pair.name, pair.match.basis) for pair in found.pairs]
    with pytest.raises(UsageError, match=r"B has no pattern P9; it has P1, P1\.1"):
        compared(*sides, Choices(pairs=("P1:P9",)))


def test_weights_decide_the_score(sides: list[Side]) -> None:
    layer = compared(*sides, Choices(Weights(0, 1))).pairs[1].match
    # 7 of 8 kernels are the same at the same place.
    assert layer.score.score == layer.score.levenshtein == 7 / 8


def test_steady_iterations_only(sides: list[Side]) -> None:
    a, b, why = steady_builds(*sides, num_steps=4)
    assert "4 decode steps each" in why
    for build in (a, b):
        assert [(loop.name, loop.run_count) for loop in build.loops] == [
            ("P1", 4),
            ("P1.1", 4 * LAYERS),
        ]
        # Every step of the window is whole: a gather, layers of 8 kernels, an argmax.
        assert len(build.kernels) == 4 * (2 + 8 * LAYERS)
    found = compare_builds(a, b, sides[0].info(a), sides[1].info(b))
    assert [pair.timing.difference for pair in found.pairs] == [4000 * LAYERS, 4000]


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


def test_what_was_never_compared_has_empty_relations(builds: tuple[Path, Path]) -> None:
    with open_fresh(builds[0]) as session:
        for name in RELATIONS:
            assert session.query(f"SELECT * FROM autoviz_{name}").empty


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--pair", "P1"], "'P1' is no pair of patterns"),
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
    with pytest.raises(UsageError, match=r"notes\.txt"):
        perfetto_autoviz.compare(*builds, out, force=True)
    assert (out / "notes.txt").read_text() == "mine"
