"""What the enriched traces of both builds say of their comparison."""

from __future__ import annotations

import pandas as pd
import pytest

from perfetto_autoviz.comparison import Choices
from perfetto_autoviz.comparison.stored import comparison_frames
from perfetto_autoviz.relations import COMPARISON_RELATIONS
from perfetto_autoviz.steps.compare import Weights
from tests.comparison.builds import compared, letters
from tests.steps.compare.builds import layers


def test_frames_have_the_relations_columns() -> None:
    frames = comparison_frames(letters(["abc"], ["abd"]), "A")
    known = {relation.name: relation for relation in COMPARISON_RELATIONS if not relation.timed}
    assert frames.keys() == known.keys()
    for name, frame in frames.items():
        assert list(frame.columns) == list(known[name].types)


def test_builds_without_patterns_have_empty_frames() -> None:
    frames = comparison_frames(letters([], []), "B")
    assert len(frames.pop("comparison")) == 1
    assert all(frame.empty for frame in frames.values())


def test_a_match_and_its_scores() -> None:
    # Of abcd and abce, 3 of 5 operations are common, and 3 of 4 places are equal.
    frames = comparison_frames(letters(["abcd"], ["abce"], runs=6), "A")
    match = frames["match"].iloc[0]
    assert (match["pattern_a"], match["pattern_b"], match["basis"]) == ("P1", "P1", "op")
    assert match["score"] == pytest.approx(0.7 * 3 / 5 + 0.3 * 3 / 4)
    assert (match["runs_a"], match["median_a"], match["difference"]) == (6, 40, 0)
    assert match["verdict"] == "no change"
    scores = frames["pair_score"].set_index("basis")
    assert scores.loc["op", "jaccard"] == pytest.approx(3 / 5)
    assert scores.loc["op", "levenshtein"] == pytest.approx(3 / 4)
    assert scores.loc["family", "score"] == 1
    assert scores["matched"].tolist() == [1, 1, 1]
    edits = frames["edit"]
    assert edits["kind"].tolist() == ["same", "same", "same", "renamed"]
    assert edits["ops_a"].tolist() == ["a", "b", "c", "d"]
    assert edits["ops_b"].tolist() == ["a", "b", "c", "e"]
    changes = frames["operation_change"].set_index("op")
    assert (changes.loc["d", "dur_a"], changes.loc["d", "dur_b"]) == (10, 0)
    assert pd.isna(changes.loc["e", "change"])
    unshared = frames["unshared_operation"]
    assert list(zip(unshared["build"], unshared["op"], unshared["kernel_count"], strict=True)) == [
        ("A", "d", 6),
        ("B", "e", 6),
    ]


def test_what_was_added_or_removed_has_nothing_on_the_other_side() -> None:
    edits = comparison_frames(letters(["abcdef"], ["abdefG"]), "A")["edit"].set_index("kind")
    assert edits.loc["removed", "ops_a"] == "c"
    assert pd.isna(edits.loc["removed", "ops_b"])
    assert pd.isna(edits.loc["removed", "positions_b"])
    assert pd.isna(edits.loc["added", "ops_a"])


def test_what_was_chosen_is_told() -> None:
    choices = Choices(Weights(1, 3), 0.25, ("P1:P1",), "optimal")
    row = comparison_frames(compared(layers(["ab"]), layers(["cd"]), choices), "B")["comparison"]
    told = row.iloc[0]
    assert (told["build"], told["label_a"], told["label_b"]) == ("B", "build a", "build b")
    assert (told["jaccard_weight"], told["levenshtein_weight"], told["threshold"]) == (1, 3, 0.25)
    assert (told["assignment"], told["assignments_differ"]) == ("optimal", 0)
    assert told["gpu_a"] is None
