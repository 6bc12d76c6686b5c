"""Three scores of a run, which see different things.

``kernel``    the largest standardised error of any position and channel: one extreme kernel
``drift``     a signed, robust mean over the run: everything a little slower or faster
``sequence``  how unusual the operations and their order are
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.limits import (
    DRIFT_LIMIT,
    IDLE_TOLERANCE,
    LAYER_LENGTH,
    LEAST_REACH,
    LONG_TOLERANCE,
    RATE,
    TOLERANCE,
)
from perfetto_autoviz.steps.anomalies.runs import RunMatrix
from perfetto_autoviz.steps.anomalies.scaling import Scaled, robust_spread
from perfetto_autoviz.steps.anomalies.values import RunSet, Singles
from perfetto_autoviz.steps.intervals import Ints

TESTS = ("kernel", "drift", "sequence")
"""The scores in their order."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """The scores of runs.

    Attributes:
        table: shape ``(runs, tests)``, never negative.
        drift: the drift with its sign, positive if slower; shape ``(runs,)``.
        error: standardised error, signed, shape ``(runs, channels, positions)``.
    """

    table: Floats
    drift: Floats
    error: Singles

    def culprits(self) -> tuple[Ints, Ints]:
        """Channel and position of the largest error of each run."""
        flat = np.abs(self.error).reshape(len(self.error), -1)
        at = flat.argmax(axis=1) if flat.shape[1] else np.zeros(len(flat), np.int64)
        channel, position = np.divmod(at, max(self.error.shape[2], 1))
        return channel.astype(np.int64), position.astype(np.int64)


@dataclass(frozen=True)
class Usual:
    """What the scores of a cell compare with, fitted on training runs.

    Attributes:
        error_spread: spread of the error in units of the scaling's, shape
            ``(channels, positions)``.
        idle_weight: what errors of idle times count, at most 1.
        drift_spread: spread of the drift over runs.
        odd: share of runs in which something else ran than usually at this place of a step,
            shape ``(positions,)``.
        extra: by operation the share of runs with such an activity beside the pattern.
        count: number of training runs.
    """

    error_spread: Singles
    idle_weight: float
    drift_spread: float
    odd: Floats
    extra: dict[str, float]
    count: int


def fit_usual(runs: RunSet, scaled: Scaled, error: Singles) -> Usual:
    """What is usual in the training runs of one cell.

    Args:
        runs: the runs.
        scaled: the same runs in units of the normal spread.
        error: what the network left of them.
    """
    drift, matrix = raw_drift(scaled), runs.matrix
    runs_with = Counter(op for _, op in set(_extra_ops(matrix)))
    return Usual(
        error_spread=robust_spread(error, scaled.there),
        idle_weight=1.0,
        drift_spread=max(float(np.sqrt(np.mean(drift**2))), 1e-3) if len(drift) else 1.0,
        odd=(matrix.ran != runs.expected).mean(axis=0),
        extra={op: runs_with[op] / len(matrix) for op in sorted(runs_with)},
        count=len(matrix),
    )


def score(usual: Usual, runs: RunSet, scaled: Scaled, error: Singles) -> Scores:
    """Scores the runs of one cell; arguments as of `fit_usual`."""
    # Without the tolerance, the unit would make much of what is little.
    unit = np.hypot(usual.error_spread, _tolerance(scaled.normal) / scaled.spread)
    standard = np.where(scaled.there, error / unit, 0).astype(np.float32)
    standard[:, 1] *= usual.idle_weight
    drift = raw_drift(scaled) / usual.drift_spread
    largest = np.abs(standard).reshape(len(standard), -1).max(axis=1, initial=0)
    table = np.stack([largest, np.abs(drift), sequence_scores(usual, runs)], axis=1)
    return Scores(table.astype(np.float64), drift, standard)


def weighted(usual: Usual, training: Scores) -> Usual:
    """With a weight by which idle times reach no farther than run times.

    Where the host decides how long a device idles, normal idle times differ so much that any
    threshold for them would hide what happens to run times.

    Args:
        usual: with the weight 1.
        training: scores of training runs by that.
    """
    if not training.error.size:
        return usual
    run, idle = (
        float(np.quantile(np.abs(channel).max(axis=1), 1 - RATE))
        for channel in np.moveaxis(training.error, 1, 0)
    )
    return replace(usual, idle_weight=min(max(run, LEAST_REACH) / max(idle, LEAST_REACH), 1.0))


def _tolerance(normal: Singles) -> Singles:
    """What both channels may differ by, in log1p(µs), shape ``(runs, channels, positions)``."""
    tolerance = np.full_like(normal, IDLE_TOLERANCE)
    share = TOLERANCE if normal.shape[2] <= LAYER_LENGTH else LONG_TOLERANCE
    tolerance[:, 0] = share * _moved(normal[:, 0])
    return tolerance


def _moved(normal: Singles) -> Singles:
    """How far log1p of a time moves by a small change of the time's log.

    Args:
        normal: log1p of the time in µs.
    """
    return np.asarray(1 - np.exp(-normal), np.float32)


def raw_drift(scaled: Scaled) -> Floats:
    """How much slower a run is as a whole.

    Each kernel counts by how far a slow-down by the same factor would move it: steady ones
    tell more than noisy ones, and long ones more than those a clock can hardly resolve.
    """
    there = scaled.there[:, 0]
    z = np.clip(scaled.z[:, 0], -DRIFT_LIMIT, DRIFT_LIMIT)
    weight = np.where(there, _moved(scaled.normal[:, 0]) / scaled.spread[:, 0], 0).astype(
        np.float64
    )
    total = np.sqrt((weight**2).sum(axis=1))
    return np.asarray((weight * z).sum(axis=1) / np.maximum(total, 1e-9), np.float64)


def sequence_scores(usual: Usual, runs: RunSet) -> Floats:
    """How unlikely the operations of each run are, as minus the log of the share of runs.

    Positions are taken as independent; what never happened in n runs counts as happening
    once in 2 (n + 1).
    """
    odd = runs.matrix.ran != runs.expected
    found = np.where(odd, _cost(usual.odd, usual.count), 0.0).sum(axis=1)
    for row, op in _extra_ops(runs.matrix):
        found[row] += float(_cost(np.array(usual.extra.get(op, 0.0)), usual.count))
    # Sums of the same terms must be equal whatever their order.
    return np.asarray(np.round(found, 6), np.float64)


def _cost(share: Floats, count: int) -> Floats:
    return np.asarray(-np.log((share * count + 0.5) / (count + 1)), np.float64)


def _extra_ops(matrix: RunMatrix) -> list[tuple[int, str]]:
    ops = matrix.kernels.ops[matrix.kernels.op[matrix.extra_kernel]]
    return list(zip(matrix.extra_run.tolist(), ops.tolist(), strict=True))
