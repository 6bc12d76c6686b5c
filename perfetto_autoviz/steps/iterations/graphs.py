"""Steps found as replays of large graphs, one each."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.sequence import (
    Cut,
    Line,
    find_cut,
    pause_before,
    start_as_others,
    units_of,
)

LARGE_GRAPH = 32
"""Kernels of a graph that is more than a piece between two attentions."""


def find_graph_cut(line: Line) -> Cut | str:
    """Where steps start that are one replay of a large graph each, or why there are none."""
    first, last = _replays(line)
    if len(first) < 2:
        return "no large graph is replayed again"
    whole = np.zeros(len(line.order) + 1, np.int64)
    np.add.at(whole, first, 1)
    np.add.at(whole, last + 1, -1)
    attentions = line.work.attentions(line.order)
    if (attentions & (np.cumsum(whole)[:-1] == 0)).any():
        return "there are steps without a graph, too"
    found = find_cut(line)
    if isinstance(found, Cut) and len(found.starts) == len(first):
        return found
    starts = _before_replays(line, first, last)
    if isinstance(found, Cut):
        after = np.searchsorted(first, found.starts)
        inside = (after > 0) & (after < len(first)) & (found.starts > last[after - 1])
        starts[after[inside]] = found.starts[inside]
    cut = Cut(starts, len(line.order))
    return units_of(line, cut).refusal() or cut


def _before_replays(line: Line, first: Ints, last: Ints) -> Ints:
    """Where each step starts, by the pauses between the replays, the first one at 0.

    Without a pause it starts as other steps do. On several streams, a replay may start while
    the one before still runs.
    """
    between = zip(last[:-1].tolist(), first[1:].tolist(), strict=True)
    pauses = [
        pause_before(line.gap, end + 1, start) if end < start else -1 for end, start in between
    ]
    starts, paused = np.append(0, first[1:]), np.array([0, *pauses])
    clear = paused >= 0
    moved = np.where(clear, paused, starts)
    return start_as_others(line.work.op[line.order], starts, moved, clear)


def _replays(line: Line) -> tuple[Ints, Ints]:
    """First and last position of each replay of a large graph, by position."""
    number = line.work.correlation[line.order]
    known = np.flatnonzero(number > 0)
    values, group, count = np.unique(number[known], return_inverse=True, return_counts=True)
    first = np.full(len(values), len(line.order))
    last = np.zeros(len(values), np.int64)
    np.minimum.at(first, group, known)
    np.maximum.at(last, group, known)
    large = np.flatnonzero(count >= LARGE_GRAPH)
    large = large[np.argsort(first[large], kind="stable")]
    return first[large], last[large]
