"""Which runs train, which set thresholds, and which are tested: disjoint, by the seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints

TRAIN, THRESHOLD = 0.5, 0.25
"""Shares of the runs; the rest is tested."""


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
    knows anything of the steps of another.

    Args:
        step: number of each run's step, -1 for a run in none, which is a step of its own.
        cell: kind of step that a run is judged within.
        seed: of the split.
    """
    alone = step < 0
    unit = np.where(alone, step.max(initial=0) + 1 + np.arange(len(step)), step)
    units, first, of = np.unique(unit, return_index=True, return_inverse=True)
    kind = cell[first].astype(str)
    part = np.zeros(len(units), np.int64)
    rng = np.random.default_rng([seed, 1])
    for name in np.unique(kind).tolist():
        own = rng.permutation(np.flatnonzero(kind == name))
        bounds = np.rint(np.array([TRAIN, TRAIN + THRESHOLD]) * len(own)).astype(np.int64)
        part[own[bounds[0] :]] = 1
        part[own[bounds[1] :]] = 2
    row = part[of.ravel()]
    train, threshold, test = (np.flatnonzero(row == number) for number in range(3))
    return Split(train, threshold, test)
