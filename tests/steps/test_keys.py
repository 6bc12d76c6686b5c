"""Segments find the activity that they start with again, whatever is equal to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.keys import KEY_COLUMNS, DurableKeys

_FEW = st.integers(0, 2)
_ROWS = st.lists(st.tuples(_FEW, _FEW, st.none() | _FEW, st.none() | _FEW, st.none() | _FEW))


def _activities(rows: list[tuple[int | None, ...]]) -> pd.DataFrame:
    """Sorted as SQL sorts them: NULL before all numbers."""
    ordered = sorted(rows, key=lambda row: tuple(-1 if cell is None else cell for cell in row))
    return pd.DataFrame(ordered, columns=list(KEY_COLUMNS)).astype("Int64")


@given(_ROWS, st.randoms())
def test_first_activities_are_found_again(rows: list[tuple[int, ...]], random: object) -> None:
    keys = DurableKeys.of(_activities(rows))
    picked = np.array([i for i in range(len(rows)) if random.random() < 0.7], np.int64)  # type: ignore[attr-defined]
    random.shuffle(picked)  # type: ignore[attr-defined]
    segments = pd.DataFrame(keys.first(picked))
    assert keys.numbers(segments).tolist() == picked.tolist()


def test_equal_activities_are_told_apart_by_their_order() -> None:
    twins = _activities([(5, 1, 0, 7, 3), (5, 1, 0, 7, 3), (5, 1, 0, 7, None), (9, 1, 0, 7, 3)])
    keys = DurableKeys.of(twins)
    assert keys.tie.tolist() == [0, 0, 1, 0]
    assert keys.numbers(pd.DataFrame(keys.first(np.array([2])))).tolist() == [2]


@pytest.mark.parametrize("ts", [4, 6, 10])
def test_activity_that_is_not_there_is_an_error(ts: int) -> None:
    keys = DurableKeys.of(_activities([(5, 1, 0, 7, 3), (9, 1, 0, 7, 3)]))
    segment = pd.DataFrame({**keys.first(np.array([1])), "first_ts": [ts]})
    with pytest.raises(KeyError):
        keys.numbers(segment)
