"""Detection on synthetic captures, judged by their truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfetto_autoviz.steps.patterns import RankKernels, detect_patterns
from perfetto_autoviz.synth import PRESETS, preset
from tests.steps.patterns.sequences import agreement, runs_of, synthetic

BAR = 0.995
"""Share of kernels inside loops that must get the right pattern and position."""

MOVED = "sglang-qwen3-30b-a3b-shared-expert"
"""Its replays have kernels on another stream now and then, which is below the bar: what is
reached there is a line of the proof."""


def everything(ranks: list[RankKernels]) -> list[np.ndarray]:
    return [np.ones(len(one), dtype=bool) for one in ranks]


def part_of(one: RankKernels, keep: np.ndarray) -> RankKernels:
    columns = {
        name: value[keep] if isinstance(value, np.ndarray) else value
        for name, value in one.__dict__.items()
    }
    return RankKernels(**columns)


@pytest.mark.parametrize("name", sorted({*PRESETS} - {MOVED}))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_preset(tmp_path: Path, name: str, seed: int) -> None:
    spec = preset(name, steps=10, seed=seed)
    ranks, truths = synthetic(replace(spec, ranks=min(spec.ranks, 3)), tmp_path)
    found = detect_patterns(ranks)
    assert agreement(found, truths, everything(ranks)) >= BAR
    assert found.patterns[0].ranks == tuple(range(len(ranks)))


@pytest.mark.parametrize(
    ("name", "layer", "runs", "steps"),
    [
        ("sglang-qwen3-8b", "P1.1", 36, "P1"),
        ("sglang-qwen3-30b-a3b-b300", "P1.1", 48, "P1"),
        ("vllm-gptoss20b", "P1.1", 12, "P1"),
        ("trtllm-gptoss120b", "P1.1", 18, "P1"),
    ],
)
def test_layers_and_steps_are_counted(
    tmp_path: Path, name: str, layer: str, runs: int, steps: str
) -> None:
    ranks, _ = synthetic(preset(name, steps=10, seed=4), tmp_path)
    found = detect_patterns(ranks)
    assert len(runs_of(found, layer)) == 10 * runs
    assert len(runs_of(found, steps)) == 10


@pytest.mark.parametrize("rate", [0.001, 0.004])
@pytest.mark.parametrize("name", ["sglang-qwen3-30b-a3b-b300", "vllm-gptoss20b"])
def test_missing_kernels_anywhere(tmp_path: Path, name: str, rate: float) -> None:
    rng = np.random.default_rng(5)
    ranks, truths = synthetic(preset(name, steps=12, ranks=2, seed=5), tmp_path)
    keep = [rng.random(len(one)) >= rate for one in ranks]
    found = detect_patterns([part_of(one, mine) for one, mine in zip(ranks, keep, strict=True)])
    assert agreement(found, truths, keep) >= BAR
    assert len(runs_of(found, "P1")) == 2 * 12


def test_one_rank_never_runs_a_kernel(tmp_path: Path) -> None:
    ranks, truths = synthetic(preset("sglang-qwen3-8b-tp2", steps=10, seed=6), tmp_path)
    columns = truths[1].kernels
    keep = [np.ones(len(ranks[0]), dtype=bool), (columns["layer"] < 0) | (columns["position"] != 6)]
    found = detect_patterns([part_of(one, mine) for one, mine in zip(ranks, keep, strict=True)])
    assert agreement(found, truths, keep) >= BAR
    assert [(p.name, p.ranks) for p in found.patterns] == [("P1", (0, 1)), ("P1.1", (0, 1))]
    lacking = found.runs.missing[(found.runs.pattern == 1) & (found.runs.rank == 1)]
    assert lacking.min() == 1
