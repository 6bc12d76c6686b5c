"""How often operations are said to have changed: in noise of which nothing changed, and else."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfetto_autoviz.steps.compare.dependence import correlations, drifting_mean
from tests.benchmarks.null import LEVEL, SPLITS, Noise, Rate, null_rate, power

TRIALS = 25


@pytest.mark.parametrize("split", SPLITS)
def test_noise_is_no_change(split: str) -> None:
    found = Rate(0, 0)
    for noise in ("independent", "lognormal", "drift, correlation 0.9", "common drift, 0.9"):
        for runs in (5, 10, 30):
            found += null_rate(noise, runs, split, TRIALS, seed=90_210)  # type: ignore[arg-type]
    assert found.interval()[0] <= LEVEL
    assert found.share <= LEVEL


def test_one_operation_that_gets_a_tenth_slower_is_found_in_30_runs() -> None:
    assert power("independent", 30, TRIALS, seed=90_211).share >= 0.95
    assert power("lognormal", 30, TRIALS, seed=90_211).share >= 0.9


def test_an_interval_by_hand() -> None:
    # Wilson's interval of no success in n is from 0 to z² / (n + z²).
    low, high = Rate(0, 96).interval()
    assert low == pytest.approx(0, abs=1e-12)
    assert high == pytest.approx(1.96**2 / (96 + 1.96**2))


def test_a_mean_of_two_dependent_values() -> None:
    # Their mean's variance is (1 + r) / 2 of one value's, and what is seen around it 1 - r halves.
    series = np.array([1.0, 3.0])
    found = drifting_mean(series, 0.5)
    variance = 1.0 / ((1 - 0.5) / 2)
    assert found.spread / found.runs == pytest.approx(variance * (1 + 0.5) / 2)
    # Independent values have the variance of a textbook.
    plain = drifting_mean(series, 0.0)
    assert (plain.spread, plain.freedom) == (pytest.approx(2.0), 1)


@pytest.mark.parametrize(("correlation", "runs"), [(0.0, 30), (0.5, 30), (0.9, 200)])
def test_the_correlation_of_neighbours_is_recovered(correlation: float, runs: int) -> None:
    noise = Noise(lambda random, shape: random.normal(size=shape), correlation)
    random = np.random.default_rng(17)
    sides = [noise.series(random, runs, 60) for _ in range(2)]
    for found in correlations(sides):
        # One series of these lengths is off by 0.03 to 0.2.
        assert found.mean() == pytest.approx(correlation, abs=0.1)


def test_what_does_not_vary_has_no_correlation() -> None:
    still = np.full((8, 2), 1 / 3)
    assert all((found == 0).all() for found in correlations([still, still]))
    assert not math.isnan(drifting_mean(still[:, 0], 0.0).spread)
