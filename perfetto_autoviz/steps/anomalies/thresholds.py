"""Thresholds that keep the rate of false alarms, all tests together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, log1p

import numpy as np

from perfetto_autoviz.steps.anomalies.limits import CONFIDENCE, HANDICAP, RATE, TAIL
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
        rate: share of normal runs that exceed them at most, with `CONFIDENCE`.
    """

    limits: Floats
    runs: int
    allowed: int
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

    Args:
        tails: from `fit_tails`.
        held_out: scores of normal runs, shape ``(runs, tests)``.
        rate: share of normal runs that may be flagged.
    """
    count = len(held_out)
    allowed = max(allowed_exceedances(count, rate), 0)
    sequence = np.sort(held_out[:, _SEQUENCE])[::-1]
    # What few runs do stands out at once; of many, only the most unlikely may be flagged.
    own = min(int((sequence > sequence[-1]).sum()), (allowed + 1) // 2)
    surprise = np.max([tail.surprise(held_out[:, i]) for i, tail in enumerate(tails)], axis=0)
    level = float(np.sort(surprise)[::-1][allowed - own])
    limits = [*(tail.score(level) for tail in tails), float(sequence[own])]
    return Threshold(np.array(limits), count, allowed, bound(count, allowed))


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
    start = max(float(np.quantile(scores, 1 - TAIL)), 1e-6)
    beyond = scores[scores > start]
    excess = float((beyond - start).mean()) if len(beyond) else start
    return Tail(start, max(excess, 1e-6 * start), handicap)


def _binomial(count: int, hits: int, rate: float) -> float:
    if hits > count or not 0 < rate < 1:
        return float(hits == (count if rate >= 1 else 0))
    ways = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
    return exp(ways + hits * log(rate) + (count - hits) * log1p(-rate))
