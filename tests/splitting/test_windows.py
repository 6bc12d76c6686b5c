"""What a user may ask for, and which iterations that is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.splitting.windows import Wanted, Window, choose_windows, parse_iterations

NUMBERS = range(12)
PHASES = pd.DataFrame(
    {
        "number": [*NUMBERS],
        "phase": ["prefill", "decode", "decode", "mixed", "decode", "unknown", *["decode"] * 6],
    }
)
STEADY = pd.DataFrame({"mode": ["mixed", "decode"], "first_number": [1, 6], "last_number": [9, 11]})


def _choose(**wanted: Any) -> dict[str, tuple[int, ...]]:
    found = choose_windows(Wanted(**wanted), NUMBERS, PHASES, STEADY)
    return {window.name: window.numbers for window in found}


def test_each_choice() -> None:
    assert _choose(iterations="3, 7-9") == {"iteration-03": (3,), "iterations-07-09": (7, 8, 9)}
    assert _choose(iterations="all") == {f"iteration-{n:02}": (n,) for n in range(12)}
    assert _choose(first=True) == {"iteration-00": (0,)}
    assert _choose(middle=True) == {"iteration-06": (6,)}
    assert _choose(last=True) == {"iteration-11": (11,)}
    assert _choose(steady="all") == {
        "steady-mixed": tuple(range(1, 10)),
        "steady-decode": (6, 7, 8, 9, 10, 11),
    }
    assert list(_choose(steady="decode")) == ["steady-decode"]
    assert _choose(phases=True) == {
        "phase-decode": (1, 2, 4, 6, 7, 8, 9, 10, 11),
        "phase-mixed": (3,),
        "phase-prefill": (0,),
    }


def test_the_same_window_is_written_once() -> None:
    found = choose_windows(Wanted(iterations="0", first=True), NUMBERS, PHASES, STEADY)
    assert found == [Window("iteration-00", ("--iterations 0", "--first"), (0,))]


def test_two_steady_windows_of_a_mode_get_two_names() -> None:
    twice = pd.DataFrame({"mode": ["any"] * 2, "first_number": [0, 6], "last_number": [2, 8]})
    found = choose_windows(Wanted(steady="any"), NUMBERS, PHASES, twice)
    assert [window.name for window in found] == ["steady-any", "steady-any-6"]


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ({"iterations": "12"}, "there is no iteration 12: this capture has 0-11"),
        ({"iterations": "4-13"}, "there is no iteration 12"),
        ({"iterations": "9-7"}, "runs backwards: write 7-9"),
        ({"iterations": "3-5,5"}, "iteration 5 is in two ranges"),
        ({"iterations": "1,,2"}, "is no list of iterations"),
        ({"iterations": "-1"}, "is no list of iterations"),
        ({"iterations": ""}, "is no list of iterations"),
        ({"steady": "prefill"}, "no steady window of mode prefill was found: there is decode"),
    ],
)
def test_what_is_not_there_is_refused(wanted: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError, match=line):
        _choose(**wanted)


def test_nothing_to_choose_from() -> None:
    nothing = PHASES.iloc[:0]
    with pytest.raises(UsageError, match="so there is nothing to cut by; autoviz annotate"):
        choose_windows(Wanted(first=True), [], nothing, STEADY)
    with pytest.raises(UsageError, match="no iterations at level 1"):
        choose_windows(Wanted(first=True, level=1), [], nothing, STEADY)
    with pytest.raises(UsageError, match="phases of this capture are unknown"):
        choose_windows(Wanted(phases=True), NUMBERS, PHASES.assign(phase=None), STEADY)
    with pytest.raises(UsageError, match="no steady window was found: there is none at all"):
        choose_windows(Wanted(steady="all"), NUMBERS, PHASES, STEADY.iloc[:0])
    with pytest.raises(UsageError, match="nothing is chosen"):
        Wanted(level=1).check()


@given(st.sets(st.integers(0, 60), min_size=1))
def test_ranges_hold_what_was_written(numbers: set[int]) -> None:
    window = Window("any", (), tuple(sorted(numbers)))
    text = ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in window.stretches())
    each, ranges = parse_iterations(text)
    assert not each
    assert {n for a, b in ranges for n in range(a, b + 1)} == numbers
    # No stretch goes on where another ends.
    assert all(b + 1 < c for (_, b), (c, _) in pairwise(ranges))
