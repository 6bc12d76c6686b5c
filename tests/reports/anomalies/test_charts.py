"""Charts of abnormal runs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfetto_autoviz.reports.anomalies.charts import MOST_POINTS, rebuilt_chart, series_chart

FLAGGED = pd.DataFrame(
    {"number": [70], "dur": [9_000], "test": ["kernel"], "explanation": ["<b>slow</b>"]}
)


def test_few_runs_are_all_drawn() -> None:
    runs = pd.DataFrame({"number": [0, 1, 2], "dur": [1_000, 2_500, 3_000]})
    usual, flagged = series_chart(runs, FLAGGED)["data"]
    assert (usual["x"], usual["y"]) == ([0, 1, 2], [1.0, 2.5, 3.0])
    assert (flagged["x"], flagged["y"], flagged["name"]) == ([70], [9.0], "kernel")
    assert flagged["text"] == ["&lt;b&gt;slow&lt;/b&gt;"]


def test_of_many_runs_the_extremes_are_drawn() -> None:
    dur = np.random.default_rng(1).integers(1_000, 2_000, 20_000)
    dur[[777, 15_000]] = 1, 90_000
    runs = pd.DataFrame({"number": np.arange(len(dur)), "dur": dur})
    usual = series_chart(runs, FLAGGED.iloc[:0])["data"][0]
    assert len(usual["x"]) <= MOST_POINTS
    assert {777, 15_000} <= set(usual["x"])
    assert usual["x"] == sorted(usual["x"])
    assert all(round(1_000 * y) == dur[x] for x, y in zip(usual["x"], usual["y"], strict=True))


def test_charts_need_no_webgl_and_have_annotations_to_narrow() -> None:
    runs = pd.DataFrame({"number": [0], "dur": [1_000]})
    times = np.array([1_000.0, np.nan])
    for chart in (
        series_chart(runs, FLAGGED),
        rebuilt_chart(["a", "b"], times, times, times, "run time"),
    ):
        assert {trace["type"] for trace in chart["data"]} == {"scatter"}
        assert chart["layout"]["annotations"] == []
