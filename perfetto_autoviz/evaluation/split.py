"""Which runs train, which set thresholds, and which are tested: disjoint, by the seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints

TRAIN, THRESHOLD = 0.5, 0.25
"""Shares of the runs; the rest is tested."""

LEAST_STEPS = 8
"""Steps of a kind that can be split as a whole: two of them are tested then."""


@dataclass(frozen=True)
class Split:
    """Rows of runs by what they are for, each ascending.

    Attributes:
        train: what is normal is learned from these.
        threshold: thresholds are set on these.
        test: false alarms are counted on these, and anomalies injected into them.
    """

    train: Ints
    threshold: Ints
    test: Ints


def split_runs(step: Ints, cell: NDArray[np.object_], seed: int) -> Split:
    """Splits runs at random, each kind of step by itself.

    Runs of one step have its load in common: they all go to the same part, so that no part
    knows anything of the steps of another. Only where there are too few steps, as in a capture
    of a single one, the runs of a step are parted.

    Args:
        step: number of each run's step, -1 for a run in none, which is a step of its own.
        cell: kind of step that a run is judged within.
        seed: of the split.
    """
    kinds = cell.astype(str)
    part = np.zeros(len(step), np.int64)
    rng = np.random.default_rng([seed, 1])
    for name in np.unique(kinds).tolist():
        own = np.flatnonzero(kinds == name)
        unit = _units(step[own])
        order = rng.permutation(int(unit.max()) + 1)
        bounds = np.rint(np.array([TRAIN, TRAIN + THRESHOLD]) * len(order))
        part[own] = np.searchsorted(bounds, order[unit], side="right")
    train, threshold, test = (np.flatnonzero(part == number) for number in range(3))
    return Split(train, threshold, test)


def _units(step: Ints) -> Ints:
    """What stays together: steps, or single runs where there are too few of those."""
    steps, unit = np.unique(step, return_inverse=True)
    if len(steps) < LEAST_STEPS:
        return np.arange(len(step))
    alone = step < 0
    unit = np.where(alone, len(steps) + np.cumsum(alone), unit.ravel())
    return np.asarray(np.unique(unit, return_inverse=True)[1].ravel(), np.int64)
