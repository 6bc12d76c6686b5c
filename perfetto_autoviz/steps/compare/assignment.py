"""Which loop of one build is which of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.steps.compare.build import Build, Key, Loop
from perfetto_autoviz.steps.compare.hungarian import best_assignment
from perfetto_autoviz.steps.compare.limits import THRESHOLD
from perfetto_autoviz.steps.compare.scores import PairScore, Score

_PASSES: tuple[Key, ...] = ("op", "family")
"""Loops match by operation, and what is left by family, as between vendors whose libraries
have no operation in common."""


@dataclass(frozen=True)
class Match:
    """A loop of A and its partner in B.

    Attributes:
        a: number of A's loop.
        b: number of B's loop.
        basis: what decided: ``op``, ``family``, or ``manual``.
        pair: the scores.
    """

    a: int
    b: int
    basis: str
    pair: PairScore

    @property
    def score(self) -> Score:
        """The score that decided; that by operation for a manual pair."""
        return self.pair.by["family" if self.basis == "family" else "op"]


@dataclass(frozen=True)
class Matching:
    """Partners of two builds.

    Attributes:
        greedy: matches by taking the best pair first; what the comparison goes on with.
        optimal: matches with the largest sum of scores.
        differs: whether the two have other pairs.
    """

    greedy: tuple[Match, ...]
    optimal: tuple[Match, ...]

    @property
    def differs(self) -> bool:
        """Whether the two are not the same pairs."""
        return {(m.a, m.b) for m in self.greedy} != {(m.a, m.b) for m in self.optimal}


_Choose = Callable[[Sequence[PairScore], Key, tuple[Build, Build]], list[tuple[int, int]]]


def match_loops(
    a: Build,
    b: Build,
    pairs: Sequence[PairScore],
    *,
    threshold: float = THRESHOLD,
    manual: Iterable[str] = (),
) -> Matching:
    """One partner at most for each loop.

    Loops of kernels alone (layers) choose among themselves first, then loops of loops (steps),
    then whatever is left of both: a capture with a single step has no loop of steps.

    Args:
        a: the one build.
        b: the other.
        pairs: all scores, of ``score_pairs``.
        threshold: a pair matches if its score is above this.
        manual: pairs to take in any case, as ``P1:P3``.

    Raises:
        UsageError: a manual pair is malformed, names no loop, or one that has a partner.
    """
    fixed = _manual(a, b, pairs, manual)
    return Matching(
        greedy=_match(a, b, pairs, threshold, fixed, _greedy),
        optimal=_match(a, b, pairs, threshold, fixed, _optimal),
    )


def _match(
    a: Build,
    b: Build,
    pairs: Sequence[PairScore],
    threshold: float,
    fixed: Sequence[Match],
    choose: _Choose,
) -> tuple[Match, ...]:
    found = [*fixed]
    for key in _PASSES:
        for kind in (_both_layers, _both_steps, _any):
            taken_a, taken_b = {m.a for m in found}, {m.b for m in found}
            open_ = [
                pair
                for pair in pairs
                if pair.a not in taken_a
                and pair.b not in taken_b
                and pair.by[key].score > threshold
                and kind(a.loops[pair.a], b.loops[pair.b])
            ]
            scored = {(pair.a, pair.b): pair for pair in open_}
            found += [Match(*ab, key, scored[ab]) for ab in choose(open_, key, (a, b))]
    return tuple(sorted(found, key=lambda match: (match.a, match.b)))


def _greedy(
    pairs: Sequence[PairScore], key: Key, builds: tuple[Build, Build]
) -> list[tuple[int, int]]:
    """The best pair, then the best of those left; of equal ones that with more time."""
    a, b = builds

    def order(pair: PairScore) -> tuple[float, int, int]:
        time = a.loops[pair.a].time + b.loops[pair.b].time
        # Where all of these are equal, the pairs exclude each other only in both directions
        # alike, so that the same ones are found if A and B change places.
        return (-pair.by[key].score, -time, pair.a + pair.b)

    taken: list[tuple[int, int]] = []
    for pair in sorted(pairs, key=order):
        if all(pair.a != one and pair.b != other for one, other in taken):
            taken.append((pair.a, pair.b))
    return taken


def _optimal(
    pairs: Sequence[PairScore], key: Key, builds: tuple[Build, Build]
) -> list[tuple[int, int]]:
    gain = np.zeros((len(builds[0].loops), len(builds[1].loops)))
    for pair in pairs:
        gain[pair.a, pair.b] = pair.by[key].score
    return best_assignment(gain)


def _both_layers(one: Loop, other: Loop) -> bool:
    return one.is_innermost and other.is_innermost


def _both_steps(one: Loop, other: Loop) -> bool:
    return not one.is_innermost and not other.is_innermost


def _any(_one: Loop, _other: Loop) -> bool:
    return True


def _manual(a: Build, b: Build, pairs: Sequence[PairScore], manual: Iterable[str]) -> list[Match]:
    scored = {(pair.a, pair.b): pair for pair in pairs}
    found: list[Match] = []
    for text in manual:
        left, colon, right = text.partition(":")
        if not (colon and left and right):
            raise UsageError(f"{text!r} is no pair of patterns; give A's and B's as P1:P3")
        one, other = _named(a, left, "A"), _named(b, right, "B")
        if any(match.a == one.id or match.b == other.id for match in found):
            raise UsageError(
                f"the pair {text} names a pattern that an earlier pair has; give each one partner"
            )
        found.append(Match(one.id, other.id, "manual", scored[one.id, other.id]))
    return found


def _named(build: Build, name: str, side: str) -> Loop:
    if name not in build.by_name:
        known = ", ".join(build.by_name) or "none"
        raise UsageError(f"{side} has no pattern {name}; it has {known}")
    return build.by_name[name]
