"""Assignment of loops: greedy, optimal, by level and by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.steps.compare import Build, Match, Weights, match_loops, score_pairs
from perfetto_autoviz.steps.compare.hungarian import best_assignment
from tests.steps.compare.builds import layers

LOOPS = st.lists(st.text("abcde", min_size=2, max_size=6), min_size=1, max_size=4)


def names(a: Build, b: Build, matches: tuple[Match, ...]) -> list[str]:
    return [f"{a.loops[m.a].name}:{b.loops[m.b].name}" for m in matches]


@given(
    st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(0, 9))
    )
)
def test_optimal_assignment_is_the_best_of_all(gain: np.ndarray) -> None:
    found = best_assignment(gain.astype(np.float64))
    wide = gain if gain.shape[0] <= gain.shape[1] else gain.T
    best = max(
        sum(wide[row, column] for row, column in enumerate(columns))
        for columns in permutations(range(wide.shape[1]), wide.shape[0])
    )
    assert sum(gain[pair] for pair in found) == best
    assert len({row for row, _ in found}) == len({column for _, column in found}) == len(found)


def test_greedy_and_optimal_differ_and_it_is_said() -> None:
    # A's first is most like B's first; but then A's second is left without a partner.
    a, b = layers(["abcdef", "abcdeg"]), layers(["abcdefg", "abcdefhij"])
    pairs = score_pairs(a, b)
    score = {(p.a, p.b): p.by["op"].score for p in pairs}
    assert score[0, 0] == score[1, 0] > score[0, 1] > score[1, 1]
    found = match_loops(a, b, pairs, threshold=score[1, 1])
    assert names(a, b, found.optimal) == ["P1:P2", "P2:P1"]
    assert names(a, b, found.greedy) == ["P1:P1", "P2:P2"]
    # What is left has too little in common by operation, but all by family.
    assert [match.basis for match in found.greedy] == ["op", "family"]
    assert found.differs


def test_threshold_is_not_reached_by_equality() -> None:
    a, b = layers(["ab"]), layers(["ab"])
    pairs = score_pairs(a, b)
    assert names(a, b, match_loops(a, b, pairs, threshold=1.0).greedy) == []
    assert names(a, b, match_loops(a, b, pairs, threshold=0.99).greedy) == ["P1:P1"]


def test_family_decides_where_no_operation_is_shared() -> None:
    a, b = layers(["ABcd", "efgh"]), layers(["ijkl", "MNop"])
    found = match_loops(a, b, score_pairs(a, b))
    assert names(a, b, found.greedy) == ["P1:P2", "P2:P1"]
    assert {match.basis for match in found.greedy} == {"family"}


def test_pairs_by_hand_come_first() -> None:
    a, b = layers(["abc", "abd"]), layers(["abc", "abd", "xyz"])
    pairs = score_pairs(a, b)
    found = match_loops(a, b, pairs, manual=["P1:P3"])
    assert names(a, b, found.greedy) == ["P1:P3", "P2:P2"]
    assert [match.basis for match in found.greedy] == ["manual", "op"]


@pytest.mark.parametrize(
    ("manual", "message"),
    [
        (["P1"], "no pair of patterns"),
        (["P1:P9"], "B has no pattern P9; it has P1, P2"),
        (["P1:P1", "P1:P2"], "an earlier pair has"),
    ],
)
def test_wrong_pairs_by_hand(manual: list[str], message: str) -> None:
    a, b = layers(["abc"]), layers(["abc", "abd"])
    with pytest.raises(UsageError, match=message):
        match_loops(a, b, score_pairs(a, b), manual=manual)


@given(LOOPS, LOOPS)
def test_matching_is_symmetric(one: list[str], other: list[str]) -> None:
    a, b = layers(one), layers(other)
    there = match_loops(a, b, score_pairs(a, b, Weights()))
    back = match_loops(b, a, score_pairs(b, a, Weights()))
    score = lambda found: sorted(m.score.score for m in found.greedy)  # noqa: E731
    assert score(there) == score(back)
