"""The baseline: a run whose duration lies beyond two standard deviations of its group's mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.groups import Groups
from perfetto_autoviz.steps.anomalies.limits import LEAST_RUNS, SIGMAS
from perfetto_autoviz.steps.anomalies.places import RunTable
from perfetto_autoviz.steps.anomalies.runs import Bools
from perfetto_autoviz.steps.intervals import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Baseline:
    """What the baseline says; times in ns.

    Attributes:
        mean: mean duration of each group, shape ``(groups,)``, as all of groups.
        std: standard deviation of each group.
        judged: whether a group has enough runs.
        side: of each run, shape ``(runs,)``: 1 if slow, -1 if fast, 0 if within the bounds
            or not judged.
        sigmas: distance of each run from its group's mean in standard deviations; 0 where
            not judged.
        median: of each group, the median duration of the runs within the bounds.
    """

    mean: Floats
    std: Floats
    judged: Bools
    side: Ints
    sigmas: Floats
    median: Floats

    @property
    def normal(self) -> Bools:
        """Runs within the bounds, and all runs of groups that are not judged; by run."""
        return np.asarray(self.side == 0, bool)


def baseline(runs: RunTable, groups: Groups) -> Baseline:
    """Judges each run by its duration within its group."""
    dur, of = runs.dur.astype(np.float64), groups.of
    count = np.maximum(groups.count, 1)
    mean = np.bincount(of, dur, len(groups)) / count
    rest = dur - mean[of] if len(of) else dur
    std = np.sqrt(np.bincount(of, rest**2, len(groups)) / count)
    judged = groups.count >= LEAST_RUNS
    there = judged[of] & (std[of] > 0)
    sigmas = np.where(there, rest / np.where(std[of] > 0, std[of], 1), 0.0)
    side = np.where(np.abs(sigmas) > SIGMAS, np.sign(sigmas), 0).astype(np.int64)
    return Baseline(mean, std, judged, side, sigmas, _medians(dur, of, side == 0, len(groups)))


def _medians(dur: Floats, of: Ints, chosen: Bools, groups: int) -> Floats:
    order = np.lexsort((dur, of))
    order = order[chosen[order]]
    count = np.bincount(of[order], minlength=groups)
    first = np.cumsum(count) - count
    median = np.zeros(groups)
    some = count > 0
    low, high = first + np.maximum(count - 1, 0) // 2, first + count // 2
    median[some] = (dur[order[low[some]]] + dur[order[np.minimum(high[some], len(order) - 1)]]) / 2
    return median
