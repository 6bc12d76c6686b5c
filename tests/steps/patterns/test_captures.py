"""Detection on real captures, whose layers and steps were counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from perfetto_autoviz.steps.patterns import detect_patterns, kernel_places
from tests.steps.patterns.sequences import read_capture, runs_of

SERVING = {
    "vllm_gptoss20b_mi300x_decode/graph_execution.json.gz": (24, 35, 2),
    "sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz": (36, 15, 1),
    "vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz": (36, 50, 2),
    "sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/MI300/"
    "1782859605.7198358-TP-0-DECODE.trace.json.gz": (48, 16, 1),
    "sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
    "1782799835.6885648-TP-0-DECODE.trace.json.gz": (48, 14, 1),
}
"""Layers, kernels of a run of the loop, and layers in one: two kinds in turn make pairs."""


@pytest.mark.parametrize("name", SERVING)
def test_layers_of_serving_steps(corpus: Path, name: str) -> None:
    layers, length, each = SERVING[name]
    found = detect_patterns([read_capture(corpus / "llm_serving" / name)])
    assert [(p.name, p.length, p.kernels) for p in found.patterns] == [("P1", length, length)]
    assert max(len(found.patterns[0].parts), 1) == each
    assert len(runs_of(found, "P1")) * each == layers


def test_forty_training_steps(corpus: Path) -> None:
    capture = read_capture(corpus / "many_iterations" / "param_linear_40steps_rtx2080ti.json.gz")
    found = detect_patterns([capture])
    steps = found.patterns[0]
    # 220 kernels and 41 fills a step; the first one has no gradients to add to or to clear.
    assert steps.kernels == 220 + 41
    assert len(runs_of(found, "P1")) == 40
    assert (found.runs.missing[found.runs.pattern == 0] == 0).sum() == 39
    assert {p.parent for p in found.patterns[1:]} == {0}
    assert np.mean(kernel_places(found).run >= 0) > 0.999


def test_eight_ranks_share_their_names(corpus: Path) -> None:
    files = sorted((corpus / "multirank" / "dlrm_8ranks_v100").glob("worker*.json*"))
    captures = [read_capture(path) for path in files]
    codes = _shared_codes(files)
    ranks = [
        type(one)(**{**one.__dict__, "rank": rank, "op": codes[rank]})
        for rank, one in enumerate(captures)
    ]
    found = detect_patterns(ranks)
    assert found.patterns
    assert max(len(pattern.ranks) for pattern in found.patterns) == len(files) == 8


def _shared_codes(files: list[Path]) -> list[np.ndarray]:
    """Codes of the raw names that are the same on all ranks."""
    names = [device_names(path) for path in files]
    code = {name: number for number, name in enumerate(sorted(set().union(*names)))}
    return [np.array([code[name] for name in rank]) for rank in names]


def device_names(path: Path) -> list[str]:
    events = json.loads(path.read_bytes())["traceEvents"]
    return [e["name"] for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
