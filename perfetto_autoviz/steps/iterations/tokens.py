"""What recurs once in each step: operations, and pairs of them, that take turns.

A step repeats its layers, and so most of its kernels come many times. What prepares a step and
what follows its layers comes once. All operations that come equally often and strictly take
turns are one *rhythm*; a capture has few: the layers', that of a group of layers where several
kinds alternate, the steps', and those of steps of one kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints

MIN_BEATS = 2
"""Beats of a rhythm."""

TOKENS_OF_TWO = 10
"""Tokens of a rhythm of only two beats: a few things happen twice by chance, such as once
forward and once backward."""

MOST_RHYTHMS = 4
"""Rhythms of one number of beats that are told apart: kernels of one step kind may come as
often as those of another by coincidence."""

MOST_BEATS_SHARE = 0.25
"""A rhythm of more beats than this share of all activities has less than four in each unit."""


@dataclass(frozen=True)
class Rhythm:
    """Tokens that take turns.

    Attributes:
        beats: shape (tokens, n), positions of each token in the sequence, one per beat;
            tokens are in the order in which they come within a beat.
        singles: how many of the tokens are operations, not pairs.
    """

    beats: Ints
    singles: int

    @property
    def size(self) -> int:
        """Number of beats."""
        return int(self.beats.shape[1])

    @property
    def support(self) -> int:
        """Number of tokens."""
        return len(self.beats)


def rhythms(op: Ints, stream: Ints) -> Iterator[Rhythm]:
    """All rhythms of a sequence, those of fewer beats first.

    Args:
        op: shape (n,), codes of the operations in order.
        stream: shape (n,), the stream of each; pairs are neighbours of one stream.
    """
    tokens = _tokens(op, stream)
    size = len(op)
    most = max(int(size * MOST_BEATS_SHARE), MIN_BEATS)
    by_count: dict[int, list[tuple[Ints, bool]]] = {}
    for places, single in tokens:
        if MIN_BEATS <= len(places) <= most:
            by_count.setdefault(len(places), []).append((places, single))
    for count in sorted(by_count):
        for rhythm in _in_turn(by_count[count]):
            if rhythm.size > MIN_BEATS or rhythm.support >= TOKENS_OF_TWO:
                yield rhythm


def _tokens(op: Ints, stream: Ints) -> Iterator[tuple[Ints, bool]]:
    """Positions of every operation and of every pair, and whether it is an operation.

    Activities of the same operation in a row count as one: how many copies prepare a step
    differs from step to step.
    """
    place, before = _row_starts(op, stream)
    for chosen in _places(op[place]):
        yield place[chosen], True
    pair = (before + 1) * (int(op.max(initial=0)) + 1) + op[place]
    for chosen in _places(pair):
        yield place[chosen], False


def _row_starts(op: Ints, stream: Ints) -> tuple[Ints, Ints]:
    """Where another operation starts on its stream, and the operation before; -1 for none."""
    before = np.full(len(op), -1)
    order = np.argsort(stream, kind="stable")
    follows = np.flatnonzero(stream[order][1:] == stream[order][:-1]) + 1
    before[order[follows]] = op[order[follows - 1]]
    place = np.flatnonzero(before != op)
    return place, before[place]


def _places(codes: Ints) -> Iterator[Ints]:
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 1
    yield from np.split(order, edges)


def _in_turn(tokens: list[tuple[Ints, bool]]) -> Iterator[Rhythm]:
    """Groups tokens of equal counts that take turns, the largest groups first."""
    places = np.stack([positions for positions, _ in tokens])
    single = np.array([is_single for _, is_single in tokens])
    left = np.argsort(places[:, 0], kind="stable")
    for _ in range(MOST_RHYTHMS):
        if not len(left):
            return
        # A token of the largest group has many at its side: try a few of those left.
        tried = left[:: max(1, len(left) // MOST_RHYTHMS)]
        groups = [left[_takes_turns(places[left], places[one])] for one in tried]
        group = max(groups, key=len)
        yield Rhythm(places[group], int(single[group].sum()))
        left = np.setdiff1d(left, group, assume_unique=True)
        left = left[np.argsort(places[left, 0], kind="stable")]


def _takes_turns(places: Ints, one: Ints) -> NDArray[np.bool_]:
    """Which rows of ``places`` alternate with ``one``; the row itself does, too."""
    after = np.all(places >= one, axis=1) & np.all(places[:, :-1] < one[1:], axis=1)
    before = np.all(places <= one, axis=1) & np.all(places[:, 1:] > one[:-1], axis=1)
    found: NDArray[np.bool_] = after | before
    return found
