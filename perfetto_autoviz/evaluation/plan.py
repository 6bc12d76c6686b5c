"""Which anomaly is injected where: drawn at random, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.synth.anomaly_kinds import SWAP_APART, Kind

NONE = -1
"""Stands for no activity."""

COLLECTIVE = "communication"
"""Family of the kernels that may be a slow collective."""

SMALLEST_RUN = 3
"""Activities of the smallest run that may lose one: of two, half the run would be missing."""


@dataclass(frozen=True)
class Target:
    """A run that may get an anomaly.

    Attributes:
        rank: its rank.
        run: its id among the runs of the clean capture.
        kernels: numbers of its activities on the rank, ascending, so in order of time.
    """

    rank: int
    run: int
    kernels: Ints


@dataclass(frozen=True)
class Plan:
    """One anomaly to inject.

    Attributes:
        kind: what it is.
        target: the run that gets it.
        at: number of the activity concerned: that grows, waits, is missing, changes places with
            a later one, or is followed by the extra one; ``NONE`` for a drift.
        other: the later activity of a swap, the one that is copied for an extra one; else
            ``NONE``.
    """

    kind: Kind
    target: Target
    at: int
    other: int = NONE


@dataclass(frozen=True)
class Work:
    """What drawing needs to know of a rank's activities; arrays of shape ``(kernels,)``.

    Attributes:
        stream: code of the stream, different on each device.
        op: code of the operation.
        family: coarse class.
    """

    stream: Ints
    op: Ints
    family: NDArray[np.object_]

    @classmethod
    def of(cls, activities: pd.DataFrame) -> Work:
        """From the frame of ``_autoviz_activity``, sorted by ``seq``."""
        places = activities[["device", "stream"]].fillna(-1)
        stream: Ints = np.asarray(
            places.groupby(["device", "stream"], sort=True).ngroup(), np.int64
        )
        op: Ints = np.asarray(pd.factorize(activities["op"].fillna(""))[0], np.int64)
        return cls(stream, op, activities["family"].fillna("other").to_numpy(object))


def draw(kind: Kind, target: Target, work: Work, rng: np.random.Generator) -> Plan | None:
    """Chooses the activity of a run that an anomaly happens to, each equally likely.

    Returns:
        None where the run has no place for one of that kind.
    """
    if kind == "drift":
        return Plan(kind, target, NONE)
    pairs = _PLACES[kind](target.kernels, work)
    if not len(pairs):
        return None
    at, other = pairs[int(rng.integers(len(pairs)))].tolist()
    if kind == "extra":
        other = _copied(target.kernels, at, other, work, rng)
        if other == NONE:
            return None
    return Plan(kind, target, at, other)


def _any(kernels: Ints, _work: Work) -> Ints:
    return _alone(kernels)


def _but_first(kernels: Ints, _work: Work) -> Ints:
    """What lies before the first activity is between two runs, and part of neither."""
    return _alone(kernels[1:])


def _collectives(kernels: Ints, work: Work) -> Ints:
    return _alone(kernels[work.family[kernels] == COLLECTIVE])


def _removable(kernels: Ints, _work: Work) -> Ints:
    return _alone(kernels if len(kernels) >= SMALLEST_RUN else kernels[:0])


def _swappable(kernels: Ints, work: Work) -> Ints:
    """Activities of different operations, some places apart on one stream."""
    pairs = _neighbours(kernels, work, SWAP_APART)
    return np.asarray(pairs[work.op[pairs[:, 0]] != work.op[pairs[:, 1]]])


def _followed(kernels: Ints, work: Work) -> Ints:
    """Activities with the next one on their stream: an extra one between is inside the run."""
    return _neighbours(kernels, work, 1)


_PLACES: Mapping[Kind, Callable[[Ints, Work], Ints]] = {
    "spike": _any,
    "stall": _but_first,
    "swap": _swappable,
    "missing": _removable,
    "extra": _followed,
    "slow_collective": _collectives,
}


def _copied(kernels: Ints, at: int, following: int, work: Work, rng: np.random.Generator) -> int:
    """An activity of the run that runs once more behind ``at``.

    It differs from both neighbours there, so that only one activity can be the extra one.
    """
    op = work.op[kernels]
    kernels = kernels[(op != work.op[at]) & (op != work.op[following])]
    return int(rng.choice(kernels)) if len(kernels) else NONE


def _alone(kernels: Ints) -> Ints:
    return np.stack([kernels, np.full(len(kernels), NONE)], axis=1)


def _neighbours(kernels: Ints, work: Work, apart: int) -> Ints:
    """Pairs of activities so many places apart on their stream, shape ``(pairs, 2)``."""
    by_stream = kernels[np.argsort(work.stream[kernels], kind="stable")]
    first, second = by_stream[:-apart], by_stream[apart:]
    same = work.stream[first] == work.stream[second]
    return np.stack([first[same], second[same]], axis=1)
