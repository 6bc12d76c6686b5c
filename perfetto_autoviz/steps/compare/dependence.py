"""How well a mean is known where neighbours in a series depend on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.compare.limits import (
    FEWEST_BATCHES,
    LARGEST_CORRELATION,
    MOST_BATCHES,
)

Floats = NDArray[np.float64]

_ERRORS = 2
_BIAS = 3  # runs that the bias of a correlation costs


@dataclass(frozen=True)
class MeanEstimate:
    """A mean and how well it is known.

    Attributes:
        mean: the mean.
        spread: variance of the mean times the number of runs.
        runs: number of runs.
        freedom: degrees of freedom of the spread.
    """

    mean: float
    spread: float
    runs: int
    freedom: float


def batched_mean(series: Floats) -> MeanEstimate:
    """The mean of a series of two at least, whose spread is that of batches of neighbours.

    Batch means (C. Alexopoulos and A. F. Seila, Output data analysis, 1998) presume nothing of the
    dependence. The spread is that of single values if it is larger, as where runs take turns.
    """
    batches = min(max(FEWEST_BATCHES, round(math.sqrt(len(series)))), MOST_BATCHES, len(series))
    means = np.array([part.mean() for part in np.array_split(series, batches)])
    single, batched = (float(np.var(one, ddof=1) / len(one)) for one in (series, means))
    mean = float(series.mean())
    if batched >= single:
        return MeanEstimate(mean, batched * len(series), len(series), batches - 1)
    return MeanEstimate(mean, single * len(series), len(series), len(series) - 1)


def drifting_mean(series: Floats, correlation: float) -> MeanEstimate:
    """The mean of a first-order autoregressive series with a known correlation of neighbours.

    Dependent values vary less around their own mean than around the true one, tell as much as
    fewer independent ones would of the mean, and as yet others of the variance (G. V. Bayley and
    J. M. Hammersley, The effective number of independent observations in an autocorrelated time
    series, 1946).
    """
    size = len(series)
    inflation = _inflation(correlation, size)
    freedom = max(size / _inflation(correlation**2, size) - 1, 1.0)
    variance = float(np.var(series)) / (1 - inflation / size)
    return MeanEstimate(float(series.mean()), variance * inflation, size, freedom)


def _inflation(correlation: float, size: int) -> float:
    """Variance of a mean in that of independent values."""
    lags = np.arange(1, size)
    return float(1 + 2 * np.sum((1 - lags / size) * correlation**lags))


def correlations(sides: Sequence[Floats]) -> list[Floats]:
    """How alike neighbouring runs are, of each operation in each build.

    A single series of a few runs hardly shows it, but all operations of both builds together do,
    and they run on one device under one clock. So each has at least the mean of all. Where
    they differ by more than chance explains, some drift and others don't: each has its own then,
    as far as it is known (empirical Bayes; C. N. Morris, Parametric empirical Bayes inference,
    1983), and two standard errors more, as what looks least correlated looks most like a change.

    Args:
        sides: of each build shape ``(runs, operations)``, in the order of the runs.

    Returns:
        Of each build shape ``(operations,)``, between 0 and ``LARGEST_CORRELATION``.
    """
    own = [_neighbours(side) for side in sides]
    chance = [1 / len(side) * (len(side) / (len(side) - _BIAS)) ** 2 for side in sides]
    every = np.concatenate(own)
    known = every[~np.isnan(every)]
    common = float(known.mean()) if len(known) else 0.0
    apart = max(float(known.var()) - sum(chance) / len(chance), 0.0) if len(known) else 0.0
    found = []
    for one, by_chance in zip(own, chance, strict=True):
        weight = apart / (apart + by_chance)
        likely = common + weight * (np.nan_to_num(one, nan=common) - common)
        most = likely + _ERRORS * math.sqrt(weight * by_chance)
        found.append(np.clip(np.maximum(most, common), 0, LARGEST_CORRELATION))
    return found


def _neighbours(series: Floats) -> Floats:
    """Correlation of neighbours, less the bias of few runs; NaN where nothing varies.

    The bias is that of M. G. Kendall, Note on bias in the estimation of autocorrelation, 1954.
    """
    size = len(series)
    rest = series - series.mean(axis=0)
    square = (rest**2).sum(axis=0)
    # Sums of equal numbers differ in their last bits.
    varying = square > 1e-18 * size * series.mean(axis=0) ** 2
    product = (rest[1:] * rest[:-1]).sum(axis=0)
    plain = np.divide(product, square, out=np.full(len(square), np.nan), where=varying)
    corrected: Floats = (size * plain + 1) / (size - _BIAS)
    return corrected
