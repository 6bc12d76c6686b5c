"""What usually runs in the place of a pattern's operation, and so is nothing odd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.limits import LEAST_PER_ORDINAL
from perfetto_autoviz.steps.intervals import Ints

Bools = NDArray[np.bool_]


def usual_others(kernel: NDArray[np.int32], swapped: Bools, ordinal: Ints, op: Ints) -> Bools:
    """Where the same other operation runs at the same place of most steps.

    The first layer of many models starts with another norm. It is timed like all that runs.

    Args:
        kernel: activity at each position of each run, shape ``(runs, positions)``.
        swapped: where another operation runs than the pattern has, same shape.
        ordinal: number of each run in the run around it, shape ``(runs,)``.
        op: operation of each activity.
    """
    usual = np.zeros_like(swapped)
    for place in np.unique(ordinal[swapped.any(axis=1)]).tolist():
        rows = np.flatnonzero(ordinal == place)
        often = 2 * swapped[rows].sum(axis=0) >= len(rows)
        if len(rows) < LEAST_PER_ORDINAL or not often.any():
            continue
        for position in np.flatnonzero(often).tolist():
            own = rows[swapped[rows, position]]
            _, code, count = np.unique(
                op[kernel[own, position]], return_inverse=True, return_counts=True
            )
            if 2 * count.max() >= len(rows):
                usual[own[code.ravel() == count.argmax()], position] = True
    return usual
