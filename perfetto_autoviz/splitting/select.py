"""Which events go into which file."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.ingest.columns import is_device
from perfetto_autoviz.ingest.events import DEVICE_ANNOTATION, LAUNCH
from perfetto_autoviz.splitting.belonging import Activities, Iterations, flow_slices
from perfetto_autoviz.splitting.extents import Extents, Stretch, distinct, lanes, measure
from perfetto_autoviz.splitting.index import (
    COUNTER,
    FLOW_OUT,
    INSTANT,
    NONE,
    PYTHON,
    Index,
    Ints,
    Mask,
)
from perfetto_autoviz.splitting.intervals import Spans, apart, around, inside


@dataclass(frozen=True)
class Selection:
    """Events and the outputs they go to, in the order of the file; arrays have shape (pairs,).

    Attributes:
        row: row of the event.
        output: number of the output.
    """

    row: Ints
    output: Ints

    def by_output(self, outputs: int) -> list[Ints]:
        """The events of each output."""
        rows = self.row[np.argsort(self.output, kind="stable")]
        counts = np.bincount(self.output, minlength=outputs)
        return np.split(rows, np.cumsum(counts)[:-1])


def select(
    index: Index,
    activities: Activities,
    iterations: Iterations,
    stretches: Sequence[Stretch],
    *,
    compact: bool,
) -> Selection:
    """Decides which events go into which output.

    Into an output go the device activities of its iterations and what launched them, the
    host events within their host spans on the threads that launched, what encloses those
    (the frames up to the process), what the profiler drew around the activities, the flows
    whose ends are all there, and the names of the processes and threads.

    Args:
        index: the capture.
        activities: its device activities.
        iterations: the iterations of the level that is cut.
        stretches: what goes into which output.
        compact: leave out the frames of Python.
    """
    outputs = max(stretch.output for stretch in stretches) + 1
    chosen = _Chosen(outputs)
    device_threads = np.zeros(len(index.threads), bool)
    device_threads[index.thread[activities.row]] = True
    rows = _by_thread(index, compact)
    launched = np.zeros(len(index.phase), bool)
    launched[activities.launch[activities.launch != NONE]] = True
    for lane in lanes(stretches):
        extents = measure(index, activities, iterations, lane)
        chosen.add(activities.row[extents.own], extents.output[extents.own])
        chosen.add(*extents.launches)
        for thread, there in enumerate(rows):
            if device_threads[thread]:
                chosen.add(*_around_activities(index, activities, extents, thread, there))
            else:
                chosen.add(*_on_host(index, launched, extents, thread, there))
    chosen.add(*_by_correlation(index, chosen, device_threads))
    chosen.add(*_counters(index, activities, chosen))
    chosen.add(*_flows(index, chosen))
    chosen.add(*_metadata(index, chosen))
    row, output = chosen.pairs()
    ends = index.partner[row]
    chosen.add(ends[ends != NONE], output[ends != NONE])
    return Selection(*chosen.pairs())


class _Chosen:
    """Pairs of events and outputs, each counted once."""

    def __init__(self, outputs: int) -> None:
        self.outputs = outputs
        self._keys: list[Ints] = []

    def add(self, rows: Ints, outputs: Ints) -> None:
        self._keys.append(rows * self.outputs + outputs)

    def keys(self) -> Ints:
        """Row times the number of outputs plus the output; sorted."""
        keys = distinct(np.concatenate(self._keys)) if self._keys else np.zeros(0, np.int64)
        self._keys = [keys]
        return keys

    def pairs(self) -> tuple[Ints, Ints]:
        rows, outputs = np.divmod(self.keys(), self.outputs)
        return rows, outputs


def _by_thread(index: Index, compact: bool) -> list[Ints]:
    """Slices and instants of each thread, device activities not among them."""
    wanted = (index.is_slice & ~is_device(index.kind)) | (index.phase == INSTANT)
    if compact:
        wanted &= index.kind != PYTHON
    rows = np.flatnonzero(wanted)
    rows = rows[np.argsort(index.thread[rows], kind="stable")]
    edges = np.searchsorted(index.thread[rows], np.arange(len(index.threads) + 1))
    return [rows[a:b] for a, b in itertools.pairwise(edges)]


def _on_host(
    index: Index, launched: Mask, extents: Extents, thread: int, rows: Ints
) -> tuple[Ints, Ints]:
    """What lies in the host spans, and what encloses them or the launches."""
    found = []
    # A launch goes where its activities go, whatever else runs at that time.
    free = rows[~launched[rows]]
    for spans in apart(extents.host_spans(thread)):
        found.append(_named(free, inside(index.start[free], index.end[free], spans)))
        found.append(_named(rows, around(index.start[rows], index.end[rows], spans)))
    launches = extents.launch_spans(index, thread)
    found.append(_named(rows, around(index.start[rows], index.end[rows], launches)))
    return _joined(found)


def _around_activities(
    index: Index, activities: Activities, extents: Extents, thread: int, rows: Ints
) -> tuple[Ints, Ints]:
    """What the profiler drew around activities of the output on their stream."""
    drawn = rows[(index.correlation[rows] == NONE) | (index.kind[rows] == DEVICE_ANNOTATION)]
    there = extents.own & (index.thread[activities.row] == thread)
    starts, output = index.start[activities.row[there]], extents.output[there]
    # By start alone: on a device a neighbour's last kernel may still run.
    spans = Spans(starts, starts, output)
    return _named(drawn, around(index.start[drawn], index.end[drawn], spans))


def _by_correlation(index: Index, chosen: _Chosen, device_threads: Mask) -> tuple[Ints, Ints]:
    """What else the calls that go into an output left on a device: waits of streams and events."""
    row, output = chosen.pairs()
    calls = (index.kind[row] == LAUNCH) & (index.correlation[row] != NONE)
    row, output = row[calls], output[calls]
    order = np.argsort(index.correlation[row], kind="stable")
    row, output = row[order], output[order]
    left = np.flatnonzero(
        index.is_slice
        & device_threads[index.thread]
        & ~is_device(index.kind)
        & (index.kind != DEVICE_ANNOTATION)
        & (index.correlation != NONE)
    )
    return _matching(index.correlation[row], output, index.correlation[left], left)


def _counters(index: Index, activities: Activities, chosen: _Chosen) -> tuple[Ints, Ints]:
    """Counters, while the activities and launches of an output run."""
    counters = np.flatnonzero(index.phase == COUNTER)
    if not counters.size:
        return counters, counters
    counters = counters[np.argsort(index.start[counters], kind="stable")]
    row, output = chosen.pairs()
    work = np.isin(row, activities.row) | np.isin(row, activities.launch)
    found = []
    for number in range(chosen.outputs):
        mine = row[work & (output == number)]
        if mine.size:
            low = np.searchsorted(index.start[counters], index.start[mine].min())
            high = np.searchsorted(index.start[counters], index.end[mine].max(), side="right")
            found.append((counters[low:high], np.full(high - low, number)))
    return _joined(found)


def _flows(index: Index, chosen: _Chosen) -> tuple[Ints, Ints]:
    """Flow ends whose slice is there, and an opposite end too unless the file has none."""
    bound = flow_slices(index)
    flows = np.flatnonzero((index.flow != NONE) & (bound != NONE))
    row, output = chosen.pairs()
    ends, places = _matching(row, output, bound[flows], flows)
    out = index.phase[ends] == FLOW_OUT
    key = index.flow[ends] * chosen.outputs + places
    begins = index.flow[(index.flow != NONE) & (index.phase == FLOW_OUT)]
    finishes = index.flow[(index.flow != NONE) & (index.phase != FLOW_OUT)]
    whole = np.where(out, np.isin(key, key[~out]), np.isin(key, key[out]))
    lonely = np.where(out, ~np.isin(index.flow[ends], finishes), ~np.isin(index.flow[ends], begins))
    keep = whole | lonely
    return ends[keep], places[keep]


def _metadata(index: Index, chosen: _Chosen) -> tuple[Ints, Ints]:
    """Names of the threads that are there, and of their processes."""
    row, output = chosen.pairs()
    keys = distinct(index.thread[row].astype(np.int64) * chosen.outputs + output)
    of_thread: dict[int, set[int]] = {}
    of_process: dict[int | str, set[int]] = {}
    for key in keys.tolist():
        thread, number = divmod(key, chosen.outputs)
        of_thread.setdefault(thread, set()).add(number)
        of_process.setdefault(index.threads[thread].pid, set()).add(number)
    found = []
    for each in index.metadata:
        thread = int(index.thread[each.row])
        where = (
            of_process.get(index.threads[thread].pid, set())
            if each.of_process
            else of_thread.get(thread, set())
        )
        found.append((np.full(len(where), each.row), np.array(sorted(where), np.int64)))
    return _joined(found)


def _matching(keys: Ints, outputs: Ints, wanted: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Each row with the outputs of all pairs whose key, of sorted ones, is the row's."""
    low = np.searchsorted(keys, wanted, side="left")
    count = np.searchsorted(keys, wanted, side="right") - low
    each = np.repeat(np.arange(len(rows)), count)
    offset = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
    return rows[each], outputs[low[each] + offset]


def _named(rows: Ints, found: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    places, outputs = found
    return rows[places], outputs


def _joined(found: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    rows, outputs = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(outputs)
