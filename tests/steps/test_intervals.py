"""Interval arithmetic against brute force over single nanoseconds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.intervals import containing, runs, span_by_group, union_by_group

INTERVALS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 12)), max_size=30
)


def arrays(rows: list[tuple[int, int, int]], offset: int = 0) -> tuple[np.ndarray, ...]:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1] + offset, table[:, 2]


@given(INTERVALS, st.sampled_from([0, 1_700_000_000_000_000_000]))
def test_union_counts_each_nanosecond_once(rows: list[tuple[int, int, int]], offset: int) -> None:
    busy = union_by_group(*arrays(rows, offset), 4)
    for group in range(4):
        covered = {t for g, ts, dur in rows if g == group for t in range(ts, ts + dur)}
        assert busy[group] == len(covered)


@given(INTERVALS)
def test_span_reaches_from_first_start_to_last_end(rows: list[tuple[int, int, int]]) -> None:
    first, last, count = span_by_group(*arrays(rows), 4)
    for group in range(4):
        mine = [(ts, ts + dur) for g, ts, dur in rows if g == group]
        assert count[group] == len(mine)
        if mine:
            assert first[group] == min(start for start, _ in mine)
            assert last[group] == max(end for _, end in mine)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 5)), max_size=10), st.integers(-2, 70))
def test_containing_finds_the_span_of_a_time(spans: list[tuple[int, int]], time: int) -> None:
    disjoint: list[tuple[int, int]] = []
    for start, length in sorted(spans):
        if not disjoint or start >= disjoint[-1][1]:
            disjoint.append((start, start + length))
    starts = np.array([s for s, _ in disjoint], np.int64)
    ends = np.array([e for _, e in disjoint], np.int64)
    found = containing(starts, ends, np.array([time]))[0]
    expected = [i for i, (s, e) in enumerate(disjoint) if s <= time < e]
    assert found == (expected[0] if expected else -1)


@given(st.lists(st.integers(0, 2), max_size=20))
def test_runs_rebuild_the_values(values: list[int]) -> None:
    starts, lengths = runs(np.array(values))
    rebuilt = [values[s] for s, n in zip(starts, lengths, strict=True) for _ in range(n)]
    assert rebuilt == values
    heads = [values[s] for s in starts]
    assert all(a != b for a, b in pairwise(heads))
