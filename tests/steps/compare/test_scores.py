"""Scores of pairs: the exact best rotation, and what scores must not depend on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.steps.compare import Weights, pairs_frame, score_pairs, score_sequences
from perfetto_autoviz.steps.compare.cyclic import best_rotation
from tests.steps.compare.builds import layers

WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=14)


def rotated(word: list[str], by: int) -> list[str]:
    by %= len(word)
    return word[by:] + word[:by]


def edit_distance(one: list[str], other: list[str]) -> int:
    """The textbook table."""
    row = list(range(len(other) + 1))
    for i, x in enumerate(one, 1):
        new = [i]
        for j, y in enumerate(other, 1):
            new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y)))
        row = new
    return row[-1]


def test_a_score_made_by_hand() -> None:
    # Common: a, b, c of a, b, c, d, e. Rotated by three B is cabe: one replacement in four.
    score = score_sequences("cabd", "abec", Weights())
    assert score.jaccard == pytest.approx(3 / 5)
    assert score.rotation == 3
    assert score.levenshtein == 0.75
    assert score.score == pytest.approx(0.7 * 3 / 5 + 0.3 * 0.75)


def test_weights_are_shares() -> None:
    assert score_sequences("ab", "ab", Weights(3, 1)).score == 1
    assert score_sequences("ab", "ax", Weights(0, 1)).score == pytest.approx(0.5)
    with pytest.raises(UsageError, match="make no score"):
        Weights(0, 0)


@given(WORDS, WORDS)
def test_the_best_rotation_is_found(one: list[str], other: list[str]) -> None:
    found = best_rotation(one, other)
    every = [edit_distance(one, rotated(other, by)) for by in range(len(other))]
    assert found.distance == min(every)
    assert every[found.rotation] == min(every)
    assert found.rotation == 0 or every[0] > min(every)


@given(WORDS, WORDS, st.integers(0, 20), st.integers(0, 20))
def test_scores_do_not_depend_on_rotation(
    one: list[str], other: list[str], by: int, by_other: int
) -> None:
    plain = score_sequences(one, other, Weights())
    turned = score_sequences(rotated(one, by), rotated(other, by_other), Weights())
    assert (plain.jaccard, plain.levenshtein) == (turned.jaccard, turned.levenshtein)


@given(WORDS, WORDS)
def test_scores_are_symmetric(one: list[str], other: list[str]) -> None:
    there = score_sequences(one, other, Weights())
    back = score_sequences(other, one, Weights())
    assert there.score == back.score
    assert there.levenshtein == back.levenshtein


def test_every_pair_by_every_key() -> None:
    a, b = layers(["ABc", "xyz"]), layers(["cAB", "XyZ"])
    frame = pairs_frame(a, b, score_pairs(a, b))
    assert len(frame) == 4
    best = frame.iloc[0]
    assert (best["a"], best["b"], best["op_score"], best["op_rotation"]) == ("P1", "P1", 1.0, 1)
    # xyz and XyZ have one name of five in common, and both gemm and norm against norm alone.
    other = frame[(frame["a"] == "P2") & (frame["b"] == "P2")].iloc[0]
    assert other["op_jaccard"] == pytest.approx(1 / 5)
    assert other["family_jaccard"] == pytest.approx(1 / 2)


def test_nothing_against_something() -> None:
    assert best_rotation([], []).similarity == 1
    assert best_rotation([], ["a"]).similarity == 0
    assert best_rotation(["a"], []).similarity == 0
    assert pairs_frame(layers([]), layers(["ab"]), []).empty
