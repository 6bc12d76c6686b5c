"""Which rank is late in a run that all ranks have.

Clocks of ranks aren't aligned, so durations are compared. In collectives ranks wait for one
another: who is late is not who takes longest, but who works longest outside of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.groups import Groups
from perfetto_autoviz.steps.anomalies.limits import (
    LATE_SHARE,
    LATE_SIGMAS,
    LEAST_RUNS,
)
from perfetto_autoviz.steps.anomalies.medians import MAD_TO_SIGMA
from perfetto_autoviz.steps.anomalies.runs import Bools, RunMatrix
from perfetto_autoviz.steps.intervals import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lateness:
    """How late each rank is in each run of one pattern; matrices have shape (ranks, runs).

    Attributes:
        ranks: the ranks, shape ``(ranks,)``.
        number: number of each run, the same on all ranks, shape ``(runs,)``.
        late: ns that a rank works longer than the median of all ranks.
        usual: what that usually is in runs of the same kind.
        work: ns that it works: the run without its collectives.
        wait: ns that the other ranks are longer in collectives, by their median.
        straggles: whether a rank is the latest, and unusually late.
    """

    ranks: Ints
    number: Ints
    late: Floats
    usual: Floats
    work: Floats
    wait: Floats
    straggles: Bools


def lateness(matrix: RunMatrix, groups: Groups, collective: Bools) -> Lateness | None:
    """Compares the ranks of one pattern.

    Args:
        matrix: its runs on all ranks.
        groups: of all runs; runs of different kinds on different ranks are not compared.
        collective: whether each of the kernels of all ranks is a collective.

    Returns:
        None unless several ranks have the same runs.
    """
    ranks = np.unique(matrix.rank)
    if len(ranks) < 2:
        return None
    where = np.stack([_rows(matrix, rank) for rank in ranks.tolist()], axis=0)
    kind = groups.kind[groups.of[matrix.run]]
    same = (where >= 0).all(axis=0) & (kind[where] == kind[where[:1]]).all(axis=0)
    where = where[:, same]
    if where.shape[1] < LEAST_RUNS:
        return None
    shared = _collective_times(matrix, collective)[where]
    work = matrix.dur[where] - shared
    late = work - np.median(work, axis=0)
    usual, least = _usual(late, work, kind[where[0]])
    latest = late == late.max(axis=0)
    others = (shared.sum(axis=0) - shared) / (len(ranks) - 1)
    return Lateness(
        ranks,
        np.flatnonzero(same),
        late,
        usual,
        work.astype(np.float64),
        np.asarray(others - shared, np.float64),
        np.asarray(latest & (late - usual > least), bool),
    )


def _usual(late: Floats, work: Ints, kind: Ints) -> tuple[Floats, Floats]:
    """Usual lateness in runs of the same kind, and how much more of it is unusual."""
    usual, least = np.zeros_like(late), np.full_like(late, np.inf)
    for one in np.unique(kind).tolist():
        own = np.flatnonzero(kind == one)
        if len(own) < LEAST_RUNS:
            continue
        middle = np.median(late[:, own], axis=1, keepdims=True)
        spread = MAD_TO_SIGMA * np.median(np.abs(late[:, own] - middle), axis=1, keepdims=True)
        usual[:, own] = middle
        least[:, own] = np.maximum(LATE_SIGMAS * spread, LATE_SHARE * np.median(work[:, own]))
    return usual, least


def _rows(matrix: RunMatrix, rank: int) -> Ints:
    """Row of each run number on a rank, -1 where it has none."""
    row = np.full(int(matrix.number.max()) + 1, -1, np.int64)
    own = np.flatnonzero(matrix.rank == rank)
    row[matrix.number[own]] = own
    return row


def _collective_times(matrix: RunMatrix, collective: Bools) -> Ints:
    """Time in ns that each run spends in collectives."""
    there = (matrix.kernel >= 0) & collective[matrix.kernel]
    placed = np.where(there, matrix.kernels.dur[matrix.kernel], 0).sum(axis=1)
    extra = np.where(collective[matrix.extra_kernel], matrix.kernels.dur[matrix.extra_kernel], 0)
    unplaced = np.bincount(matrix.extra_run, extra, len(matrix))
    return np.asarray(placed + unplaced, np.int64)
