"""How alike each loop of one build is to each of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from perfetto_autoviz.steps.compare.build import KEYS, Build, Key
from perfetto_autoviz.steps.compare.cyclic import best_rotation
from perfetto_autoviz.steps.compare.limits import Weights


@dataclass(frozen=True)
class Score:
    """How alike two loops are.

    Attributes:
        jaccard: common share of the two sets of what runs, from 0 to 1.
        levenshtein: similarity of the two sequences at the best rotation, from 0 to 1.
        rotation: number of the second one's kernel with which it starts at that rotation,
            inner loops opened.
        score: both, weighted.
    """

    jaccard: float
    levenshtein: float
    rotation: int
    score: float


@dataclass(frozen=True)
class PairScore:
    """A loop of A and a loop of B.

    Attributes:
        a: number of A's loop.
        b: number of B's loop.
        by: scores by raw name, operation and family.
    """

    a: int
    b: int
    by: dict[Key, Score]


def score_sequences(one: Sequence[str], other: Sequence[str], weights: Weights) -> Score:
    """The score of two cyclic sequences; it doesn't depend on either's rotation or their order."""
    sets = set(one), set(other)
    union = len(sets[0] | sets[1])
    jaccard = len(sets[0] & sets[1]) / union if union else 1.0
    found = best_rotation(one, other)
    return Score(
        jaccard, found.similarity, found.rotation, weights.score(jaccard, found.similarity)
    )


def score_pairs(a: Build, b: Build, weights: Weights | None = None) -> list[PairScore]:
    """Scores of every pair of loops, by A's loops and then B's.

    A loop with inner ones is compared by all it runs, a stack of repeats counted once: how
    often a layer repeats is a matter of the model's depth, not of what a step does.
    """
    weights = weights or Weights()
    of_a = [{key: a.sequence(loop, key) for key in KEYS} for loop in a.loops]
    of_b = [{key: b.sequence(loop, key) for key in KEYS} for loop in b.loops]
    return [
        PairScore(one.id, other.id, {key: score_sequences(x[key], y[key], weights) for key in KEYS})
        for one, x in zip(a.loops, of_a, strict=True)
        for other, y in zip(b.loops, of_b, strict=True)
    ]


def pairs_frame(a: Build, b: Build, pairs: Sequence[PairScore]) -> pd.DataFrame:
    """All pairs as a table, the best by operation first.

    Returns:
        Columns ``a, b`` (names), ``length_a, length_b`` and, for each key,
        ``<key>_jaccard, <key>_levenshtein, <key>_rotation, <key>_score``.
    """
    rows = [
        {
            "a": a.loops[pair.a].name,
            "b": b.loops[pair.b].name,
            "length_a": len(a.loops[pair.a].elements),
            "length_b": len(b.loops[pair.b].elements),
            **{
                f"{key}_{what}": getattr(pair.by[key], what)
                for key in KEYS
                for what in ("jaccard", "levenshtein", "rotation", "score")
            },
        }
        for pair in sorted(pairs, key=lambda pair: (-pair.by["op"].score, pair.a, pair.b))
    ]
    whole = [f"{key}_{what}" for key in KEYS for what in ("jaccard", "levenshtein", "score")]
    frame = pd.DataFrame(
        rows,
        columns=[
            "a",
            "b",
            "length_a",
            "length_b",
            *(
                f"{key}_{what}"
                for key in KEYS
                for what in ("jaccard", "levenshtein", "rotation", "score")
            ),
        ],
    )
    return frame.astype(dict.fromkeys(whole, float))
