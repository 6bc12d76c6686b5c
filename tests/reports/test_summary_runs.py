"""What the summary says of patterns and abnormal runs, on handmade frames."""

from __future__ import annotations

import pandas as pd
import pytest

from perfetto_autoviz.reports.summary_runs import PatternGroup, abnormal_runs, pattern_groups
from perfetto_autoviz.reports.times import share_in_runs
from tests.steps.anomalies.captures import serving, with_patterns

PATTERNS = pd.DataFrame(
    {"id": [0, 1, 2], "name": ["P1", "P1.1", "P2"], "level": [0, 1, 0], "kernel_count": [82, 8, 5]}
)
RUNS = pd.DataFrame({"id": [4, 5, 6, 7], "pattern_id": [0, 1, 1, 1], "number": [0, 0, 1, 2]})
GROUPS = pd.DataFrame(
    {
        "test": ["duration", "duration", "autoencoder"],
        "run_count": [1, 3, 3],
        "judged_count": [0, 3, 2],
    }
)


def test_share_of_the_time_in_patterns() -> None:
    frames = with_patterns({0: serving(6, 10, seed=1)})[0]
    activities, segments = frames["_autoviz_activity"], frames["_autoviz_src_pattern_segment"]
    assert share_in_runs(activities, segments) == 1
    inside = int(activities["dur"].sum())
    last = activities.iloc[[-1]].assign(ts=activities["ts"].max() + inside, dur=inside // 3)
    more = pd.concat([activities, last], ignore_index=True)
    assert share_in_runs(more, segments) == pytest.approx(3 / 4, abs=1e-6)
    assert share_in_runs(more, segments.iloc[:0]) == 0


def test_patterns_of_another_rank_are_left_out() -> None:
    assert pattern_groups(PATTERNS, RUNS) == (
        PatternGroup("P1", 0, 82, 1),
        PatternGroup("P1.1", 1, 8, 3),
    )


def test_the_worst_run_is_the_first_of_the_ranking() -> None:
    anomalies = pd.DataFrame(
        {
            "run_id": [5, 7],
            "pattern_id": [1, 1],
            "ranking": [8, 3],
            "explanation": ["2.1 σ slow", "3.0 σ fast"],
        }
    )
    found = abnormal_runs(GROUPS, anomalies, RUNS, PATTERNS)
    assert (found.runs, found.judged) == (4, {"autoencoder": 2, "duration": 3})
    assert (found.flagged, found.worst) == (2, "P1.1 #2, 3.0 σ fast")
    assert abnormal_runs(GROUPS, anomalies.iloc[:0], RUNS, PATTERNS).worst is None
