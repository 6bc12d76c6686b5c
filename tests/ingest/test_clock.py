"""The engine's microseconds to nanoseconds, as trace processor v55.3 answered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.ingest.clock import engine_ns, engine_ns_of, exact_us


# The right column was read from the engine's slice table.
@pytest.mark.parametrize(
    ("us", "ns"),
    [
        (7700000631032.142, 7700000631032142),
        (1689180447634364.867, 1689180447634364672),
        (1689180447987856.914, 1689180447987857000),  # the double has no fraction left
        (1689180448416493.0, 1689180448416493000),
        (3545056405156.060, 3545056405156060),
        (2274.123987, 2274124),
        (1185.907987, 1185908),
        (0.0005, 1),
        (201.0005, 201001),
        (-0.0001, 0),
    ],
)
def test_numbers_measured_on_the_engine(us: float, ns: int) -> None:
    assert engine_ns(np.array([us])).tolist() == [ns]
    assert engine_ns_of(us) == ns


def test_unusable_numbers_are_zero() -> None:
    assert engine_ns(np.array([np.nan, np.inf, -np.inf, 1e19])).tolist() == [0, 0, 0, 0]


@given(st.integers(0, 2**51))
def test_nanoseconds_survive_the_way_through_microseconds(ns: int) -> None:
    assert engine_ns(np.array([exact_us(ns)], np.float64)).tolist() == [ns]


@given(st.floats(-9e15, 9e15))
def test_one_number_is_converted_as_many_are(us: float) -> None:
    assert engine_ns(np.array([us])).tolist() == [engine_ns_of(us)]
