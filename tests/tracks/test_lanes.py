from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.tracks.lanes import assign_lanes

SPANS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda span: (span[0], sum(span))),
    max_size=40,
).map(sorted)


def lanes_of(spans: list[tuple[int, int]]) -> list[int]:
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    ends = np.array([end for _, end in spans], dtype=np.int64)
    return [int(lane) for lane in assign_lanes(starts, ends)]


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two spans can't stand one after the other, touching at most."""
    return not (one[1] <= other[0] or other[1] <= one[0])


def test_hand_made_examples() -> None:
    assert lanes_of([]) == []
    assert lanes_of([(0, 5), (5, 9), (9, 9), (9, 12)]) == [0, 0, 0, 0]
    # The third span starts when the first ends and goes back to the lowest lane.
    assert lanes_of([(0, 5), (3, 9), (5, 7), (8, 10)]) == [0, 1, 0, 0]
    # A span of no length inside another one needs a lane of its own.
    assert lanes_of([(0, 10), (4, 4), (10, 10)]) == [0, 1, 0]


@given(SPANS)
def test_no_lane_holds_an_overlap(spans: list[tuple[int, int]]) -> None:
    lanes = lanes_of(spans)
    for index, span in enumerate(spans):
        for other in range(index):
            assert lanes[index] != lanes[other] or not overlap(span, spans[other])


@given(SPANS)
def test_there_are_no_more_lanes_than_spans_at_once(spans: list[tuple[int, int]]) -> None:
    # All that overlap a span and start no later share its start, so each needs its own lane.
    most = max(
        (
            1 + sum(overlap(span, earlier) for earlier in spans[:index])
            for index, span in enumerate(spans)
        ),
        default=0,
    )
    assert max(lanes_of(spans), default=-1) + 1 == most
