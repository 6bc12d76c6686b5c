"""Runs the evaluation of one seed of one family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from perfetto_autoviz.steps.patterns import detect_patterns, kernel_places
from perfetto_autoviz.synth import second_build
from tests.benchmarks.proof.builds import detect
from tests.benchmarks.proof.kernels import Kernels, damaged, kernels_of, lacking, shuffled
from tests.benchmarks.proof.places import Placing, judge
from tests.benchmarks.proof.scenarios import DIFFICULTIES, scenario
from tests.benchmarks.proof.scripts import Judged, judge_pair

PAIR_RANKS, PAIR_STEPS = 2, 10
"""Most of a pair: more ranks and steps run the same layers again."""

DAMAGE = ("complete", "noisy", "a rank lacks one")


@dataclass(frozen=True)
class Found:
    """What detection made of a scenario.

    Attributes:
        ranks: its ranks.
        placings: by damage, how well kernels were placed.
        by_chance: the largest share of shuffled kernels that one pattern has.
    """

    ranks: int
    placings: Mapping[str, Placing]
    by_chance: float


def evaluate_patterns(family: str, seed: int) -> Found:
    """Detection on a scenario, complete and damaged, and on its kernels in any order."""
    spec = scenario(family, seed)
    kernels = kernels_of(spec)
    rng = np.random.default_rng([seed, 77])
    variants = {"complete": kernels, "noisy": damaged(kernels, rng)}
    if spec.ranks > 1:
        variants["a rank lacks one"] = lacking(kernels, rng)
    placings = {
        name: judge(detect_patterns(one.detectable()), one) for name, one in variants.items()
    }
    return Found(spec.ranks, placings, _largest_share(shuffled(kernels, rng)))


def evaluate_pairs(family: str, seed: int) -> dict[str, Judged]:
    """The comparison of a build with another one of each difficulty."""
    spec = scenario(family, seed)
    spec = replace(spec, ranks=min(spec.ranks, PAIR_RANKS), steps=min(spec.steps, PAIR_STEPS))
    before = detect(kernels_of(spec))
    found = {}
    for number, (name, plan) in enumerate(DIFFICULTIES.items()):
        rng = np.random.default_rng([seed, 5, number])
        pair = second_build(spec, plan(rng), seed)
        found[name] = judge_pair(before, detect(kernels_of(pair.b)), pair.edits)
    return found


def _largest_share(kernels: Kernels) -> float:
    found = detect_patterns(kernels.detectable())
    pattern = kernel_places(found).pattern
    count = np.bincount(pattern[pattern >= 0], minlength=1)
    return float(count.max() / max(len(pattern), 1))
