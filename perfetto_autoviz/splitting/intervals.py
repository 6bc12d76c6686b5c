"""Which events lie in which spans, and which of them reach around others; times in ns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.splitting.index import Ints

CROSSING_NS = 1_000
"""Most that a slice may outlast the one around it. Profilers read the clock twice at the end of
two nested calls, and some round to whole µs."""


@dataclass(frozen=True)
class Spans:
    """Spans on one thread; arrays have shape (n,).

    Attributes:
        start: starts.
        end: ends.
        label: what each stands for.
    """

    start: Ints
    end: Ints
    label: Ints

    def take(self, rows: Ints) -> Spans:
        """Some of them."""
        return Spans(self.start[rows], self.end[rows], self.label[rows])


def apart(spans: Spans) -> Iterator[Spans]:
    """The spans in as few groups as needed for none of a group to overlap another, sorted."""
    groups: list[list[int]] = []
    free: list[int] = []
    for row in np.lexsort((spans.end, spans.start)).tolist():
        start, end = int(spans.start[row]), int(spans.end[row])
        for number, until in enumerate(free):
            if until <= start:
                groups[number].append(row)
                free[number] = end
                break
        else:
            groups.append([row])
            free.append(end)
    for group in groups:
        yield spans.take(np.array(group))


def inside(start: Ints, end: Ints, spans: Spans) -> tuple[Ints, Ints]:
    """Which events lie in which of some spans that are apart.

    Args:
        start: shape (m,), starts of the events.
        end: shape (m,), their ends.
        spans: sorted, none overlapping another.

    Returns:
        Places of events, and the label of the span that each lies in.
    """
    at = np.searchsorted(spans.start, start, side="right") - 1
    place = np.maximum(at, 0)
    end = np.minimum(end, np.iinfo(np.int64).max - CROSSING_NS)
    within = (at >= 0) & (start < spans.end[place]) & (end - CROSSING_NS <= spans.end[place])
    rows = np.flatnonzero(within)
    return rows, spans.label[place[rows]]


def around(start: Ints, end: Ints, spans: Spans) -> tuple[Ints, Ints]:
    """Which events reach around at least one span of which label.

    Args:
        start: shape (m,), starts of the events.
        end: shape (m,), their ends.
        spans: sorted by start. Those that overlap others are taken to end soon after them,
            as nested calls do.

    Returns:
        Places of events, and labels; an event around several labels is there for each.
    """
    if not len(spans.start):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low = np.searchsorted(spans.start, start, side="left")
    # What starts as an event ends is no longer in it.
    high = np.searchsorted(spans.start, end, side="left")
    last = np.maximum(high - 1, 0)
    high = high - (spans.end[last] > np.minimum(end, spans.end.max()) + CROSSING_NS)
    changed = np.concatenate(([True], spans.label[1:] != spans.label[:-1]))
    run = np.cumsum(changed) - 1
    rows = np.flatnonzero(high > low)
    first, final = run[low[rows]], run[high[rows] - 1]
    return _expand(rows, first, final - first + 1, spans.label[changed])


def _expand(rows: Ints, first: Ints, count: Ints, labels: Ints) -> tuple[Ints, Ints]:
    """Each row with each of ``count`` labels from ``first`` on."""
    each = np.repeat(np.arange(len(rows)), count)
    offset = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
    return rows[each], labels[first[each] + offset]
