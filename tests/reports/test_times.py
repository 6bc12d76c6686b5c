"""Sums over activities, by hand."""

from __future__ import annotations

import pandas as pd

from perfetto_autoviz.reports import times


def _activities(*rows: tuple[str, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["op", "family", "dur"])


def test_what_is_in_no_family_comes_with_its_share_of_all_time() -> None:
    found = times.unclassified(
        _activities(
            ("a", "other", 10),
            ("sage", "attention", 50),
            ("b", "other", 30),
            ("a", "other", 10),
        )
    )
    assert found.to_dict("records") == [
        {"op": "b", "count": 1, "total": 30, "share": 0.3},
        {"op": "a", "count": 2, "total": 20, "share": 0.2},
    ]


def test_nothing_unclassified() -> None:
    assert times.unclassified(_activities(("sage", "attention", 50))).empty
    assert times.unclassified(_activities(("sage", "other", 0)))["share"].tolist() == [0.0]
