"""Real pairs: the kernels that became each other were read off the captures by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfetto_autoviz.steps.compare import (
    Build,
    EditScript,
    Loop,
    Match,
    build_waterfall,
    compare_operations,
    match_edits,
    match_loops,
    sample_runs,
    score_pairs,
)
from tests.steps.compare.builds import open_build

QWEN_30B = "llm_serving/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode"
MI300X = f"{QWEN_30B}/MI300/1782859605.7198358-TP-0-DECODE.trace.json.gz"
B300 = f"{QWEN_30B}/B300/1782799835.6885648-TP-0-DECODE.trace.json.gz"
FLUX = "pairs/xdit_flux_1024px_two_attention_backends"
PAIRS = {
    "qwen3-30b": (MI300X, B300),
    "qwen1.5": ("pairs/hf_qwen1.5-0.5b/h100.json.gz", "pairs/hf_qwen1.5-0.5b/mi300.json.gz"),
    "timesformer": ("pairs/hf_timesformer/h100.json.gz", "pairs/hf_timesformer/mi300.json.gz"),
    "flux": (f"{FLUX}/aiter.json.gz", f"{FLUX}/sage.json.gz"),
}
ALONE = {
    "40 steps": "many_iterations/param_linear_40steps_rtx2080ti.json.gz",
    "qwen3-8b": "llm_serving/sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz",
    "gpt-oss-20b": "llm_serving/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz",
    "gpt-oss-120b": "llm_serving/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz",
    "qwen3-30b MI300X": MI300X,
    "qwen3-30b B300": B300,
    "qwen1.5 H100": PAIRS["qwen1.5"][0],
    "flux": PAIRS["flux"][0],
}


@cache
def build_of(path: Path) -> Build:
    return open_build(path)


def matched(corpus: Path, pair: str) -> tuple[Build, Build, tuple[Match, ...]]:
    a, b = (build_of(corpus / name) for name in PAIRS[pair])
    found = match_loops(a, b, score_pairs(a, b))
    assert not found.differs
    return a, b, found.greedy


def families(loop: Loop, positions: tuple[int, ...]) -> set[str]:
    return {loop.elements[position].family for position in positions}


def edits_of(script: EditScript, op: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(e.kind, e.ops_a, e.ops_b) for e in script.edits if op in (*e.ops_a, *e.ops_b)]


@pytest.mark.parametrize(
    ("pair", "by_op", "by_family"),
    [("qwen3-30b", 0.0, 0.79), ("qwen1.5", 0.635, 0.951), ("timesformer", 0.624, 0.951)],
)
def test_scores_of_two_vendors(corpus: Path, pair: str, by_op: float, by_family: float) -> None:
    a, b, matches = matched(corpus, pair)
    scores = {(score.a, score.b): score.by for score in score_pairs(a, b)}
    found = scores[matches[0].a, matches[0].b]
    assert found["op"].score == pytest.approx(by_op, abs=0.0006)
    assert found["family"].score == pytest.approx(by_family, abs=0.0006)
    # The set's share by the operations themselves, whatever the loops' rotation.
    for key in ("op", "family"):
        one, other = (
            {getattr(element, key) for element in side.loops[at].elements}
            for side, at in ((a, matches[0].a), (b, matches[0].b))
        )
        assert found[key].jaccard == pytest.approx(len(one & other) / len(one | other))
        weighed = 0.7 * found[key].jaccard + 0.3 * found[key].levenshtein
        assert found[key].score == pytest.approx(weighed)


@pytest.mark.parametrize("pair", PAIRS)
def test_attention_pairs_with_attention_and_experts_with_experts(corpus: Path, pair: str) -> None:
    a, b, matches = matched(corpus, pair)
    seen = set()
    for match in matches:
        one, other = a.loops[match.a], b.loops[match.b]
        for edit in match_edits(a, b, match, matches).edits:
            if edit.a and edit.b:
                sides = families(one, edit.a), families(other, edit.b)
                for family in {"attention", "moe"} & (sides[0] | sides[1]):
                    assert family in sides[0] & sides[1], edit
                    seen.add(family)
    # TimeSformer's attention is no kernel of its own.
    expected = {"qwen3-30b": {"attention", "moe"}, "timesformer": set()}
    assert seen == expected.get(pair, {"attention"})


def test_attention_of_single_kernels(corpus: Path) -> None:
    a, b, matches = matched(corpus, "timesformer")
    edits = match_edits(a, b, matches[0], matches).edits
    # A product, its scale, softmax and, after a copy, the product with the values: both kinds
    # of attention of a layer, over time and over space.
    for softmax in ("softmax_warp_forward", "cunn_SoftMaxForward:SoftMaxForwardEpilogue"):
        (middle,) = [at for at, edit in enumerate(edits) if softmax in edit.ops_a]
        around = edits[middle - 2 : middle + 3]
        assert [edit.kind for edit in around] == ["renamed", "same", "same", "same", "renamed"]
        for edit in (around[0], around[-1]):
            assert edit.ops_a == ("cutlass::Kernel2:cutlass_tensorop_bf16_sgemm_bf16_nn",)
            assert edit.ops_b == ("Cijk_Ailk_Bljk_B_BS_BH_Bias_HA_S_SAV",)


def test_the_layer_of_two_vendors(corpus: Path) -> None:
    a, b, matches = matched(corpus, "qwen3-30b")
    assert [(m.a, m.b, m.basis) for m in matches] == [(0, 0, "family")]
    script = match_edits(a, b, matches[0], matches)
    # The expert's second product is followed by a kernel that weighs and adds the results.
    assert edits_of(script, "finalizeKernel")[0][0] == "split"
    # Paged attention in two passes became one kernel.
    attention = edits_of(script, "paged_attention_ll4mi_reduce")
    assert [(kind, len(one), len(other)) for kind, one, other in attention] == [("fused", 2, 1)]
    # Both norms with a residual are one kernel on either side.
    norms = edits_of(script, "add_rmsnorm_quant:add")
    assert norms == [
        ("renamed", ("add_rmsnorm_quant:add",), ("cute:FusedAddRMSNormKernel",)),
        ("renamed", ("add_rmsnorm_quant:add",), ("cute:FusedAddRMSNormKernel",)),
    ]


def test_another_attention_backend(corpus: Path) -> None:
    a, b, matches = matched(corpus, "flux")
    assert {a.loops[m.a].name: b.loops[m.b].name for m in matches}["P1.1"] == "P1.1"
    for match in matches:
        one = a.loops[match.a]
        script = match_edits(a, b, match, matches)
        if one.name in ("P1.1", "P1.2"):
            ((kind, _, ops),) = edits_of(script, "fmha_fwd_hd128_bf16_rtz")
            assert kind == "split"
            assert {"sage_fwd", "sage_quant_kernel"} <= set(ops)
        else:
            assert {edit.kind for edit in script.edits} == {"same"}


@pytest.mark.parametrize("pair", PAIRS)
def test_real_waterfalls_add_up(corpus: Path, pair: str) -> None:
    a, b, matches = matched(corpus, pair)
    for match in matches:
        one, other = sample_runs(a, a.loops[match.a]), sample_runs(b, b.loops[match.b])
        found = build_waterfall(one, other)
        assert found.a + sum(bar.change for bar in found.bars) == pytest.approx(found.b, rel=1e-12)
        complete = a.runs.complete & (a.runs.pattern == match.a)
        if one.left_out:
            assert sorted(one.wall) == sorted(a.runs.dur[complete])


@pytest.mark.parametrize("name", ALONE)
def test_no_operation_changed_where_nothing_did(corpus: Path, name: str) -> None:
    build = build_of(corpus / ALONE[name])
    judged = 0
    for loop in build.loops:
        runs = sample_runs(build, loop)
        number = np.arange(len(runs))
        for first in (number < len(runs) // 2, number % 2 == 0):
            table = compare_operations(runs.select(first), runs.select(~first))
            assert not (table["significant"] == True).any(), (loop.name, table.head())  # noqa: E712
            judged += table["significant"].notna().any()
    assert judged
