"""Patterns of a run in SQL: each kernel's place, the same names on all ranks, variants."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from perfetto_autoviz import RankSet, open_trace
from perfetto_autoviz.annotate import write_annotated
from perfetto_autoviz.cli.app import main
from perfetto_autoviz.synth import read_truth
from tests.conftest import RANKS

PLACES = "SELECT seq, pattern_id, run_id, position, kind FROM autoviz_pattern_kernel ORDER BY seq"


@pytest.fixture(scope="module")
def enriched(ranks: RankSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both ranks' enriched traces; the README's tour analyses them anew."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank, session in ranks.sessions.items():
        write_annotated(session, folder / f"rank{rank}.autoviz.zip")
    return folder


def test_ranks_run_the_same_patterns_under_the_same_names(ranks: RankSet) -> None:
    names = ranks.query("SELECT name, ranks, kernel_count FROM autoviz_pattern")
    runs = ranks.query(
        "SELECT pattern, count() AS n, count(DISTINCT id) AS ids FROM autoviz_pattern_run"
        " GROUP BY pattern ORDER BY pattern"
    )
    one, other = (names[names["rank"] == rank].drop(columns="rank") for rank in (0, 1))
    assert one.reset_index(drop=True).equals(other.reset_index(drop=True))
    assert set(one["ranks"]) == {"0,1"}
    # 16 steps of 36 layers on each rank.
    assert runs["n"].tolist() == [16, 16 * 36] * 2
    assert (runs["n"] == runs["ids"]).all()


def test_each_kernel_has_the_place_that_the_synthesiser_gave_it(ranks: RankSet) -> None:
    for rank, session in ranks.sessions.items():
        truth = read_truth(RANKS / f"sglang-qwen3-8b-tp2-TP-{rank}.truth.json.gz")
        places = session.query(PLACES)
        assert places["seq"].tolist() == list(range(len(truth.kernels["ts"])))
        check_layers(places, truth.kernels["layer"], truth.kernels["position"])


def check_layers(places: pd.DataFrame, layer: np.ndarray, position: np.ndarray) -> None:
    """Kernels of a layer are in one inner loop, at their position up to a fixed rotation."""
    inside = layer >= 0
    inner = places[inside]
    assert inner["pattern_id"].nunique() == 1
    plain = (inner["kind"] == "plain").to_numpy()
    shift = inner["position"].to_numpy(np.int64)[plain] - position[inside][plain]
    length = int(position.max()) + 1
    assert len(np.unique(shift % length)) == 1
    assert plain.mean() >= 0.995


def test_places_agree_with_runs_of_several_streams(corpus: Path) -> None:
    with open_trace(corpus / "multirank" / "dlrm_8ranks_v100") as ranks:
        assert isinstance(ranks, RankSet)
        found = ranks.query(
            "SELECT run.pattern_id, run.id, run.ts, run.dur, run.missing, run.extra,"
            " pattern.kernel_count, count() AS kernels, min(kernel.ts) AS first,"
            " max(kernel.ts + kernel.dur) AS last FROM autoviz_pattern_run AS run"
            " JOIN autoviz_pattern AS pattern ON pattern.id = run.pattern_id"
            " JOIN autoviz_pattern_kernel AS member ON member.run_id = run.id"
            " JOIN autoviz_kernel AS kernel USING (seq)"
            " WHERE run.id NOT IN (SELECT parent_id FROM autoviz_pattern_run"
            " WHERE parent_id IS NOT NULL) GROUP BY run.id"
        )
    assert len(found) > 100
    assert (found["ts"] == found["first"]).all()
    assert (found["ts"] + found["dur"] == found["last"]).all()
    assert (found["kernels"] == found["kernel_count"] - found["missing"] + found["extra"]).all()


def test_variants_of_one_kernel_are_told_apart(ranks: RankSet) -> None:
    session = ranks.sessions[0]
    variants = session.query("SELECT * FROM autoviz_pattern_variant")
    kernels = session.query(
        "SELECT count() AS n, sum(dur) AS dur FROM autoviz_pattern_kernel"
        " JOIN autoviz_kernel USING (seq) WHERE position IS NOT NULL"
    ).iloc[0]
    assert variants["kernel_count"].sum() == kernels["n"]
    assert variants["total_dur"].sum() == kernels["dur"]
    assert variants["grid"].dropna().str.fullmatch(r"\d+,\d+,\d+").all()


@pytest.mark.parametrize("form", ["table", "json"])
def test_the_command_shows_them(
    form: str, enriched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["patterns", str(enriched), "--quiet", *(["--json"] if form == "json" else [])]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    if form == "table":
        product = "17 kernels × 36 runs in each P1 × 16 runs of P1 × 2 ranks = 19,584 launches"
        # The first layer of a step has a norm of another kind.
        product += ", observed 19,584: 32 of another operation"
        assert f"P1.1: {product}" in " ".join(printed.split())
        return
    outer, inner = json.loads(printed)["patterns"]
    assert (outer["runs"], inner["runs"]) == (2 * 16, 2 * 16 * 36)
    launches = inner["launches"]
    assert launches["expected_runs"] == 2 * 16 * 36
    assert launches["expected"] == launches["observed"] == 17 * 36 * 16 * 2
    # One launch of each kernel in each layer, step and rank.
    assert {at["launches"] for at in inner["positions"]} == {36 * 16 * 2}
    assert inner["layers"] == {"attention+mlp": 36 * 16 * 2}
    assert outer["ranks"] == [0, 1]


def test_two_kinds_in_turn_are_counted_by_kind(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = corpus / "llm_serving" / "vllm_gptoss20b_mi300x_decode"
    assert main(["patterns", str(folder / "graph_execution.json.gz"), "--quiet", "--json"]) == 0
    (pattern,) = json.loads(capsys.readouterr().out)["patterns"]
    # 24 layers: 12 times two kinds, of 18 and 17 kernels. The last differs after its norm.
    assert pattern["layers"] == {"attention+moe": 12, "attention+moe 2": 11}
    launches = pattern["launches"]
    assert (launches["kernels"], launches["runs"]) == (18 + 17, 12)
    assert (launches["expected"], launches["observed"]) == (35 * 12, 35 * 12 - 16)
    assert launches["positions"] == {str(at): 12 if at < 19 else 11 for at in range(35)}


def test_two_kinds_in_turn_in_many_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patterns", str(RANKS.parent / "vllm-gptoss20b.pt.trace.json.gz"), "--quiet"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    # 24 steps of 12 times two kinds; the last layer of each differs after its norm, by 16 kernels.
    expected, missing = 35 * 12 * 24, 16 * 24
    assert (
        f"35 kernels × 12 runs in each P1 × 24 runs of P1 = {expected:,} launches,"
        f" observed {expected - missing:,}: {missing} missing (24 at each of positions 19 to 34)"
    ) in printed
    assert f"({24 * 23} layers: {24 * 12} attention+moe, {24 * 11} attention+moe 2)" in printed


def test_the_positions_of_one_pattern(enriched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patterns", str(enriched), "--quiet", "--pattern", "P1.1"]) == 0
    printed = capsys.readouterr().out
    assert "add_rmsnorm_quant:add" in printed
    assert "1,152" in printed
    one = str(enriched / "rank0.autoviz.zip")
    assert main(["patterns", one, "--quiet", "--pattern", "P7"]) == 2
    assert "P1, P1.1" in capsys.readouterr().err


Shape = tuple[str, str, str, int, int]


def raw_shapes(path: Path) -> dict[str, Counter[Shape]]:
    """Of each name how often it was launched in which shape, straight from the raw file."""
    found: dict[str, Counter[Shape]] = {}
    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
        if event.get("cat") == "kernel":
            args = event["args"]
            grid, block = (",".join(map(str, args[what])) for what in ("grid", "block"))
            shape = (event["name"], grid, block, *(int(args[what]) for what in RESOURCES))
            found.setdefault(event["name"], Counter())[shape] += 1  # type: ignore[index]
    return found


RESOURCES = ("registers per thread", "shared memory")


@pytest.mark.parametrize(
    "name",
    [
        "pairs/hf_qwen1.5-0.5b/h100.json.gz",
        "many_iterations/param_linear_40steps_rtx2080ti.json.gz",
    ],
)
def test_variants_are_those_of_the_raw_events(corpus: Path, name: str) -> None:
    raw = raw_shapes(corpus / name)
    session = open_trace(corpus / name)
    assert not isinstance(session, RankSet)
    with session:
        variants = session.query("SELECT * FROM autoviz_pattern_variant")
        outside = session.query(
            "SELECT name, grid_x || ',' || grid_y || ',' || grid_z AS grid,"
            " block_x || ',' || block_y || ',' || block_z AS block, registers, shared_memory,"
            " count() AS kernel_count FROM autoviz_kernel WHERE seq NOT IN (SELECT seq"
            " FROM autoviz_pattern_kernel WHERE position IS NOT NULL) GROUP BY 1, 2, 3, 4, 5"
        )
    shape = ["name", "grid", "block", "registers", "shared_memory"]
    kernels = pd.concat([variants, outside]).dropna(subset="grid")
    counts = kernels.groupby(shape)["kernel_count"].sum()
    assert counts.to_dict() == dict(sum(raw.values(), Counter()))
    # One name with several shapes has a row for each at its positions.
    several = {kernel for kernel, shapes in raw.items() if len(shapes) > 1}
    parted = variants.groupby("name")[shape].agg("nunique").max(axis=1) > 1
    assert several & set(parted.index[parted])
