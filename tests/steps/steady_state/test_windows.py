"""Windows of steady state by mode."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.steady_state.windows import longest_window, mixed_window
from tests.steps.steady_state.series import iterations, phases, steady_windows


def flags(text: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([letter == "p" for letter in text])


def test_a_mixed_window_prefills_as_the_region_does() -> None:
    # The region prefills in 4 of 16 steps, so one step in four is representative; a
    # window without any is not, however near that comes.
    steps = flags("....dddppppddddddddd....".replace("d", "."))
    window = mixed_window(steps, (4, 20), 4)
    assert window is not None
    assert steps[window.first : window.stop].sum() in (1, 2)
    whole = mixed_window(steps, (4, 20), 32)
    assert whole is not None
    assert (whole.first, whole.stop) == (4, 20)
    assert mixed_window(steps, (12, 20), 4) is None


def test_the_longest_stretch_stays_in_the_region() -> None:
    decode = ~flags("pp...p......p.........")
    window = longest_window(decode, (2, 14), 32, "decode-only")
    assert window is not None
    assert (window.first, window.stop) == (6, 12)
    middle = longest_window(decode, (2, 14), 2, "decode-only")
    assert middle is not None
    assert (middle.first, middle.stop) == (8, 10)
    assert longest_window(~decode, (13, 22), 2, "prefill-bearing") is None


@given(st.lists(st.booleans(), min_size=4, max_size=80), st.integers(1, 40))
def test_no_window_is_much_more_representative(steps: list[bool], length: int) -> None:
    prefill = np.array(steps)
    window = mixed_window(prefill, (0, len(steps)), length)
    if not prefill.any():
        assert window is None
        return
    assert window is not None
    length = min(length, len(steps))
    assert len(window) == length
    counts = [prefill[i : i + length].sum() for i in range(len(steps) - length + 1)]
    wanted = prefill.mean() * length
    assert prefill[window.first : window.stop].any()
    best = min(abs(count - wanted) for count in counts if count)
    assert abs(counts[window.first] - wanted) <= max(1.0, 0.1 * wanted, best) + 1e-9


def test_a_few_steps_more_at_an_end_hardly_move_a_mixed_window() -> None:
    # 40 steps of which all prefill; two that don't shift their middle by one.
    prefill = np.array([True] * 40)
    window = mixed_window(prefill, (0, 40), 32)
    longer = mixed_window(np.append([False] * 2, prefill), (0, 42), 32)
    assert window is not None
    assert longer is not None
    assert (window.first, longer.first) == (4, 5)


RAMP = [4, 8, 16, 24]


def test_annotated_requests_decide() -> None:
    names = ["mixed"] * 4 + ["decode"] * 6 + ["mixed"] + ["decode"] * 5 + ["decode"] * 4
    sizes = [*RAMP, *[32] * 12, 20, 12, 6, 2]
    found = steady_windows(iterations([100] * 20), phases(names, sizes), num_steps=8)
    assert list(found) == ["mixed", "decode", "prefill"]
    assert {row["tier"] for row in found.values()} == {"annotated requests"}
    for row in found.values():
        assert (row["region_first_number"], row["region_last_number"]) == (4, 15)
    assert (found["decode"]["first_number"], found["decode"]["last_number"]) == (4, 9)
    assert (found["prefill"]["first_number"], found["prefill"]["last_number"]) == (10, 10)
    assert found["mixed"]["iteration_count"] == 8
    assert found["mixed"]["first_number"] <= 10 <= found["mixed"]["last_number"]


def test_prefill_steps_of_their_own_do_not_interrupt() -> None:
    names = ["decode"] * 5 + ["prefill"] + ["decode"] * 5
    sizes = [16] * 5 + [2] + [16] * 5
    found = steady_windows(iterations([100] * 11), phases(names, sizes))
    assert (found["mixed"]["first_number"], found["mixed"]["last_number"]) == (0, 10)
    assert found["mixed"]["batch_size"] == 16


def test_batch_sizes_of_decode_steps_decide_without_annotations() -> None:
    sizes = [8, 8, 32, 32, 32, 946, 32, 32, 854, 32, 32, 32, 8, 8]
    names = ["prefill" if size > 32 else "decode" for size in sizes]
    requests = [None if size > 32 else size for size in sizes]
    found = steady_windows(iterations([100] * 14), phases(names, requests, "input shapes"))
    (row,) = (found["mixed"],)
    assert row["tier"] == "decode batch sizes"
    assert (row["region_first_number"], row["region_last_number"]) == (2, 11)


def test_durations_decide_without_phases() -> None:
    durations = [3100, 3050, 5200, 3080, 3070, 3090, 3060, 3075, 3085, 4900]
    found = steady_windows(iterations(durations), num_steps=4)
    assert list(found) == ["any"]
    row = found["any"]
    assert (row["tier"], row["first_id"], row["last_id"]) == ("durations", 4, 7)
    # By hand: 1000 and four durations and gaps before; four durations and three gaps.
    assert row["ts"] == 1000 + 3100 + 3050 + 5200 + 3080 + 4 * 10
    assert row["dur"] == 3070 + 3090 + 3060 + 3075 + 3 * 10
    assert row["mean_dur"] == pytest.approx(3073.75)


def test_dummy_batches_are_not_in_the_steady_state() -> None:
    names = [*["dummy"] * 2, "prefill", *["decode"] * 3, "prefill", *["decode"] * 3]
    sizes = [16, 16, 4, 16, 16, 16, 2, 16, 16, 16]
    found = steady_windows(iterations([100] * 10), phases(names, sizes, "attention kernels"))
    assert (found["mixed"]["first_number"], found["mixed"]["last_number"]) == (3, 9)


@pytest.mark.parametrize("evidence", ["annotation counts", "input shapes"])
def test_prefill_steps_of_all_requests_show_how_many_there_are(evidence: str) -> None:
    names = [*["prefill"] * 3, *["mixed"] * 3]
    found = steady_windows(iterations([100] * 6), phases(names, [4, 4, 8, 8, 8, 8], evidence))
    assert found["mixed"]["batch_size"] == 8
    assert (found["mixed"]["first_number"], found["mixed"]["last_number"]) == (2, 5)


def test_a_few_decode_steps_are_no_measure_of_requests() -> None:
    names = [*["decode"] * 2, *["prefill"] * 6]
    found = steady_windows(
        iterations([100] * 8), phases(names, [64, 64, 14, 13, 12, 14, 14, 2], "attention kernels")
    )
    assert (found["mixed"]["first_number"], found["mixed"]["last_number"]) == (2, 6)


def test_a_prefill_window_outside_the_region_says_so() -> None:
    names = ["prefill"] * 3 + ["decode"] * 9
    found = steady_windows(iterations([100] * 12), phases(names, [1] * 3 + [3] * 9))
    assert "mixed" not in found
    assert found["prefill"]["first_number"] == 0
    assert "the steady region has none" in found["prefill"]["why"]
    assert found["prefill"]["confidence"] < found["decode"]["confidence"]


def test_one_step_has_no_steady_state() -> None:
    assert steady_windows(iterations([100]), phases(["decode"], [32])) == {}
    assert steady_windows(iterations([])) == {}


def test_a_window_is_no_surer_than_its_phases() -> None:
    frame = phases(["decode"] * 8, [32] * 8, "kernel variants", confidence=[0.5] * 8)
    assert steady_windows(iterations([100] * 8), frame)["decode"]["confidence"] == 0.5
