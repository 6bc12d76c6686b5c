"""What is normal at each position and channel, and how far normal runs spread around it.

Times are centred on the median and divided by the spread, robust ones, as times have heavy
tails. The median is that of the other runs of the same step (its *siblings*, say the other
layers), which have the same load; where there are too few, that of runs in steps of the same
size. A place in the step with a normal of its own (the first layer, a layer whose experts are
busier) is allowed for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.limits import (
    DISTINCT,
    FINEST,
    LEAST_PER_ORDINAL,
    LEAST_RUNS,
    LEAST_SIBLINGS,
    WIDER,
)
from perfetto_autoviz.steps.anomalies.medians import MAD_TO_SIGMA, median
from perfetto_autoviz.steps.anomalies.runs import Bools
from perfetto_autoviz.steps.anomalies.values import RunSet, Singles
from perfetto_autoviz.steps.intervals import Ints

Floats = NDArray[np.float64]

MEDIAN_ERROR = 1.2533
"""Standard error of a median in units of that of a mean."""


@dataclass(frozen=True)
class Scaling:
    """Medians and spreads of log1p(µs), fitted on training runs.

    Attributes:
        medians: by group, shape ``(channels, positions)``; of groups with enough runs.
        spread: by cell, shape ``(channels, positions)``.
        ordinals: by cell, the places in a step that have a normal of their own.
        offset: by cell, shape ``(ordinals, channels, positions)``: what to add to the median.
        own_spread: by cell, same shape: the spread there.
    """

    medians: dict[str, Singles]
    spread: dict[str, Singles]
    ordinals: dict[str, Ints]
    offset: dict[str, Singles]
    own_spread: dict[str, Singles]


@dataclass(frozen=True)
class Scaled:
    """Runs in units of the normal spread.

    Attributes:
        z: shape ``(runs, channels, positions)``, 0 where ``there`` is False.
        there: where there is a time in a run that can be judged.
        normal: the median there in log1p(µs), same shape.
        spread: the spread there in log1p(µs), same shape.
        known: whether the run's normal is known, shape ``(runs,)``.
    """

    z: Singles
    there: Bools
    normal: Singles
    spread: Singles
    known: Bools

    def times(self, row: int) -> Floats:
        """Times of a run in ns, shape ``(channels, positions)``."""
        return _nanoseconds(self.normal[row] + self.z[row] * self.spread[row])

    def rebuilt_times(self, row: int, z: Singles) -> Floats:
        """Reconstructed times of a run in ns from those in units of the normal spread."""
        return _nanoseconds(self.normal[row] + z * self.spread[row])

    def normal_times(self, row: int) -> Floats:
        """Normal times there in ns, same shape."""
        return _nanoseconds(self.normal[row])

    def time(self, row: int, channel: int, position: int) -> tuple[float, float]:
        """Normal time in ns at one place, and its spread."""
        normal, spread = (part[row, channel, position] for part in (self.normal, self.spread))
        middle = float(_nanoseconds(normal))
        return middle, float(_nanoseconds(normal + spread)) - middle


def fit_scaling(runs: RunSet, train: Ints) -> Scaling:
    """Fits medians and spreads.

    Args:
        runs: the runs.
        train: rows to fit on. The siblings of a run may be others of its step.
    """
    medians = {
        str(group): median(runs.values[rows], runs.there[rows])
        for group, rows in _by_name(runs.group, train)
        if len(rows) >= LEAST_RUNS
    }
    normal, known = _normal(runs, medians)
    rest = runs.values - normal
    spread, ordinals, offset, own_spread = {}, {}, {}, {}
    for cell, rows in _by_name(runs.cell, train[known[train]]):
        name = str(cell)
        place, offset[name] = _offsets(runs, rest, rows)
        ordinals[name] = place
        # What belongs to a place is no spread of the others.
        left = rest[rows] - _of_place(offset[name], place, runs.matrix.ordinal[rows])
        spread[name] = robust_spread(left, runs.there[rows])
        own_spread[name] = _own_spreads(runs, left, rows, place, spread[name])
    return Scaling(medians, spread, ordinals, offset, own_spread)


def scale(scaling: Scaling, runs: RunSet) -> Scaled:
    """Runs in units of the normal spread."""
    normal, known = _normal(runs, scaling.medians)
    spread = np.ones_like(normal)
    for cell, rows in _by_name(runs.cell, np.arange(len(runs))):
        name, ordinal = str(cell), runs.matrix.ordinal[rows]
        if name not in scaling.spread:
            known[rows] = False
            continue
        place = scaling.ordinals[name]
        normal[rows] += _of_place(scaling.offset[name], place, ordinal)
        spread[rows] = _of_place(scaling.own_spread[name], place, ordinal, scaling.spread[name])
    there = runs.there & known[:, None, None]
    z = np.where(there, (runs.values - normal) / spread, np.float32(0))
    return Scaled(z.astype(np.float32), there, normal, spread, known)


def robust_spread(values: Singles, there: Bools) -> Singles:
    """Spread of each channel and position around 0, of values of shape ``(runs, …)``.

    For a normal distribution with rare outliers it is its standard deviation. Where values
    have two modes it is at least half of their standard deviation, which the median absolute
    deviation alone may miss.
    """
    if not len(values):
        return np.full(values.shape[1:], FINEST, np.float32)
    count = there.sum(axis=0)
    middle = MAD_TO_SIGMA * median(np.abs(values), there)
    square = np.where(there, values, 0).astype(np.float64) ** 2
    deviation = np.sqrt(square.sum(axis=0) / np.maximum(count, 1))
    spread: Singles = np.maximum(np.maximum(middle, deviation / 2), FINEST).astype(np.float32)
    return spread


def _nanoseconds(log: Singles | np.float32) -> Floats:
    return np.asarray(np.expm1(np.asarray(log, np.float64)) * 1_000)


def _normal(runs: RunSet, medians: dict[str, Singles]) -> tuple[Singles, Bools]:
    """Median at each position for each run, and whether it is known."""
    normal = np.zeros_like(runs.values)
    known = np.zeros(len(runs), bool)
    for group, rows in _by_name(runs.group, np.arange(len(runs))):
        if group in medians:
            normal[rows], known[rows] = medians[str(group)], True
    order = np.argsort(runs.step, kind="stable")
    bounds = np.flatnonzero(np.diff(runs.step[order], prepend=-2, append=np.iinfo(np.int64).max))
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[start:stop]
        reference = rows[runs.normal[rows]]
        # A step of which most runs are beyond the bounds has another load than its group.
        if len(reference) < max(LEAST_SIBLINGS, len(rows) / 2):
            reference = rows
        if runs.step[rows[0]] >= 0 and len(reference) >= LEAST_SIBLINGS:
            normal[rows] = median(runs.values[reference], runs.there[reference])
            known[rows] = True
    return normal, known


def _offsets(runs: RunSet, rest: Singles, rows: Ints) -> tuple[Ints, Singles]:
    """Places in a step with enough runs, and how far each is from the median of all."""
    ordinal = runs.matrix.ordinal[rows]
    places, count = np.unique(ordinal[ordinal >= 0], return_counts=True)
    places = places[count >= LEAST_PER_ORDINAL]
    shape = (len(places), *rest.shape[1:])
    if len(places) < 2:
        return places[:0], np.zeros((0, *shape[1:]), np.float32)
    found, error = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for index, place in enumerate(places.tolist()):
        own = rows[ordinal == place]
        found[index] = median(rest[own], runs.there[own])
        left = rest[own] - found[index]
        error[index] = MEDIAN_ERROR * robust_spread(left, runs.there[own]) / np.sqrt(len(own))
    return places, _shrunk(found, error)


def _shrunk(found: Singles, error: Singles) -> Singles:
    """Offsets as large as they are likely to be, given their errors (James and Stein)."""
    noise = np.median(error, axis=0) ** 2
    whole = (MAD_TO_SIGMA * np.median(np.abs(found), axis=0)) ** 2
    share = np.clip(1 - noise / np.maximum(whole, 1e-12), 0, 1)
    return np.where(np.abs(found) > DISTINCT * error, found, share * found).astype(np.float32)


def _own_spreads(runs: RunSet, left: Singles, rows: Ints, places: Ints, spread: Singles) -> Singles:
    ordinal = runs.matrix.ordinal[rows]
    own = np.empty((len(places), *spread.shape), np.float32)
    for index, place in enumerate(places.tolist()):
        mine = ordinal == place
        there = robust_spread(left[mine], runs.there[rows[mine]])
        own[index] = np.where(there > WIDER * spread, there, spread)
    return own


def _of_place(
    table: Singles, places: Ints, ordinal: Ints, otherwise: Singles | None = None
) -> Singles:
    """Rows of a table by place in the step; 0, or what is given, for other places."""
    usual = np.zeros(table.shape[1:], np.float32) if otherwise is None else otherwise
    whole = np.concatenate([table, usual[None]])
    at = np.searchsorted(places, ordinal)
    at = np.where(np.append(places, -2)[at] == ordinal, at, len(places))
    return whole[at]


def _by_name(names: np.ndarray, rows: Ints) -> list[tuple[str, Ints]]:
    """Rows by their name, in the order of the names."""
    distinct, code = np.unique(names[rows].astype(str), return_inverse=True)
    return [(str(name), rows[code == index]) for index, name in enumerate(distinct.tolist())]
