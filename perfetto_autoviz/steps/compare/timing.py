"""Whether the runs of a pair got slower or faster."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.compare.limits import (
    BOOTSTRAP_RUNS,
    CONFIDENCE,
    JUDGED_RUNS,
    RESAMPLES,
)
from perfetto_autoviz.steps.compare.samples import RunSamples
from perfetto_autoviz.steps.compare.student import t_quantile

Floats = NDArray[np.float64]
Verdict = Literal["slower", "faster", "no change", "not judged"]


@dataclass(frozen=True)
class Spread:
    """Wall times of one build's runs in ns.

    Attributes:
        runs: number of runs.
        left_out: runs left out because they were not complete.
        mean: their mean.
        median: their median.
        low: a quarter of them is shorter.
        high: a quarter of them is longer.
    """

    runs: int
    left_out: int
    mean: float
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Timing:
    """The change of a run's wall time.

    Attributes:
        a: wall times in A.
        b: wall times in B.
        difference: median of B less median of A in ns, over runs by number; where several
            ranks execute a run, their mean counts.
        ratio: median of B over that of A, less 1; NaN if A's is 0.
        low: lower end of the difference's bootstrap interval in ns; None if not judged.
        high: its upper end.
        verdict: what the interval says; ``not judged`` for fewer than five runs.
    """

    a: Spread
    b: Spread
    difference: float
    ratio: float
    low: float | None
    high: float | None
    verdict: Verdict


def compare_timing(a: RunSamples, b: RunSamples, *, seed: int = 0) -> Timing:
    """The change of a loop's wall time from A to B, with its uncertainty.

    The interval is that of a bootstrap over blocks of neighbouring runs (H. R. Künsch, The
    jackknife and the bootstrap for general stationary observations, 1989), as runs that follow
    each other are alike: clocks and temperatures change slowly. Few blocks know little of their own
    spread, so the interval is widened as Student's t is wider than the normal distribution.

    Args:
        a: runs of A.
        b: runs of B.
        seed: of the random choices.
    """
    one, other = (side.units(side.wall.astype(np.float64)) for side in (a, b))
    difference, ratio = _change(one, other)
    low = high = None
    if min(len(one), len(other)) >= JUDGED_RUNS:
        random = np.random.default_rng(seed)
        medians = _resampled_medians(other, random) - _resampled_medians(one, random)
        ends = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        blocks = min(-(-len(series) // _block(len(series))) for series in (one, other))
        wider = t_quantile(CONFIDENCE, blocks - 1) / NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        low, high = (difference + wider * (float(end) - difference) for end in ends)
    return Timing(_spread(a), _spread(b), difference, ratio, low, high, _verdict(low, high))


def _verdict(low: float | None, high: float | None) -> Verdict:
    if low is None or high is None:
        return "not judged"
    if low > 0:
        return "slower"
    return "faster" if high < 0 else "no change"


def _change(one: Floats, other: Floats) -> tuple[float, float]:
    if not len(one) or not len(other):
        return float("nan"), float("nan")
    before, after = float(np.median(one)), float(np.median(other))
    return after - before, after / before - 1 if before else float("nan")


def _spread(side: RunSamples) -> Spread:
    if not len(side):
        nan = float("nan")
        return Spread(0, side.left_out, nan, nan, nan, nan)
    low, median, high = (float(value) for value in np.quantile(side.wall, [0.25, 0.5, 0.75]))
    return Spread(len(side), side.left_out, float(side.wall.mean()), median, low, high)


def _block(size: int) -> int:
    """Neighbours that stay together: at the cube root the interval's bias and variance balance."""
    return max(1, round(float(np.cbrt(size))))


def _resampled_medians(series: Floats, random: np.random.Generator) -> Floats:
    """Medians of samples made of blocks of neighbours, shape ``(RESAMPLES,)``."""
    step = -(-len(series) // BOOTSTRAP_RUNS)
    series = series[::step]
    size = len(series)
    block = _block(size)
    starts = random.integers(0, size, (RESAMPLES, -(-size // block)))
    # The series is taken as a ring, so that its ends are as likely as its middle.
    index = (starts[:, :, None] + np.arange(block)) % size
    medians: Floats = np.median(series[index.reshape(RESAMPLES, -1)[:, :size]], axis=1)
    return medians
