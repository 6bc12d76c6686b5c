"""Loops that are the same one: on ranks that lack a kernel, or in another order.

A rank runs the same layers with something else or without something.
What runs on two streams at once is read in one order where they interleave so, in another where
they do not, and in a third where a replay, or a launch one by one, has it all on one stream.
These are one loop, in which a kernel has its place wherever it ran.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.align import Alignment, EditCosts, align
from perfetto_autoviz.steps.patterns.kernels import Index, Roles
from perfetto_autoviz.steps.patterns.limits import LARGEST_PAIR, SMALLEST_TOLERANT, allowed_edits
from perfetto_autoviz.steps.patterns.line import EXTRA, PLAIN, SWAPPED

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Form:
    """How the repeats of a word are those of another one with something else or in another order.

    Attributes:
        turn: position of the word from which on it is most like the other one.
        places: from there on, for each of its positions the one in the other word, or -1.
        kinds: ``PLAIN``, ``EXTRA`` or ``SWAPPED`` for each of them.
    """

    turn: int
    places: Ints
    kinds: NDArray[np.int8]

    def translated(
        self, position: NDArray[np.integer], kind: NDArray[np.int8]
    ) -> tuple[Ints, NDArray[np.int8]]:
        """Positions in this form, and their kinds, in terms of the other word."""
        inside = (position >= 0) & (self.places[position] >= 0)
        places = np.where(inside, self.places[position], -1)
        kinds = np.where(kind == PLAIN, self.kinds[position], kind)
        return places, np.where(inside, kinds, EXTRA).astype(np.int8)


def whole_form(size: int) -> Form:
    """A word as a form of itself."""
    return Form(0, np.arange(size), np.zeros(size, dtype=np.int8))


def damaged_form(main: Index, other: Index, costs: EditCosts) -> Form | None:
    """How a word is another one with few kernels missing, extra or swapped; None if it isn't.

    Args:
        main: symbols of the one loop.
        other: symbols of the word.
        costs: what edits cost.
    """
    size = len(other)
    found = align(main, np.concatenate([other, other]), size, costs)
    left = size - len(found.position)
    if left < 0 or found.odd + left > allowed_edits(len(main)):
        return None
    places = np.concatenate([found.position, np.full(left, -1)]).astype(np.int64)
    kinds = np.concatenate([found.kind, np.full(left, EXTRA, dtype=np.int8)])
    return Form(found.begin % size, places, kinds)


def reordered_form(main: Index, other: Index) -> Form | None:
    """How a word is another one in nearly the same order; None if it isn't.

    Args:
        main: symbols of the one loop.
        other: symbols of the word.
    """
    size = len(main)
    fits = SMALLEST_TOLERANT <= size <= LARGEST_PAIR and size == len(other)
    if not fits or not np.array_equal(np.sort(main), np.sort(other)):
        return None
    rotations = [np.roll(np.arange(size), -by) for by in range(size)]
    matched = [(_matched(main, other[order]), order) for order in rotations]
    blocks, order = max(matched, key=lambda one: len(one[0]))
    if size - len(blocks) > allowed_edits(size):
        return None
    places = np.full(size, -1)
    for here, there in blocks:
        places[there] = here
    left = sorted(set(range(size)) - {here for here, _ in blocks})
    for position in np.flatnonzero(places < 0).tolist():
        place = next(one for one in left if main[one] == other[order[position]])
        left.remove(place)
        places[position] = place
    return Form(int(order[0]), places, np.zeros(size, dtype=np.int8))


def _matched(main: Index, other: Index) -> list[tuple[int, int]]:
    """Positions of both words that are equal and in the same order."""
    matcher = SequenceMatcher(None, main.tolist(), other.tolist(), autojunk=False)
    return [
        (block.a + step, block.b + step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]


@dataclass(frozen=True)
class Streamed:
    """Items, and the role of the stream that each runs on; arrays of shape ``(items,)``."""

    symbol: Index
    role: Roles


def settle(word: Streamed, window: Streamed, found: Alignment) -> Alignment:
    """Give kernels that only passed some of another stream the places of their operation.

    On its own stream a kernel keeps its turn, or else the order is another one indeed.

    Args:
        word: the loop.
        window: where it was found.
        found: how; an item that has moved counts once there instead of as missing and extra.
    """
    part = slice(found.begin, found.end)
    symbol, role = window.symbol[part], window.role[part]
    position, kind = found.position.copy(), found.kind.copy()
    filled = set(position[kind == PLAIN].tolist())
    moved = 0
    for item in np.flatnonzero(kind != PLAIN).tolist():
        for place in np.flatnonzero(word.symbol == symbol[item]).tolist():
            if place in filled:
                continue
            elsewhere = role[item] != word.role[place]
            if elsewhere or _in_turn(position, (kind == PLAIN) & (role == role[item]), item, place):
                position[item], kind[item] = place, PLAIN
                filled.add(place)
                moved += 1
                break
    if not moved:
        return found
    # What ran instead of a kernel that came elsewhere is one more.
    left = kind == SWAPPED
    left &= np.isin(position, list(filled))
    position[left], kind[left] = -1, EXTRA
    missing = len(word.symbol) - len(filled) - int(np.sum(kind == SWAPPED))
    odd = missing + int(np.sum(kind != PLAIN)) + moved
    # Kernels that move are single ones, and so is what they leave.
    return replace(
        found, odd=odd, edits=found.edits - found.odd + odd, position=position, kind=kind
    )


def _in_turn(position: Index, own: NDArray[np.bool_], item: int, place: int) -> bool:
    """Whether an item may have a place, with all before it on its stream before that place."""
    before, after = position[:item][own[:item]], position[item + 1 :][own[item + 1 :]]
    return bool((before < place).all() and (after > place).all())
