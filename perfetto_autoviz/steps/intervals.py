"""Interval arithmetic over arrays, in integer nanoseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def union_by_group(group: Ints, ts: Ints, dur: Ints, groups: int) -> Ints:
    """Time in which at least one interval of a group runs.

    Args:
        group: shape (n,), group of each interval, from 0 to ``groups`` - 1.
        ts: shape (n,), starts in ns.
        dur: shape (n,), durations in ns.
        groups: number of groups.

    Returns:
        Shape (groups,), the length in ns of each group's union.
    """
    if len(group) == 0:
        return np.zeros(groups, np.int64)
    order = np.lexsort((ts, group))
    group, start = group[order], ts[order] - ts.min()
    # Groups are laid out one after the other on one axis, so that one running maximum
    # serves all of them.
    start = start + group * (int((start + dur[order]).max()) + 1)
    end = start + dur[order]
    earlier_end = np.concatenate(([start[0]], np.maximum.accumulate(end)[:-1]))
    gain = np.maximum(end - np.maximum(start, earlier_end), 0)
    return np.bincount(group, gain, groups).astype(np.int64)


def span_by_group(group: Ints, ts: Ints, dur: Ints, groups: int) -> tuple[Ints, Ints, Ints]:
    """First start, last end and number of the intervals of each group.

    Groups without intervals have number 0, and a start and an end without meaning.
    """
    first = np.full(groups, np.iinfo(np.int64).max)
    last = np.full(groups, np.iinfo(np.int64).min)
    np.minimum.at(first, group, ts)
    np.maximum.at(last, group, ts + dur)
    return first, last, np.bincount(group, minlength=groups).astype(np.int64)


def containing(starts: Ints, ends: Ints, times: Ints) -> Ints:
    """Which span each time lies in, the latest to start where several do.

    Args:
        starts: shape (m,), sorted.
        ends: shape (m,), exclusive.
        times: shape (n,).

    Returns:
        Shape (n,), index into ``starts``, -1 for a time in no span. Of spans that
        contain each other only the innermost is looked at.
    """
    if len(starts) == 0:
        return np.full(len(times), -1)
    index = np.searchsorted(starts, times, side="right") - 1
    inside = (index >= 0) & (times < ends[np.maximum(index, 0)])
    return np.where(inside, index, -1)


def runs(values: NDArray[Any]) -> tuple[Ints, Ints]:
    """Start and length of each stretch of equal values."""
    if len(values) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    return starts, np.diff(np.concatenate((starts, [len(values)])))
