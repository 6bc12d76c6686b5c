"""Loops of which no two copies in a row are equal: each step casts its output by another kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.limits import (
    CERTAIN_COPIES,
    SMALLEST_TOLERANT,
    TOLERANCE,
    UNCHANGED,
    allowed_edits,
)
from perfetto_autoviz.steps.patterns.line import Line
from perfetto_autoviz.steps.patterns.rotation import copy_starts
from perfetto_autoviz.steps.patterns.substrings import Stretches, next_distance

Ints = NDArray[np.int64]


def almost_periodic(
    line: Line, costs: Costs, names: dict[int, Index], enough: float
) -> Stretches | None:
    """The longest stretch of at least three copies that are equal but for a little.

    Only swapped items are looked for: copies of different lengths have no period in common.

    Args:
        line: the sequence.
        costs: what edits cost.
        names: names of substrings; the usual period of four to eight times the longest is tried.
        enough: equal items that chance does not explain.
    """
    length = max(names)
    period = _usual(next_distance(names[length]), length * UNCHANGED, 2 * length * UNCHANGED)
    if period < SMALLEST_TOLERANT or period - 2 * allowed_edits(period) < enough:
        return None
    first, stop = _longest(_alike(line, costs, period))
    again = names[length][: -period or None] == names[length][period:]
    equal = first + np.flatnonzero(again[first : max(stop + period - length, first)])
    if not len(equal):
        return None
    start, stop = int(equal[0]), int(equal[-1]) + length + period
    if stop - start < CERTAIN_COPIES * period - allowed_edits(period):
        return None
    return _stretch(start, stop, period)


def typical_copy(line: Line, found: Stretches, phase: int) -> Stretches:
    """The copy of an almost periodic stretch that is most like the others.

    Args:
        line: the sequence.
        found: the stretch.
        phase: where in its period copies start.
    """
    period = int(found.period[0])
    starts = copy_starts(found, phase)
    # A copy at either end that differs in its first or last kernel is not in the stretch.
    starts = np.concatenate([starts[:1] - period, starts, starts[-1:] + period])
    starts = starts[(starts >= 0) & (starts <= len(line) - period)]
    table = line.symbol[starts[:, None] + np.arange(period)]
    like = [np.sum(table == row) for row in table]
    start = int(starts[int(np.argmax(like))])
    return _stretch(start, start + period, period)


def _stretch(start: int, stop: int, period: int) -> Stretches:
    columns = (np.array([value], dtype=np.int64) for value in (start, stop, period, 0, start))
    return Stretches(*columns)


def _usual(distance: Index, low: int, high: int) -> int:
    """The most frequent distance from ``low`` to below ``high``, 0 if it isn't frequent."""
    counts = np.bincount(distance[(distance >= low) & (distance < high)], minlength=1)
    period = int(counts.argmax())
    # Damage anywhere hides a quarter of a copy's substrings beside it.
    return period if 2 * counts[period] >= (CERTAIN_COPIES - 1) * period else 0


def _alike(line: Line, costs: Costs, period: int) -> NDArray[np.bool_]:
    """Whether the period from each item on differs but little from the next one."""
    here, there = line.symbol[:-period], line.symbol[period:]
    odd = here != there
    edits = np.zeros(len(here), dtype=np.int64)
    if odd.any():
        pairs, which = np.unique(np.stack([here[odd], there[odd]]), axis=1, return_inverse=True)
        edits[odd] = np.array([_swap(costs, *pair) for pair in pairs.T.tolist()])[which.ravel()]
    kernels = np.where(here < 0, 0, costs.of(np.maximum(here, 0)))
    alike: NDArray[np.bool_] = (_sums(odd, period) <= allowed_edits(period)) & (
        _sums(edits, period) <= TOLERANCE * _sums(kernels, period)
    )
    return alike


def _swap(costs: Costs, one: int, other: int) -> int:
    if min(one, other) < 0:
        return int(costs.weight.sum())  # No copy reaches from track to track.
    if min(one, other) >= costs.base:
        return costs.distance(one, other)
    return int(max(costs.weight[one], costs.weight[other]))


def _sums(values: NDArray[np.integer | np.bool_], size: int) -> Ints:
    """Sums over each window of a size."""
    until = np.concatenate([[0], np.cumsum(values)])
    return np.asarray(until[size:] - until[:-size], dtype=np.int64)


def _longest(marked: NDArray[np.bool_]) -> tuple[int, int]:
    """First item and one past the last of the longest stretch of marked ones."""
    edge = np.flatnonzero(np.diff(marked, prepend=False, append=False))
    first, stop = edge[::2], edge[1::2]
    if not len(first):
        return 0, 0
    longest = int(np.argmax(stop - first))
    return int(first[longest]), int(stop[longest])
