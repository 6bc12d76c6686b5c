"""Where the iterations of a window lie: on which threads of the host, from when to when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.splitting.belonging import Activities, Iterations
from perfetto_autoviz.splitting.index import NONE, Index, Ints, Mask
from perfetto_autoviz.splitting.intervals import Spans, apart, inside


@dataclass(frozen=True)
class Stretch:
    """Consecutive iterations that go into one output.

    Attributes:
        output: number of the output.
        first: place of the first iteration.
        last: place of the last one, which belongs to it.
    """

    output: int
    first: int
    last: int


def lanes(stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """The stretches in as few groups as needed for each iteration to be in one per group."""
    groups: list[list[Stretch]] = []
    for stretch in sorted(stretches, key=lambda each: (each.first, each.last, each.output)):
        for group in groups:
            if group[-1].last < stretch.first:
                group.append(stretch)
                break
        else:
            groups.append([stretch])
    yield from groups


@dataclass(frozen=True)
class Extents:
    """The stretches of one lane in the capture; ``own`` and ``output`` have shape (activities,).

    Attributes:
        own: which activities go into an output.
        output: which output that is.
        launches: rows of their launches, and the output of each.
        spans: for each thread, the host spans of the stretches; labels are outputs.
    """

    own: Mask
    output: Ints
    launches: tuple[Ints, Ints]
    spans: dict[int, Spans]

    def host_spans(self, thread: int) -> Spans:
        """Host spans of the stretches on a thread."""
        return self.spans.get(thread, _NO_SPANS)

    def launch_spans(self, index: Index, thread: int) -> Spans:
        """Launches on a thread, in order of their start."""
        row, output = self.launches
        there = np.flatnonzero(index.thread[row] == thread)
        there = there[np.lexsort((output[there], index.start[row[there]]))]
        row, output = row[there], output[there]
        return Spans(index.start[row], index.end[row], output)


_NO_SPANS = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


def measure(
    index: Index, activities: Activities, iterations: Iterations, lane: Sequence[Stretch]
) -> Extents:
    """Finds what belongs to the stretches of one lane.

    A stretch of several iterations also holds what lies between them: work that was
    launched between the first and the last one, and belongs to none.
    """
    stretch = np.full(len(iterations.rows) + 1, NONE)
    for number, each in enumerate(lane):
        stretch[each.first : each.last + 1] = number
    owner = stretch[activities.owner]  # the last one is for activities of no iteration
    spans = _host_spans(index, activities, iterations, lane, owner)
    between = _between(index, activities, lane, owner, spans)
    owner = np.where(between == NONE, owner, between)
    outputs = np.array([*(each.output for each in lane), NONE])
    own = owner != NONE
    launched = own & (activities.launch != NONE)
    pairs = distinct(activities.launch[launched] * len(lane) + owner[launched])
    row, of = np.divmod(pairs, len(lane))
    labelled = {
        thread: Spans(each.start, each.end, outputs[each.label]) for thread, each in spans.items()
    }
    return Extents(own, outputs[owner], (row, outputs[of]), labelled)


def distinct(values: Ints) -> Ints:
    """The distinct values, sorted; on millions much faster than ``np.unique``, which hashes."""
    values = np.sort(values)
    keep = np.ones(len(values), bool)
    keep[1:] = values[1:] != values[:-1]
    found: Ints = values[keep]
    return found


def _host_spans(
    index: Index,
    activities: Activities,
    iterations: Iterations,
    lane: Sequence[Stretch],
    owner: Ints,
) -> dict[int, Spans]:
    """The host span of each stretch, on each thread that carries it or launches for it.

    Without a host span, a stretch reaches on each thread from its first launch to its last.
    """
    threads = _span_threads(index, iterations)
    launched = (owner != NONE) & (activities.launch != NONE)
    launch, of = activities.launch[launched], owner[launched]
    order = np.argsort(of, kind="stable")
    launch, of = launch[order], of[order]
    edges = np.searchsorted(of, np.arange(len(lane) + 1))
    found: dict[int, list[tuple[int, int, int]]] = {}
    for number, each in enumerate(lane):
        mine = launch[edges[number] : edges[number + 1]]
        places = np.arange(each.first, each.last + 1)
        places = places[iterations.host_start[places] != NONE]
        launching = set(np.unique(index.thread[mine]).tolist())
        carrying = {thread for place in places.tolist() for thread in threads.get(place, ())}
        for thread in sorted(launching | carrying):
            if places.size:
                start = int(iterations.host_start[places].min())
                end = int(iterations.host_end[places].max())
            else:
                there = mine[index.thread[mine] == thread]
                start, end = int(index.start[there].min()), int(index.end[there].max())
            found.setdefault(thread, []).append((start, end, number))
    return {thread: Spans(*np.array(rows).T) for thread, rows in found.items()}


def _span_threads(index: Index, iterations: Iterations) -> dict[int, list[int]]:
    """The threads that carry the host span of each iteration as a slice of its own."""
    slices = np.flatnonzero(index.is_slice & np.isin(index.start, iterations.host_start))
    found: dict[tuple[int, int], list[int]] = {}
    for row in slices.tolist():
        key = int(index.start[row]), int(index.end[row])
        found.setdefault(key, []).append(int(index.thread[row]))
    spans = zip(iterations.host_start.tolist(), iterations.host_end.tolist(), strict=True)
    return {place: found[span] for place, span in enumerate(spans) if span in found}


def _between(
    index: Index,
    activities: Activities,
    lane: Sequence[Stretch],
    owner: Ints,
    spans: dict[int, Spans],
) -> Ints:
    """The stretch of several iterations that work of none lies in; shape (activities,)."""
    result = np.full(len(owner), NONE)
    several = np.array([each.last > each.first for each in lane])
    free = np.flatnonzero(activities.owner == NONE)
    if not several.any() or not free.size:
        return result
    launched = free[activities.launch[free] != NONE]
    call = activities.launch[launched]
    for thread in np.unique(index.thread[call]).tolist():
        there = index.thread[call] == thread
        _put(result, launched[there], index, call[there], spans.get(thread, _NO_SPANS), several)
    lost = free[activities.launch[free] == NONE]
    on_device = _device_spans(index, activities, owner, len(lane))
    _put(result, lost, index, activities.row[lost], on_device, several)
    return result


def _put(result: Ints, places: Ints, index: Index, rows: Ints, spans: Spans, several: Mask) -> None:
    """Notes for activities in which stretch of several iterations rows lie."""
    for group in apart(spans.take(np.flatnonzero(several[spans.label]))):
        found, label = inside(index.start[rows], index.end[rows], group)
        result[places[found]] = label


def _device_spans(index: Index, activities: Activities, owner: Ints, count: int) -> Spans:
    """From the first start to the last end of each stretch's activities."""
    own = np.flatnonzero(owner != NONE)
    start = np.full(count, np.iinfo(np.int64).max)
    end = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(start, owner[own], index.start[activities.row[own]])
    np.maximum.at(end, owner[own], index.end[activities.row[own]])
    there = np.flatnonzero(end > start)
    return Spans(start[there], end[there], there)
