"""Medians, spreads and thresholds on known distributions."""

from __future__ import annotations

from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.steps.anomalies.limits import CLEAR, CONFIDENCE, FINEST, RATE
from perfetto_autoviz.steps.anomalies.medians import median
from perfetto_autoviz.steps.anomalies.scaling import fit_scaling, robust_spread, scale
from perfetto_autoviz.steps.anomalies.scores import Usual, score
from perfetto_autoviz.steps.anomalies.thresholds import (
    allowed_exceedances,
    bound,
    clear_limit,
    fit_tails,
    set_threshold,
)
from tests.steps.anomalies.captures import Prepared, serving


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_medians_of_what_is_there(rows: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, columns))
    there = rng.random((rows, columns)) < 0.7
    wanted = [
        float(np.median(values[there[:, c], c])) if there[:, c].any() else 0.0
        for c in range(columns)
    ]
    assert np.allclose(median(values, there), wanted)


def test_the_spread_of_a_normal_distribution_with_outliers() -> None:
    rng = np.random.default_rng(1)
    values = (0.3 * rng.standard_normal((20_000, 1))).astype(np.float32)
    values[:100] += 2
    assert robust_spread(values, np.ones_like(values, bool))[0] == pytest.approx(0.3, rel=0.03)


def test_the_spread_of_two_modes_covers_both() -> None:
    values = np.where(np.arange(1_000) % 5 == 0, 2.0, 0.0).astype(np.float32)[:, None]
    # The median absolute deviation is 0; the standard deviation around 0 is 2 sqrt(0.2).
    spread = robust_spread(values, np.ones_like(values, bool))[0]
    assert spread == pytest.approx(np.sqrt(0.2))


def test_constant_times_have_the_finest_spread() -> None:
    steps = serving(20, 12, seed=1, noise=0, gap_noise=0)
    runs = Prepared.of({0: steps}).sets["P1.1"]
    scaling = fit_scaling(runs, np.arange(len(runs)))
    scaled = scale(scaling, runs)
    assert np.allclose(scaled.z, 0)
    assert np.allclose(scaling.spread["decode"], FINEST)


def test_scaled_times_of_normal_runs_are_standard() -> None:
    runs = Prepared.of({0: serving(30, 24, seed=2, noise=0.05)}).sets["P1.1"]
    half = np.arange(0, len(runs), 2)
    scaled = scale(fit_scaling(runs, half), runs)
    there = scaled.there[1::2]
    z = scaled.z[1::2]
    assert there[:, 1, 1:].all()
    assert not there[:, 1, 0].any()
    assert np.abs(np.median(z[:, 0], axis=0)).max() < 0.2
    assert np.allclose(z[:, 0].std(axis=0), 1, atol=0.2)


def test_a_layer_that_is_always_slower_is_normal_at_its_place() -> None:
    steps = serving(30, 12, seed=3, noise=0.02)
    slow = slice(1 + 7 * 8, 1 + 8 * 8)
    steps.dur[:, slow] = np.rint(1.5 * steps.dur[:, slow])
    runs = Prepared.of({0: steps}).sets["P1.1"]
    scaled = scale(fit_scaling(runs, np.arange(len(runs))), runs)
    own = scaled.z[runs.matrix.ordinal == 7, 0]
    assert np.abs(np.median(own, axis=0)).max() < 0.5


def test_steps_under_load_are_compared_within_themselves() -> None:
    steps = serving(30, 12, seed=4, noise=0.02)
    steps.dur = np.rint(steps.dur * np.linspace(1, 3, 30)[:, None])
    runs = Prepared.of({0: steps}).sets["P1.1"]
    scaled = scale(fit_scaling(runs, np.arange(len(runs))), runs)
    assert np.abs(scaled.z[:, 0].mean(axis=1)).max() < 2.5


def test_a_step_that_is_longer_than_its_group_is_compared_within_itself() -> None:
    steps = serving(30, 12, seed=5, noise=0.02)
    steps.dur[7] = np.rint(3 * steps.dur[7])
    runs = Prepared.of({0: steps}).sets["P1.1"]
    own = runs.matrix.number // 12 == 7
    assert not runs.normal[own].any()
    scaled = scale(fit_scaling(runs, np.flatnonzero(~own)), runs)
    assert np.abs(scaled.z[own, 0].mean(axis=1)).max() < 2.5


