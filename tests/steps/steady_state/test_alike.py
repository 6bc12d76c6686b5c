"""Windows of two captures that do the same work."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import PHASE, STEADY_WINDOW
from perfetto_autoviz.steps.steady_state.alike import alike_windows
from tests.steps.steady_state.series import iterations, phases

Frames = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]
NO_WINDOWS = relation_frame(STEADY_WINDOW, {})


def capture(names: list[str], sizes: list[int], context: list[int] | None = None) -> Frames:
    generated = [0 if name == "prefill" else size for name, size in zip(names, sizes, strict=True)]
    table = phases(
        names,
        sizes,
        context_tokens=context or [0] * len(names),
        generation_tokens=generated,
    )
    return iterations([100] * len(names)), table, NO_WINDOWS


def test_decode_steps_of_the_same_size_are_compared() -> None:
    one = capture(["decode"] * 8, [8, 8, 16, 16, 32, 32, 32, 32])
    other = capture(["decode"] * 2 + ["prefill"] + ["decode"] * 2, [16, 16, 1, 4, 4])
    found = alike_windows(one, other)
    assert found is not None
    assert (found.mode, found.first, found.second) == ("decode", (2, 3), (0, 1))
    assert found.difference == 0


def test_single_steps_are_compared() -> None:
    found = alike_windows(capture(["decode"], [32]), capture(["decode"], [64]))
    assert found is not None
    assert (found.first, found.second) == ((0,), (0,))
    assert found.difference is not None
    assert abs(found.difference - (64 + 1) / (32 + 1) + 1) < 1e-9
    assert found.why == (
        "1 decode steps each: 0 against 0 prefilled tokens, 32 against 64 generated tokens"
    )


def test_different_phases_are_not_alike() -> None:
    one, other = capture(["decode"] * 3, [8] * 3), capture(["prefill"] * 3, [8] * 3)
    assert alike_windows(one, other, mode="decode") is None
    found = alike_windows(one, other)
    assert found is not None
    assert found.mode == "any"


def test_windows_lie_in_the_steady_region() -> None:
    windows = relation_frame(
        STEADY_WINDOW,
        {"id": [0], "mode": ["decode"], "region_first_number": [4], "region_last_number": [6]},
    )
    table = iterations([100] * 9), phases(["decode"] * 9, [8] * 9), windows
    found = alike_windows(table, capture(["decode"] * 9, [8] * 9))
    assert found is not None
    assert found.first == (4, 5, 6)


def test_the_nearest_prompts_are_chosen() -> None:
    names = ["decode", "mixed", "decode", "decode", "mixed", "decode"]
    one = capture(names, [8] * 6, [0, 900, 0, 0, 300, 0])
    other = capture(["decode", "mixed", "decode"], [8] * 3, [0, 310, 0])
    found = alike_windows(one, other, mode="mixed")
    assert found is not None
    # Of the windows that hold the 300 tokens and not the 900, the most central one.
    assert (found.first, found.second) == ((2, 3, 4), (0, 1, 2))


def test_unknown_phases_are_compared_by_place() -> None:
    unknown = (iterations([100] * 6), relation_frame(PHASE, {}), NO_WINDOWS)
    found = alike_windows(unknown, unknown, num_steps=4)
    assert found is not None
    assert (found.mode, found.first, found.difference) == ("any", (1, 2, 3, 4), None)


kinds = st.lists(st.tuples(st.sampled_from(["decode", "mixed"]), st.integers(1, 64)), min_size=1)


@given(kinds)
def test_a_capture_is_alike_to_itself(steps: list[tuple[str, int]]) -> None:
    frames = capture([name for name, _ in steps], [size for _, size in steps])
    found = alike_windows(frames, frames)
    assert found is not None
    assert found.difference == 0
    assert len(found.first) == len(found.second)
