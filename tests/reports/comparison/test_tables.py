"""Tables for other programs."""

from __future__ import annotations

import pandas as pd
import pytest

from perfetto_autoviz.reports.comparison.tables import (
    matches_table,
    operations_table,
    pairs_table,
    rank_spread,
    timing_table,
)
from tests.comparison.builds import compared, letters
from tests.steps.compare.builds import layers


def test_all_pairs_say_who_takes_them() -> None:
    # abcd fits abcd best; abce is left for the other.
    frame = pairs_table(letters(["abcd", "abcx"], ["abcd", "abce"]))
    assert len(frame) == 4
    taken = frame[frame["greedy"] == 1]
    assert set(zip(taken["pattern_a"], taken["pattern_b"], strict=True)) == {
        ("P1", "P1"),
        ("P2", "P2"),
    }
    assert (frame["optimal"] == frame["greedy"]).all()


def test_a_match_has_the_scores_by_each_key() -> None:
    row = matches_table(letters(["aBc"], ["aBd"])).iloc[0]
    assert row["op_jaccard"] == pytest.approx(2 / 4)
    assert row["family_jaccard"] == 1
    assert row["name_levenshtein"] == pytest.approx(2 / 3)


def test_operations_are_named() -> None:
    pair = letters(["aab"], ["ab"]).pairs[0]
    frame = operations_table(pair).set_index("op")
    assert frame.loc["a", "count_a"] == 2
    assert frame.loc["a", "difference"] == -10


def test_times_of_builds_and_ranks() -> None:
    a = layers(["abc"], runs=5, dur=10, ranks=(0, 1))
    b = layers(["abc"], runs=6, dur=12, ranks=(1, 2))
    pair = compared(a, b).pairs[0]
    frame = timing_table(pair)
    whole = frame[frame["rank"].isna()].set_index("build")
    assert whole["runs"].tolist() == [10, 12]
    assert whole["median"].tolist() == [30, 36]
    assert whole.loc["B", "difference"] == 6
    assert whole.loc["B", "verdict"] == "slower"
    assert pd.isna(whole.loc["A", "difference"])
    each = frame[frame["rank"].notna()]
    assert sorted(zip(each["build"], each["rank"].astype(int), strict=True)) == [
        ("A", 0), ("A", 1), ("B", 1), ("B", 2),
    ]  # fmt: skip
    shared = each[(each["build"] == "B") & (each["rank"] == 1)].iloc[0]
    assert (shared["difference"], shared["verdict"]) == (6, "slower")
    alone = each[(each["build"] == "B") & (each["rank"] == 2)].iloc[0]
    assert pd.isna(alone["difference"])


def test_the_slowest_rank_is_named_where_there_are_several() -> None:
    pair = compared(layers(["abc"], ranks=(0, 1)), layers(["abc"])).pairs[0]
    found = rank_spread(pair, "A")
    assert found is not None
    assert found[1] == 0
    assert rank_spread(pair, "B") is None