@pytest.mark.parametrize("count", [100, 350, 2_000])
def test_how_many_may_exceed(count: int) -> None:
    allowed = allowed_exceedances(count)

    def below(most: int, rate: float) -> float:
        return sum(comb(count, k) * rate**k * (1 - rate) ** (count - k) for k in range(most + 1))

    assert below(allowed, RATE) <= 1 - CONFIDENCE < below(allowed + 1, RATE)
    assert bound(count, allowed) <= RATE + 1e-9
    assert below(allowed, bound(count, allowed)) == pytest.approx(1 - CONFIDENCE)


def test_too_few_runs_keep_no_rate() -> None:
    assert allowed_exceedances(20) == -1
    assert bound(20, 0) > RATE


def scores(rng: np.random.Generator, count: int) -> np.ndarray:
    """Kernel scores with a heavy tail, drifts that are normal, sequences mostly alike."""
    kernel = 2 + rng.standard_exponential(count) * np.where(rng.random(count) < 0.05, 6, 0.5)
    drift = np.abs(rng.standard_normal(count))
    odd = np.where(rng.random(count) < 0.003, 6.0 + rng.random(count), 0.0)
    return np.stack([kernel, drift, odd], axis=1)


def test_all_tests_together_keep_the_rate() -> None:
    rng = np.random.default_rng(5)
    rates = []
    for _ in range(60):
        threshold = set_threshold(fit_tails(scores(rng, 400)), scores(rng, 600))
        rates.append((scores(rng, 4_000) > threshold.limits).any(axis=1).mean())
    assert 0.012 < np.mean(rates) < RATE
    # Each keeps to its rate with the stated confidence; a binomial error is allowed for.
    assert np.mean(np.array(rates) <= RATE) > CONFIDENCE - 0.18


FAR = np.array([300.0, 12.0, 7.0])
"""A large error, a drift, and an order that hardly any other run has."""


@pytest.mark.parametrize("abnormal", [0.0, 0.02, 0.06])
def test_abnormal_runs_do_not_hide_one_another(abnormal: float) -> None:
    rng = np.random.default_rng(9)
    rates = []
    for _ in range(40):
        training, held_out = scores(rng, 600), scores(rng, 600)
        for one in (training, held_out):
            bad = np.flatnonzero(rng.random(len(one)) < abnormal)
            one[bad, bad % 3] = FAR[bad % 3]
        threshold = set_threshold(fit_tails(training), held_out)
        assert (threshold.limits < FAR).all()
        rates.append((scores(rng, 4_000) > threshold.limits).any(axis=1).mean())
    assert np.mean(rates) < RATE


def test_the_limit_of_an_exponential_tail() -> None:
    rng = np.random.default_rng(10)
    tail = rng.standard_exponential(200_000)
    # A share CLEAR of an exponential distribution lies beyond -log(CLEAR).
    wanted = pytest.approx(-log(CLEAR), rel=0.02)
    assert clear_limit(tail) == wanted
    assert clear_limit(np.append(np.full(970, 1.0), np.full(30, 1.9))) > 1.9
    assert clear_limit(np.append(tail, np.full(8_000, 50.0))) == wanted


def test_few_deviating_runs_are_all_flagged() -> None:
    held_out = scores(np.random.default_rng(7), 600)
    held_out[:, 2] = 0
    held_out[:4, 2] = 6.5
    threshold = set_threshold(fit_tails(held_out), held_out)
    assert threshold.limits[2] == 0
    assert (held_out > threshold.limits).any(axis=1).sum() <= threshold.allowed


def test_what_no_held_out_run_does_is_flagged() -> None:
    rng = np.random.default_rng(6)
    held_out = scores(rng, 500)
    held_out[:, 2] = 0
    limits = set_threshold(fit_tails(held_out), held_out).limits
    assert limits[2] == 0


@pytest.mark.parametrize(("name", "share"), [("P1.1", 0.15), ("P1", 0.05)])
def test_the_share_of_a_time_that_is_tolerated(name: str, share: float) -> None:
    # A layer of 8 kernels, and a step of 82: of many kernels, only steady ones can be judged.
    runs = Prepared.of({0: serving(12, 10, seed=6)}).sets[name]
    scaled = scale(fit_scaling(runs, np.arange(len(runs))), runs)
    error = np.zeros_like(scaled.z)
    error[0, 0, 1] = 10
    usual = Usual(np.ones_like(scaled.z[0]), 1.0, 1.0, np.zeros(len(runs.matrix.ops)), {}, 12)
    time = np.expm1(scaled.normal[0, 0, 1])
    unit = np.hypot(1, share * time / (1 + time) / scaled.spread[0, 0, 1])
    assert score(usual, runs, scaled, error).error[0, 0, 1] == pytest.approx(10 / unit, rel=1e-4)
