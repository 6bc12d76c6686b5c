"""Which of a capture's events are the device activities and launches of its iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.columns import is_device
from perfetto_autoviz.ingest.events import LAUNCH
from perfetto_autoviz.splitting.index import FLOW_IN, FLOW_OUT, NONE, Index, Ints, Mask


@dataclass(frozen=True)
class Iterations:
    """The iterations of one level, in the order of their ids; arrays have shape (n,).

    Attributes:
        rows: the rows of ``autoviz_iteration``.
        host_start: starts of the host spans in ns, ``NONE`` without one.
        host_end: their ends.
    """

    rows: pd.DataFrame
    host_start: Ints
    host_end: Ints

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Iterations:
        """From rows of ``autoviz_iteration``."""
        rows = rows.sort_values("id").reset_index(drop=True)
        start = rows["host_ts"].fillna(NONE).to_numpy(np.int64)
        dur = rows["host_dur"].fillna(0).to_numpy(np.int64)
        return cls(rows, start, np.where(start == NONE, NONE, start + dur))

    def position(self, number: int) -> int:
        """Place of the iteration that has a number."""
        return int(np.flatnonzero((self.rows["number"] == number).fillna(False))[0])


@dataclass(frozen=True)
class Activities:
    """The device activities of a capture; arrays have shape (n,).

    Attributes:
        row: row in the index.
        owner: place of the iteration it belongs to, ``NONE`` for none.
        launch: row of its launch, ``NONE`` if none is recorded.
    """

    row: Ints
    owner: Ints
    launch: Ints


def activities_of(index: Index, loaded: pd.DataFrame, owner: Ints) -> Activities:
    """Finds the activities that an engine holds in a file of JSON, and their launches.

    Args:
        index: the file.
        loaded: columns ``ts``, ``dur`` (ns) and ``correlation`` of the engine's activities.
        owner: the iteration of each of them.

    Raises:
        CaptureError: the two disagree.
    """
    rows, order = match_activities(index, index.correlation, loaded, "correlation")
    return Activities(rows, owner[order], launches_of(index, rows))


def match_activities(
    index: Index, key: Ints, loaded: pd.DataFrame, column: str
) -> tuple[Ints, Ints]:
    """Finds the activities that an engine holds in a file.

    The engine has read the same numbers, so that both agree on each activity's start and
    duration. Of those equal in both, a key says which is which; activities equal in this too
    are launched together or run on one queue at the same time: whichever way, they belong to
    the same iteration.

    Args:
        index: the file.
        key: shape (events,), the key of each event.
        loaded: columns ``ts``, ``dur`` (ns) and the key of the engine's activities.
        column: name of the key.

    Returns:
        Rows of the index, and for each the number of the engine's activity.

    Raises:
        CaptureError: the two disagree.
    """
    rows = np.flatnonzero(index.is_slice & is_device(index.kind))
    start, dur = index.start[rows], index.end[rows] - index.start[rows]
    rows = rows[np.lexsort((key[rows], dur, start))]
    ts, length = (loaded[name].to_numpy(np.int64) for name in ("ts", "dur"))
    order = np.lexsort((loaded[column].fillna(NONE).to_numpy(np.int64), length, ts))
    same = len(rows) == len(order) and bool(
        (index.start[rows] == ts[order]).all()
        and (index.end[rows] - index.start[rows] == length[order]).all()
    )
    if not same:
        raise CaptureError(
            "the trace processor holds other device activities than the file, so that it can't be"
            " cut: use another engine (--trace-processor PATH)"
        )
    return rows, order


def launches_of(index: Index, rows: Ints) -> Ints:
    """The launch of each activity: the earliest call of its correlation, or along its flow."""
    calls = np.flatnonzero(index.is_slice & (index.kind == LAUNCH) & (index.correlation != NONE))
    calls = calls[np.lexsort((index.start[calls], index.correlation[calls]))]
    wanted = index.correlation[rows]
    launch = _first_equal(index.correlation[calls], wanted, calls)
    launch[wanted == NONE] = NONE
    by_flow = np.flatnonzero(wanted == NONE)
    if by_flow.size:
        launch[by_flow] = _by_flow(index, rows[by_flow])
    return launch


def _first_equal(keys: Ints, wanted: Ints, values: Ints) -> Ints:
    """The value at the first of the sorted keys that equals what is wanted, else ``NONE``."""
    if not len(keys):
        return np.full(len(wanted), NONE)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], NONE)


def _by_flow(index: Index, rows: Ints) -> Ints:
    bound = flow_slices(index)
    ends = np.flatnonzero((index.phase == FLOW_IN) & (bound != NONE))
    begins = np.flatnonzero((index.phase == FLOW_OUT) & (bound != NONE))
    ends = ends[np.argsort(bound[ends], kind="stable")]
    begins = begins[np.argsort(index.flow[begins], kind="stable")]
    flow = _first_equal(bound[ends], rows, index.flow[ends])
    return np.where(flow == NONE, NONE, _first_equal(index.flow[begins], flow, bound[begins]))


_LOOK_BACK = 64
"""Slices to look back at for the one a flow end is bound to; nesting is rarely this deep."""


def flow_slices(index: Index) -> Ints:
    """The slice that each flow end is bound to: the innermost at its time; shape (events,)."""
    bound = np.full(len(index.phase), NONE)
    flows = np.flatnonzero(index.flow != NONE)
    slices = np.flatnonzero(index.is_slice)
    slices = slices[np.lexsort((-index.end[slices], index.start[slices], index.thread[slices]))]
    places = np.arange(len(index.threads) + 1)
    edges = np.searchsorted(index.thread[slices], places)
    flows = flows[np.argsort(index.thread[flows], kind="stable")]
    flow_edges = np.searchsorted(index.thread[flows], places)
    for thread in places[:-1].tolist():
        mine = flows[flow_edges[thread] : flow_edges[thread + 1]]
        if mine.size:
            there = slices[edges[thread] : edges[thread + 1]]
            bound[mine] = _innermost(index, there, index.start[mine])
    return bound


def _innermost(index: Index, slices: Ints, times: Ints) -> Ints:
    found = np.full(len(times), NONE)
    place = np.searchsorted(index.start[slices], times, side="right") - 1
    open_: Mask = place >= 0
    for _ in range(_LOOK_BACK):
        at = np.maximum(place, 0)
        if not open_.any() or not len(slices):
            break
        hit = open_ & ((index.end[slices[at]] > times) | (index.start[slices[at]] == times))
        found[hit] = slices[at[hit]]
        open_ &= ~hit
        place = place - 1
        open_ &= place >= 0
    return found
