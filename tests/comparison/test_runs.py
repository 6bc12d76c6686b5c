"""Runs beside the runs of their pattern's partner."""

from __future__ import annotations

import pandas as pd
import pytest

from perfetto_autoviz.comparison.runs import phase_medians, run_frame
from tests.comparison.builds import compared, letters
from tests.steps.compare.builds import layers

Runs = list[tuple[int, int, int]]
Steps = list[tuple[int, int, str | None]]


def rank(patterns: list[str], runs: Runs, steps: Steps | None = None) -> dict[str, pd.DataFrame]:
    """A rank's frames: names of patterns; pattern, start and duration of runs; start,
    duration and phase of steps."""
    return {
        "pattern": pd.DataFrame({"id": range(len(patterns)), "name": patterns}),
        "pattern_run": pd.DataFrame(
            [(number, pattern, 0, ts, dur) for number, (pattern, ts, dur) in enumerate(runs)],
            columns=["id", "pattern_id", "level", "ts", "dur"],
        ),
        "phase": pd.DataFrame(steps or [], columns=["ts", "dur", "phase"]),
    }


def test_each_run_stands_beside_the_other_builds_median() -> None:
    comparison = compared(layers(["abc", "xy"]), layers(["abc"], dur=20))
    own = rank(["P1", "P2"], [(0, 5, 30), (0, 50, 45), (1, 99, 20)])
    other = rank(["P1"], [(0, 0, 50), (0, 90, 60), (0, 190, 100)])
    frame = run_frame(comparison, "A", own, phase_medians([other]))
    assert frame["ts"].tolist() == [5, 50, 99]
    assert frame["pattern"].tolist() == ["P1", "P1", "P2"]
    assert frame["partner"].tolist()[:2] == ["P1", "P1"]
    assert pd.isna(frame["partner"].iloc[2])
    assert frame["partner_median"].tolist()[:2] == [60, 60]
    # Always B less A, relative to A.
    assert frame["difference"].tolist()[:2] == [30, 15]
    assert frame["ratio"].tolist()[:2] == [1, pytest.approx(1 / 3)]
    assert pd.isna(frame["match_id"].iloc[2])


def test_runs_of_b_are_compared_with_as_median() -> None:
    comparison = compared(layers(["abc"]), layers(["abc"], dur=20))
    medians = phase_medians([rank(["P1"], [(0, 0, 30)])])
    frame = run_frame(comparison, "B", rank(["P1"], [(0, 5, 60), (0, 80, 15)]), medians)
    assert frame["difference"].tolist() == [30, -15]
    assert frame["ratio"].tolist() == [1, -0.5]


def test_a_prefill_run_is_not_compared_with_decode_runs() -> None:
    steps: Steps = [(0, 100, "prefill"), (100, 20, "decode"), (120, 20, "decode")]
    own = rank(["P1"], [(0, 0, 90), (0, 100, 10), (0, 120, 10)], steps)
    first = rank(["P1"], [(0, 0, 15), (0, 20, 15)], [(0, 20, "decode"), (20, 20, "decode")])
    second = rank(["P1"], [(0, 0, 12)], [(0, 20, "decode")])
    frame = run_frame(letters(["abc"], ["abc"]), "A", own, phase_medians([first, second]))
    assert frame["partner"].tolist() == ["P1", "P1", "P1"]
    assert frame["difference"].tolist()[1:] == [5, 5]
    assert frame[["partner_median", "difference", "ratio"]].iloc[0].isna().all()


def test_a_rank_without_runs_has_no_rows() -> None:
    empty = rank(["P1"], [])
    assert run_frame(letters(["abc"], ["abc"]), "A", empty, phase_medians([empty])).empty
