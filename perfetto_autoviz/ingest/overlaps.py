"""Move slices that cross on a thread to lanes of their own.

Engines up to v56 drop a slice that begins inside another one of its thread and ends
behind it. Slices that contain each other, or only touch, are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.ingest.columns import Ints, Table, Thread, is_device
from perfetto_autoviz.ingest.events import FLOW

FIRST_LANE_TID = 2_000_000_000
"""Lanes get unused thread ids from here: above every id an operating system gives out."""

_FLOW_SEARCH = 64
"""Slices to look back at for the one a flow end is bound to; nesting is rarely this deep."""


@dataclass(frozen=True)
class Lane:
    """A thread that takes slices of another one: the same pid, another tid."""

    of: Thread
    tid: int
    number: int

    @property
    def name(self) -> str:
        """The thread name from which SQL finds the way back to the real thread."""
        return f"{self.of.tid} (autoviz lane {self.number})"


@dataclass(frozen=True)
class Moves:
    """Which events go to which lanes.

    Attributes:
        lanes: the new threads.
        ordinal: events that move, ascending; flow ends among them.
        tid: their new tids.
        slices: how many of the events are slices.
    """

    lanes: tuple[Lane, ...]
    ordinal: Ints
    tid: Ints
    slices: int


def find_moves(table: Table, threads: list[Thread]) -> Moves:
    """Find the fewest lanes on which no slice crosses another.

    On a thread with device activities that needs lanes, device activities are kept
    apart from each other, nested ones too, so that each lane reads as a sequence.
    """
    used = {number for thread in threads for number in (thread.pid, thread.tid)}
    lanes: list[Lane] = []
    ordinals: list[Ints] = []
    tids: list[Ints] = []
    slices = 0
    flow = table.kind == FLOW
    order = np.argsort(table.thread, kind="stable")
    bounds = np.searchsorted(table.thread[order], np.arange(len(threads) + 1))
    for code, thread in enumerate(threads):
        rows = order[bounds[code] : bounds[code + 1]]
        own = _sorted(table, rows[~flow[rows]])
        lane = _lanes_of(table, own)
        if lane is None:
            continue
        made = _new_lanes(thread, int(lane.max()), used)
        lanes += made
        slices += int((lane > 0).sum())
        flows = rows[flow[rows]]
        moved = np.concatenate((own, flows))
        at = np.concatenate((lane, _flow_lanes(table, own, lane, flows)))
        numbers = np.array([0, *(new.tid for new in made)], np.int64)
        ordinals.append(table.ordinal[moved[at > 0]])
        tids.append(numbers[at[at > 0]])
    if not lanes:
        return Moves((), np.empty(0, np.int64), np.empty(0, np.int64), 0)
    ordinal, tid = np.concatenate(ordinals), np.concatenate(tids)
    by_place = np.argsort(ordinal)
    return Moves(tuple(lanes), ordinal[by_place], tid[by_place], slices)


def _sorted(table: Table, rows: Ints) -> Ints:
    """Rows in the order in which an engine places them: outer slices before inner ones."""
    order: Ints = rows[np.lexsort((-table.end[rows], table.start[rows]))]
    return order


def _new_lanes(thread: Thread, count: int, used: set[int | str]) -> list[Lane]:
    made = []
    tid = FIRST_LANE_TID
    for number in range(1, count + 1):
        while tid in used:
            tid += 1
        used.add(tid)
        made.append(Lane(thread, tid, number))
    return made


def _lanes_of(table: Table, rows: Ints) -> Ints | None:
    """The lane of each row, 0 for its own thread; None if nothing crosses."""
    start, end = table.start[rows], table.end[rows]
    if is_laminar(start, end):
        return None
    device = is_device(table.kind[rows])
    if not device.any():
        return _nested_lanes(start, end, 0)
    lane = np.zeros(rows.size, np.int64)
    lane[device] = _flat_lanes(start[device], end[device])
    first = device & (lane == 0)
    others = np.flatnonzero(~device)
    crossing = _crosses_any(start[others], end[others], start[first], end[first])
    last = int(lane.max())
    beside = _nested_lanes(start[others[~crossing]], end[others[~crossing]], last)
    lane[others[~crossing]] = beside
    last = max(last, int(beside.max(initial=0)))
    lane[others[crossing]] = last + 1 + _from_zero(start[others[crossing]], end[others[crossing]])
    return lane


def is_laminar(start: Ints, end: Ints) -> bool:
    """Whether slices in the engine's order only contain each other or lie apart.

    Method: the number of slices open at a slice's start is its depth. As long as
    nothing crosses, the slice around it is the last one before it with a depth lower
    by one, so the first crossing shows as an end beyond that slice's end.
    """
    lasting = np.flatnonzero(end > start)  # slices of no length never cross
    start, end = start[lasting], end[lasting]
    place = np.arange(start.size)
    depth = place - np.searchsorted(np.sort(end), start, side="right")
    by_depth = np.lexsort((place, depth))
    key = depth[by_depth] * start.size + place[by_depth]
    inner = np.flatnonzero(depth > 0)
    around = np.searchsorted(key, (depth[inner] - 1) * start.size + inner) - 1
    return bool((end[inner] <= end[by_depth[around]]).all())


def _flat_lanes(start: Ints, end: Ints) -> Ints:
    """Fewest lanes on which no two slices share time; each goes to the first one free.

    A slice of no length shares no time; it never needs a lane of its own.
    """
    lanes: list[int] = []
    free_at: list[int] = []
    for begin, stop in zip(start.tolist(), end.tolist(), strict=True):
        for number, free in enumerate(free_at):
            if free <= begin:
                free_at[number] = stop
                lanes.append(number)
                break
        else:
            lanes.append(len(free_at) if stop > begin else 0)
            free_at += [stop] if stop > begin else []
    return np.array(lanes, np.int64)


def _nested_lanes(start: Ints, end: Ints, taken: int) -> Ints:
    """Lanes on which slices may contain each other: 0 first, then those behind ``taken``."""
    lanes = _from_zero(start, end)
    return np.where(lanes > 0, lanes + taken, 0)


def _from_zero(start: Ints, end: Ints) -> Ints:
    lanes: list[int] = []
    stacks: list[list[int]] = []
    for begin, stop in zip(start.tolist(), end.tolist(), strict=True):
        for number, stack in enumerate(stacks):
            while stack and stack[-1] <= begin:
                stack.pop()
            if not stack or stack[-1] >= stop:
                stack.append(stop)
                lanes.append(number)
                break
        else:
            lanes.append(len(stacks))
            stacks.append([stop])
    return np.array(lanes, np.int64)


def _crosses_any(start: Ints, end: Ints, begins: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which slices cross one of a sequence of slices that lie apart, in order of time."""
    lasting = ends > begins
    begins, ends = begins[lasting], ends[lasting]
    if not begins.size:
        return np.zeros(start.size, np.bool_)
    # The one that began last before the start: still running, and over before the end?
    before = np.searchsorted(begins, start, side="left") - 1
    at = np.maximum(before, 0)
    left = (before >= 0) & (ends[at] > start) & (ends[at] < end)
    # The one that began last before the end: inside, and not yet over at the end?
    before = np.searchsorted(begins, end, side="left") - 1
    at = np.maximum(before, 0)
    right = (before >= 0) & (begins[at] > start) & (ends[at] > end)
    crossing: NDArray[np.bool_] = left | right
    return crossing


def _flow_lanes(table: Table, rows: Ints, lane: Ints, flows: Ints) -> Ints:
    """The lane of each flow end: that of the innermost slice at its time."""
    start, end = table.start[rows], table.end[rows]
    lanes = np.zeros(flows.size, np.int64)
    # A flow end at a slice's very start is bound to it even if the slice has no length.
    latest = np.searchsorted(start, table.start[flows], side="right") - 1
    for index, (time, place) in enumerate(
        zip(table.start[flows].tolist(), latest.tolist(), strict=True)
    ):
        for back in range(place, max(-1, place - _FLOW_SEARCH), -1):
            if end[back] > time or start[back] == time:
                lanes[index] = lane[back]
                break
    return lanes
