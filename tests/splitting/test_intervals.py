"""Spans and what lies in or around them, against the plain reading of their definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.splitting.intervals import CROSSING_NS, Spans, apart, around, inside

STEP = 10 * CROSSING_NS
"""Times are multiples of this, so that nothing outlasts anything by little."""

_times = st.integers(0, 40)
_spans = st.lists(st.tuples(_times, st.integers(1, 12)), min_size=1, max_size=12)


def _arrays(found: list[tuple[int, int]]) -> Spans:
    start = np.array([a for a, _ in found]) * STEP
    length = np.array([b for _, b in found]) * STEP
    return Spans(start, start + length, np.arange(len(found)))


@given(_spans)
def test_groups_hold_every_span_once_and_none_overlaps(found: list[tuple[int, int]]) -> None:
    spans = _arrays(found)
    groups = list(apart(spans))
    assert sorted(label for group in groups for label in group.label) == list(range(len(found)))
    for group in groups:
        assert (group.start[1:] >= group.end[:-1]).all()


@given(_spans, _spans)
def test_inside(found: list[tuple[int, int]], events: list[tuple[int, int]]) -> None:
    each = _arrays(events)
    pairs = set()
    for group in apart(_arrays(found)):
        rows, labels = inside(each.start, each.end, group)
        pairs |= set(zip(rows.tolist(), labels.tolist(), strict=True))
    assert pairs == {
        (row, label)
        for row, (begin, length) in enumerate(events)
        for label, (start, span) in enumerate(found)
        if start <= begin < start + span and begin + length <= start + span
    }


@given(st.lists(st.integers(0, 80), min_size=1, max_size=12, unique=True), _spans)
def test_around(starts: list[int], events: list[tuple[int, int]]) -> None:
    begins = np.array(sorted(starts)) * STEP
    # Launches last shorter than the time to the next; every third belongs to another step.
    spans = Spans(begins, begins + STEP // 2, np.arange(len(begins)) // 3)
    each = _arrays(events)
    rows, labels = around(each.start, each.end, spans)
    assert set(zip(rows.tolist(), labels.tolist(), strict=True)) == {
        (row, place // 3)
        for row, (begin, length) in enumerate(events)
        for place, start in enumerate(sorted(starts))
        if begin <= start < begin + length
    }


def test_a_slice_may_outlast_what_it_is_in_by_little() -> None:
    span = Spans(np.array([1_000_000]), np.array([2_000_000]), np.array([5]))
    start = np.array([1_500_000, 1_500_000])
    end = np.array([2_000_000 + CROSSING_NS, 2_000_001 + CROSSING_NS])
    assert inside(start, end, span)[0].tolist() == [0]
    start = np.array([900_000, 900_000, 1_000_001])
    end = np.array([2_000_000 - CROSSING_NS, 1_999_999 - CROSSING_NS, 3_000_000])
    assert around(start, end, span)[0].tolist() == [0]


def test_what_never_ended_is_around_all_that_follows() -> None:
    span = Spans(np.array([10]), np.array([20]), np.array([0]))
    forever = np.array([np.iinfo(np.int64).max])
    assert around(np.array([5]), forever, span)[0].tolist() == [0]
    assert inside(np.array([12]), forever, span)[0].tolist() == []
