"""Thresholds that keep the rate of false alarms, all tests together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, log1p

import numpy as np

from perfetto_autoviz.steps.anomalies.limits import (
    CLEAR,
    CONFIDENCE,
    HANDICAP,
    LEAST_TAIL,
    RARE,
    RATE,
    TAIL,
)
from perfetto_autoviz.steps.anomalies.scores import TESTS, Floats

_SEQUENCE = TESTS.index("sequence")


@dataclass(frozen=True)
class Tail:
    """How a score of normal runs is distributed, as far as its large values go.

    Attributes:
        start: what a share `TAIL` of runs exceeds.
        excess: by how much they do on average.
        handicap: nats that make scores comparable, see `HANDICAP`.
    """

    start: float
    excess: float
    handicap: float = 0.0

    def surprise(self, scores: Floats) -> Floats:
        """Minus the log of the share of normal runs with a larger score, as if exponential."""
        beyond = -log(TAIL) + (scores - self.start) / self.excess
        below = -log(TAIL) * scores / self.start
        return np.where(scores > self.start, beyond, below) - self.handicap

    def score(self, surprise: float) -> float:
        """The score that is so surprising."""
        nats = surprise + self.handicap
        if nats > -log(TAIL):
            return self.start + self.excess * (nats + log(TAIL))
        return self.start * max(nats, 0.0) / -log(TAIL)


@dataclass(frozen=True)
class Threshold:
    """What a run's scores may reach in one cell.

    Attributes:
        limits: one per test; a run is flagged by a test whose score is larger.
        runs: held-out runs that they were set on.
        allowed: how many of those may exceed them.
        abnormal: held-out runs beside them that stand out.
        rate: share of normal runs that exceed them at most, with `CONFIDENCE`.
    """

    limits: Floats
    runs: int
    allowed: int
    abnormal: int
    rate: float


def fit_tails(training: Floats) -> tuple[Tail, ...]:
    """The tails of all tests but the sequence, from scores of shape ``(runs, tests)``."""
    return tuple(
        _fit_tail(training[:, test], HANDICAP if name == "drift" else 0.0)
        for test, name in enumerate(TESTS[:_SEQUENCE])
    )


def set_threshold(tails: Sequence[Tail], held_out: Floats, rate: float = RATE) -> Threshold:
    """The threshold of one cell from runs that nothing else was fitted on.

    The larger surprise of a run's scores is one number; so one order statistic of it bounds
    the rate of both tests together, whatever its distribution (Wilks 1941). The sequence has
    an order statistic of its own, as most of its scores are equal; it takes up to half of the
    rate, as much as there are held-out runs that deviate from the pattern at all.

    Runs that stand out use up what is allowed. Where there are more of them, the others are taken
    for abnormal: they don't raise the thresholds.

    Args:
        tails: from `fit_tails`.
        held_out: scores of normal runs, shape ``(runs, tests)``.
        rate: share of normal runs that may be flagged.
    """
    beyond = np.array([*map(clear_limit, held_out[:, :_SEQUENCE].T), -log(RARE)])
    clear = np.asarray((held_out > beyond).any(axis=1), bool)
    if 2 * clear.sum() >= len(clear):
        beyond, clear = np.full(len(beyond), np.inf), np.zeros_like(clear)
    allowed = max(allowed_exceedances(len(held_out), rate), 0)
    taken = min(int(clear.sum()), allowed)
    abnormal = int(clear.sum()) - taken
    rest, left = held_out[~clear], allowed - taken
    sequence = np.sort(rest[:, _SEQUENCE])[::-1]
    # What few runs do stands out at once; of many, only the most unlikely may be flagged.
    own = min(int((sequence > sequence[-1]).sum()), (left + 1) // 2)
    surprise = np.max([tail.surprise(rest[:, i]) for i, tail in enumerate(tails)], axis=0)
    level = float(np.sort(surprise)[::-1][left - own])
    limits = np.array([*(tail.score(level) for tail in tails), sequence[own]])
    count = len(held_out) - abnormal
    return Threshold(np.minimum(limits, beyond), count, allowed, abnormal, bound(count, allowed))


def clear_limit(scores: Floats) -> float:
    """What a score of normal runs hardly exceeds, whatever abnormal ones are among them.

    Of an exponential tail, two quantiles tell how far it goes. What lies beyond is left out, and
    the quantiles are taken again, until nothing changes.
    """
    kept = np.sort(scores)
    while True:
        start, half = np.quantile(kept, [1 - TAIL, 1 - TAIL / 2])
        # Most scores may be equal, where times are.
        excess = max(half - start, LEAST_TAIL * start, 1e-6) / log(2)
        limit = float(start + excess * log(TAIL / CLEAR))
        inside = kept[kept <= limit]
        if len(inside) == len(kept):
            return limit
        kept = inside


def allowed_exceedances(count: int, rate: float = RATE) -> int:
    """How many of so many held-out runs may lie above the threshold; -1 if there are too few.

    The true rate above the k-th largest of n values is below p with the probability that at
    least k of n values would lie there if it were p.
    """
    below, allowed = 0.0, -1
    while True:
        below += _binomial(count, allowed + 1, rate)
        if below > 1 - CONFIDENCE:
            return allowed
        allowed += 1


def bound(count: int, allowed: int) -> float:
    """The rate that a threshold keeps to with `CONFIDENCE`."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        below = sum(_binomial(count, k, middle) for k in range(allowed + 1))
        low, high = (middle, high) if below > 1 - CONFIDENCE else (low, middle)
    return high


def _fit_tail(scores: Floats, handicap: float) -> Tail:
    scores = scores[scores <= clear_limit(scores)]
    start = max(float(np.quantile(scores, 1 - TAIL)), 1e-6)
    beyond = scores[scores > start]
    excess = float((beyond - start).mean()) if len(beyond) else start
    return Tail(start, max(excess, 1e-6 * start), handicap)


def _binomial(count: int, hits: int, rate: float) -> float:
    if hits > count or not 0 < rate < 1:
        return float(hits == (count if rate >= 1 else 0))
    ways = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
    return exp(ways + hits * log(rate) + (count - hits) * log1p(-rate))
