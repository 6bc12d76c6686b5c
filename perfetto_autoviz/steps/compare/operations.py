"""Counts and durations of each operation of a pair, and which of them changed."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.compare.dependence import (
    MeanEstimate,
    batched_mean,
    correlations,
    drifting_mean,
)
from perfetto_autoviz.steps.compare.limits import (
    CLOCK_RANGE,
    CLOCK_REACH,
    JUDGED_RUNS,
    SIGNIFICANCE,
)
from perfetto_autoviz.steps.compare.samples import RunSamples
from perfetto_autoviz.steps.compare.student import two_sided_p

Floats = NDArray[np.float64]
Means = list[tuple[MeanEstimate, MeanEstimate]]
"""Of each operation its mean in A and in B."""


def compare_operations(a: RunSamples, b: RunSamples) -> pd.DataFrame:
    """A table of what each operation costs per run in A and in B.

    The test is Student's t with the larger of the two builds' spreads. Runs that follow each
    other are alike, and taking each for new evidence would find changes in noise; so the
    spread is derived twice, from batches of neighbours and from how much neighbours correlate
    in all operations, and the less certain answer counts: see ``dependence``. Runs of one
    number on several ranks count once. Only what lies beyond the resolution of the clock that
    measured, and beyond a pace that the operations share, is tested: see ``shared_pace``. The
    levels are corrected by Holm's method over all operations.

    Returns:
        One row per label, the largest change first: ``label``; ``count_a, count_b`` kernels
        and ``dur_a, dur_b`` ns per run on average; ``count_difference, difference`` B less A;
        ``change`` relative to A, NaN if absent there; ``pace``, the change that the operations
        share, relative to A, the same in all rows; ``p`` and ``p_holm``, NaN if not judged;
        ``significant``, True, False, or None where fewer than five runs don't allow a judgement.
    """
    labels = sorted({*a.label, *b.label})
    (dur_a, count_a), (dur_b, count_b) = a.per_label(labels), b.per_label(labels)
    frame = pd.DataFrame(
        {
            "label": pd.Series(labels, dtype=object),
            "count_a": _mean(count_a),
            "count_b": _mean(count_b),
            "dur_a": _mean(dur_a),
            "dur_b": _mean(dur_b),
        }
    )
    frame["count_difference"] = frame["count_b"] - frame["count_a"]
    frame["difference"] = frame["dur_b"] - frame["dur_a"]
    frame["change"] = frame["difference"] / frame["dur_a"].where(frame["dur_a"] > 0)
    rounding = max(resolution(a), resolution(b)) / 2 * frame[["count_a", "count_b"]].max(axis=1)
    _judge(frame, a.units(dur_a), b.units(dur_b), rounding.to_numpy(np.float64))
    order = np.lexsort((np.arange(len(frame)), -frame["difference"].abs().to_numpy()))
    return frame.iloc[order].reset_index(drop=True)


def _judge(frame: pd.DataFrame, series_a: Floats, series_b: Floats, rounding: Floats) -> None:
    """Adds ``pace``, ``p``, ``p_holm`` and ``significant``.

    Args:
        frame: the operations.
        series_a: shape ``(numbers, operations)``, their ns in the runs of A by number.
        series_b: the same of B.
        rounding: shape ``(operations,)``, ns by which the resolution may shift a mean.
    """
    judged = min(len(series_a), len(series_b)) >= JUDGED_RUNS
    frame["pace"] = 0.0
    frame["p"] = math.nan
    if judged:
        means = _means(series_a, series_b)
        none = np.zeros(len(frame))
        pace = shared_pace(frame, _levels(means, none, none))
        shift = CLOCK_REACH * pace * frame["dur_a"].to_numpy(np.float64)
        low, high = np.minimum(shift, 0) - rounding, np.maximum(shift, 0) + rounding
        frame["pace"], frame["p"] = pace, _levels(means, low, high)
    frame["p_holm"] = holm(frame["p"].to_numpy(np.float64))
    frame["significant"] = pd.Series(
        [bool(level < SIGNIFICANCE) if judged else None for level in frame["p_holm"]], dtype=object
    )


def shared_pace(frame: pd.DataFrame, levels: Floats) -> float:
    """The relative change that operations share, 0 if there is none.

    Where at least half of the operations, with half of the time, and two, change in one
    direction and by no more than a device's clock may change, it was the clock, temperature or
    power limit, and not each operation. Those that wait for memory follow the clock less, so
    that any change between none and somewhat more than the common one is explained by it.

    Args:
        frame: columns ``count_a, count_b, dur_a, change``.
        levels: shape ``(operations,)``, level of each change.
    """
    both = ((frame["count_a"] > 0) & (frame["count_b"] > 0)).to_numpy(bool)
    dur = frame["dur_a"].to_numpy(np.float64)
    change = frame["change"].to_numpy(np.float64)
    changed = both & (levels < SIGNIFICANCE)
    for direction in (-1, 1):
        along = changed & (direction * change > 0)
        if along.sum() >= max(2, both.sum() / 2) and 2 * dur[along].sum() >= dur[both].sum():
            pace = float(np.median(change[along]))
            return pace if abs(pace) <= CLOCK_RANGE else 0.0
    return 0.0


def resolution(side: RunSamples) -> int:
    """The ns that all durations are multiples of."""
    return int(np.gcd.reduce(side.dur)) if len(side.dur) else 0


def change_p(one: MeanEstimate, other: MeanEstimate, low: float = 0.0, high: float = 0.0) -> float:
    """Two-sided level of a t test that the means differ by no less and no more.

    Args:
        one: the first mean.
        other: the second.
        low: least difference, second less first, that needs no explanation.
        high: largest such difference.
    """
    difference = other.mean - one.mean
    beyond = max(difference - high, low - difference)
    # Sums of equal numbers differ in their last bits.
    if beyond <= 1e-9 * max(abs(one.mean), abs(other.mean)):
        return 1.0
    # Few runs may hide what spread there is; both builds are measured alike.
    wider = max(one, other, key=lambda side: side.spread)
    if wider.spread == 0:
        return 0.0
    error = math.sqrt(wider.spread * (1 / one.runs + 1 / other.runs))
    return two_sided_p(beyond / error, wider.freedom)


def holm(levels: Floats) -> Floats:
    """Levels corrected for their number (S. Holm, 1979); NaN stays and doesn't count."""
    corrected = np.full(len(levels), np.nan)
    known = np.flatnonzero(~np.isnan(levels))
    order = known[np.argsort(levels[known], kind="stable")]
    factors = len(known) - np.arange(len(known))
    corrected[order] = np.minimum(np.maximum.accumulate(levels[order] * factors), 1)
    return corrected


def _means(series_a: Floats, series_b: Floats) -> tuple[Means, Means]:
    """The means with the spread of batches, and with that of correlated neighbours."""
    operations = range(series_a.shape[1])
    likeness = correlations((series_a, series_b))
    sides = tuple(zip((series_a, series_b), likeness, strict=True))
    batched = [[batched_mean(series[:, at]) for at in operations] for series, _ in sides]
    drifting = [
        [drifting_mean(series[:, at], float(alike[at])) for at in operations]
        for series, alike in sides
    ]
    return [*zip(*batched, strict=True)], [*zip(*drifting, strict=True)]


def _levels(means: tuple[Means, ...], low: Floats, high: Floats) -> Floats:
    """Level of each operation, the less certain one of all ways to estimate its means."""
    highest = np.zeros(len(low))
    for way in means:
        levels = [
            change_p(one, other, float(least), float(most))
            for (one, other), least, most in zip(way, low, high, strict=True)
        ]
        highest = np.maximum(highest, levels)
    return highest


def _mean(table: Floats) -> Floats:
    mean: Floats = table.mean(axis=0) if len(table) else np.zeros(table.shape[1])
    return mean
