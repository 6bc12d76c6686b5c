"""Where load is steady, on series worked out by hand and on random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.steady_state.region import duration_window, steady_region

NAN = float("nan")


def floats(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, np.float64)


def test_prefill_spikes_are_left_out_and_belong_to_the_region() -> None:
    sizes = [8, 8, 32, 32, 32, NAN, 32, 32, NAN, 32, 32, 32, 8, 8]
    assert steady_region(floats(sizes)) == (2, 12)


@pytest.mark.parametrize(
    ("sizes", "short", "region"),
    [
        # An open region ends with the last iteration.
        ([8, 16, 24, 32, 32, 31, 32, 32], False, (3, 8)),
        # 29 is within a tenth of 32, 28 is not, but within a fifth.
        ([10, 29, 32, 32, 30, 28, 28, 10], False, (1, 5)),
        ([10, 28, 32, 32, 30, 28, 28, 10], True, (1, 7)),
        # One request more or less is no change of load.
        ([2, 3, 3, 2, 3, 3, 2, 3], False, (0, 8)),
        # A burst is no load.
        ([8] * 10 + [64] + [8] * 10, False, (0, 21)),
        # A short dip does not end a region; a long one does.
        ([32] * 10 + [4] * 3 + [32] * 8, False, (0, 21)),
        ([32] * 20 + [4] * 6 + [32] * 14, False, (0, 20)),
        # Nothing is kept up.
        ([1, 10, 100, 1000, 10000, 2, 20, 200], False, None),
        ([32, 32, 32], False, None),
        ([NAN] * 8, False, None),
    ],
)
def test_region_by_sizes(sizes: list[float], short: bool, region: tuple[int, int] | None) -> None:
    assert steady_region(floats(sizes), short=short) == region


def test_fastest_steady_window() -> None:
    durations = [3100, 3050, 5200, 3080, 3070, 3090, 3060, 3075, 3085, 4900]
    found = duration_window(floats(durations), 4)
    assert found is not None
    assert found[0] == (4, 8)


def test_steadiest_window_where_none_is_steady() -> None:
    # By hand: the coefficients of variation of the windows are 0.53, 0.46 and 0.71.
    found = duration_window(floats([100, 500, 200, 400, 800, 1600]), 4)
    assert found is not None
    region, variation = found
    assert region == (1, 5)
    assert variation == pytest.approx(46875**0.5 / 475)


def test_iterations_without_work_are_left_out_of_a_window() -> None:
    found = duration_window(floats([100, NAN, 100, 100, 100, 900]), 4)
    assert found is not None
    assert found[0] == (0, 5)


def test_too_few_durations() -> None:
    assert duration_window(floats([100, 100, 100]), 4) is None


plateau = st.tuples(
    st.integers(4, 400),
    st.integers(0, 20),
    st.integers(8, 60),
    st.integers(0, 20),
)


@given(plateau, st.data())
def test_a_plateau_between_ramp_and_drain_is_found(
    shape: tuple[int, int, int, int], data: st.DataObject
) -> None:
    """A plateau of at least half of the iterations, with noise of less than the tolerance."""
    level, ramp, length, drain = shape
    ramp, drain = min(ramp, length // 2), min(drain, length // 2)
    noise = data.draw(
        st.lists(st.floats(-0.045, 0.0), min_size=length, max_size=length), label="noise"
    )
    far = level / 2 - 1
    sizes = [far] * ramp + [level * (1 + part) for part in noise] + [far] * drain
    assert steady_region(floats(sizes)) == (ramp, ramp + length)


@given(
    st.lists(st.floats(1, 1e6) | st.just(NAN), min_size=0, max_size=40),
    st.integers(1, 20),
)
def test_a_window_of_durations_is_about_as_fast_as_any_steady_one(
    durations: list[float], length: int
) -> None:
    found = duration_window(floats(durations), length)
    known = [(i, value) for i, value in enumerate(durations) if not np.isnan(value)]
    if len(known) < 4:
        assert found is None
        return
    assert found is not None
    (first, stop), variation = found
    length = min(max(length, 4), len(known))
    inside = [value for i, value in known if first <= i < stop]
    assert len(inside) == length
    for start in range(len(known) - length + 1):
        values = [value for _, value in known[start : start + length]]
        spread = np.std(values) / np.mean(values)
        if spread < 0.15 - 1e-9:
            assert variation < 0.15
            assert np.mean(inside) <= np.mean(values) * 1.02 + 1e-9
        elif variation >= 0.15:
            assert variation <= spread * 1.02 + 1e-9


@given(st.lists(st.floats(0.99, 1.0), min_size=40, max_size=40))
def test_noise_moves_no_window_of_durations(noise: list[float]) -> None:
    # 33 windows of eight, of which none is faster by more than noise: the middle one.
    found = duration_window(floats([1000.0 * part for part in noise]), 8)
    assert found is not None
    assert found[0] == (16, 24)
