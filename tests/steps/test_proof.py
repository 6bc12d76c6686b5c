"""A fast part of the proof: detection and comparison on synthetic truth, on seeds of its own."""

from __future__ import annotations

import pytest

from tests.benchmarks.proof.evaluate import evaluate_pairs, evaluate_patterns
from tests.benchmarks.proof.scenarios import FAMILIES, HARDER, SUITE_SEEDS
from tests.benchmarks.proof.scripts import Tally

SINGLE_STREAM = [one for one in FAMILIES if one not in (*HARDER, "multi-stream", "speculative")]


@pytest.mark.parametrize("family", SINGLE_STREAM)
def test_kernels_get_their_loop_and_position(family: str) -> None:
    for seed in SUITE_SEEDS[:1]:
        found = evaluate_patterns(family, seed)
        assert found.by_chance <= 0.01
        for damage in ("complete", "noisy"):
            assert found.placings[damage].share >= 0.995
            assert found.placings[damage].named_alike


@pytest.mark.parametrize("family", SINGLE_STREAM)
def test_partners_and_edits_are_the_true_ones(family: str) -> None:
    found, by_name = Tally(), Tally()
    for seed in SUITE_SEEDS[:1]:
        for judged in evaluate_pairs(family, seed).values():
            assert judged.matched == judged.partners > 0
            found.update(judged.found)
            by_name.update(judged.by_name)
    assert found.f1() >= 0.95 > by_name.f1()
