"""Lanes, against a plain model of what an engine keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.ingest.columns import Table, Thread
from perfetto_autoviz.ingest.events import DEVICE_ANNOTATION, FLOW, KERNEL, OTHER
from perfetto_autoviz.ingest.overlaps import FIRST_LANE_TID, find_moves, is_laminar

Slice = tuple[int, int, int]  # start, duration, kind


def dropped(slices: list[tuple[int, int]]) -> int:
    """How many slices of a thread an engine up to v56 drops.

    Measured on v55.3: slices are taken in order of their start, longer ones first; a
    slice that ends behind the innermost one still open is dropped.
    """
    stack: list[int] = []
    count = 0
    for start, end in sorted(slices, key=lambda item: (item[0], -item[1])):
        while stack and stack[-1] <= start:
            stack.pop()
        if stack and stack[-1] < end:
            count += 1
        else:
            stack.append(end)
    return count


def table_of(slices: list[Slice], flows: list[int] | None = None) -> Table:
    rows = [*slices, *((ts, 0, FLOW) for ts in flows or [])]
    start = np.array([row[0] for row in rows], np.int64)
    return Table(
        np.arange(len(rows)),
        start,
        start + np.array([row[1] for row in rows], np.int64),
        np.zeros(len(rows), np.int32),
        np.array([row[2] for row in rows], np.int8),
    )


def lanes_of(slices: list[Slice], flows: list[int] | None = None) -> list[int]:
    """The lane of each slice, then of each flow end; 0 is the thread itself."""
    moves = find_moves(table_of(slices, flows), [Thread(0, 7)])
    lane = {made.tid: made.number for made in moves.lanes}
    at = dict(zip(moves.ordinal.tolist(), moves.tid.tolist(), strict=True))
    return [lane.get(at.get(row, 0), 0) for row in range(len(slices) + len(flows or []))]


def slices_of(*kinds: int) -> st.SearchStrategy[list[Slice]]:
    small = st.tuples(st.integers(0, 30), st.integers(0, 12), st.sampled_from(kinds))
    return st.lists(small, max_size=14)


@given(slices_of(OTHER))
def test_laminar_means_that_an_engine_keeps_all(slices: list[Slice]) -> None:
    ordered = sorted((start, start + dur) for start, dur, _ in slices)
    ordered.sort(key=lambda item: (item[0], -item[1]))
    start = np.array([item[0] for item in ordered], np.int64)
    end = np.array([item[1] for item in ordered], np.int64)
    assert is_laminar(start, end) == (dropped(ordered) == 0)


@given(slices_of(OTHER, KERNEL, DEVICE_ANNOTATION))
def test_on_lanes_nothing_is_dropped(slices: list[Slice]) -> None:
    lanes = lanes_of(slices)
    for lane in set(lanes):
        on_it = [
            (start, start + dur)
            for (start, dur, _), at in zip(slices, lanes, strict=True)
            if at == lane
        ]
        assert dropped(on_it) == 0
    spans = [(start, start + dur) for start, dur, _ in slices]
    assert (max(lanes, default=0) > 0) == (dropped(spans) > 0)


@given(slices_of(KERNEL))
def test_kernels_on_lanes_never_share_time_and_need_no_lane_more(slices: list[Slice]) -> None:
    lanes = lanes_of(slices)
    if not max(lanes, default=0):
        return
    most = 0
    for moment in range(45):
        running = [
            lane
            for (start, dur, _), lane in zip(slices, lanes, strict=True)
            if start <= moment < start + dur
        ]
        assert len(running) == len(set(running))
        most = max(most, len(running))
    assert max(lanes) + 1 == most


def test_an_annotation_that_crosses_goes_beside_the_kernels() -> None:
    slices = [(0, 10, KERNEL), (10, 10, KERNEL), (5, 30, DEVICE_ANNOTATION), (0, 40, OTHER)]
    assert lanes_of(slices) == [0, 0, 1, 0]


def test_touching_and_containing_slices_stay() -> None:
    assert lanes_of([(0, 10, KERNEL), (10, 5, KERNEL), (0, 15, DEVICE_ANNOTATION)]) == [0, 0, 0]


def test_a_nested_kernel_moves_where_lanes_are_needed_anyway() -> None:
    assert lanes_of([(0, 10, KERNEL), (2, 3, KERNEL), (8, 10, KERNEL)]) == [0, 1, 1]


def test_a_flow_end_follows_the_kernel_it_points_at() -> None:
    slices = [(0, 10, KERNEL), (8, 10, KERNEL), (20, 0, KERNEL)]
    assert lanes_of(slices, flows=[0, 8, 20, 15]) == [0, 1, 0, 0, 1, 0, 1]


def test_lanes_take_ids_that_nobody_has() -> None:
    table = table_of([(0, 10, KERNEL), (5, 10, KERNEL)])
    moves = find_moves(table, [Thread(0, FIRST_LANE_TID)])
    assert [lane.tid for lane in moves.lanes] == [FIRST_LANE_TID + 1]
    assert moves.lanes[0].name == f"{FIRST_LANE_TID} (autoviz lane 1)"
