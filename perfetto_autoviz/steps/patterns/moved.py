"""Loops of the same kernels in another order: a replay has some of them on another stream.

What runs on two streams at once is read in one order where they interleave so, in another where
they do not, and in a third where a replay, or a launch one by one, has it all on one stream.
These are one loop, in which a kernel has its place wherever it ran.
"""

from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.level import Runs, Segments, join_segments, stacked
from perfetto_autoviz.steps.patterns.limits import (
    LARGEST_PAIR,
    SMALLEST_TOLERANT,
    allowed_edits,
)
from perfetto_autoviz.steps.patterns.loops import Loops
from perfetto_autoviz.steps.patterns.substrings import ranges

Ints = NDArray[np.int64]


def merge_moved(loops: Loops) -> Loops:
    """Take loops that run the same kernels in nearly the same order for one.

    Args:
        loops: what was found; of two equal ones that with more runs stays.
    """
    places = _same_kernels(loops)
    if not places:
        return loops
    return _without(_relabelled(loops, places), set(places))


def _same_kernels(loops: Loops) -> dict[int, tuple[int, Ints]]:
    """By loop the one it is a reordered form of, and the places there of its positions."""
    runs = np.bincount(loops.runs.loop, minlength=len(loops.words))
    groups: dict[bytes, list[int]] = {}
    for loop in np.argsort(-runs, kind="stable").tolist():
        word = loops.words[loop]
        fits = SMALLEST_TOLERANT <= len(word) <= LARGEST_PAIR
        if fits and not any(symbol in loops.meaning for symbol in word.tolist()):
            groups.setdefault(np.sort(word).tobytes(), []).append(loop)
    found: dict[int, tuple[int, Ints]] = {}
    for main, *others in groups.values():
        for other in others:
            places = _places(loops.words[main], loops.words[other])
            if places is not None:
                found[other] = main, places
    return found


def _places(main: Index, other: Index) -> Ints | None:
    """Where each position of a word is in another of the same symbols; None if far from it."""
    size = len(main)
    rotations = [np.roll(np.arange(size), -by) for by in range(size)]
    matched = [(_matched(main, other[order]), order) for order in rotations]
    blocks, order = max(matched, key=lambda one: len(one[0]))
    if size - len(blocks) > allowed_edits(size):
        return None
    places = np.full(size, -1)
    for here, there in blocks:
        places[order[there]] = here
    left = sorted(set(range(size)) - {here for here, _ in blocks})
    for position in order[places[order] < 0].tolist():
        place = next(one for one in left if main[one] == other[position])
        left.remove(place)
        places[position] = place
    return places


def _matched(main: Index, other: Index) -> list[tuple[int, int]]:
    """Positions of both words that are equal and in the same order."""
    matcher = SequenceMatcher(None, main.tolist(), other.tolist(), autojunk=False)
    return [
        (block.a + step, block.b + step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]


def _relabelled(loops: Loops, places: dict[int, tuple[int, Ints]]) -> Loops:
    """The loops with the runs of reordered ones given to those they are forms of."""
    runs, segments = loops.runs, loops.segments
    moved = np.isin(runs.loop, list(places))
    mine = moved[segments.run]
    count = segments.count[mine]
    position = ranges(segments.position[mine], count)
    known = np.repeat(segments.position[mine] >= 0, count)
    owner = np.repeat(runs.loop[segments.run[mine]], count)
    new = np.full(len(position), -1, dtype=np.int32)
    for loop, (_, there) in places.items():
        here = known & (owner == loop)
        new[here] = there[position[here]]
    kernel = ranges(segments.first[mine], count)
    run, kind = np.repeat(segments.run[mine], count), np.repeat(segments.kind[mine], count)
    joined = join_segments(run, kernel, kernel + np.int32(1), new, kind)
    kept = Segments(**{name: value[~mine] for name, value in segments.__dict__.items()})
    loop_of = np.arange(len(loops.words), dtype=np.int32)
    for loop, (main, _) in places.items():
        loop_of[loop] = main
    return Loops(
        words=loops.words,
        meaning={symbol: int(loop_of[loop]) for symbol, loop in loops.meaning.items()},
        runs=Runs(**{**runs.__dict__, "loop": loop_of[runs.loop]}),
        segments=stacked([kept, joined]),
    )


def _without(loops: Loops, gone: set[int]) -> Loops:
    """The loops without some that have no runs, numbered anew."""
    kept = [loop for loop in range(len(loops.words)) if loop not in gone]
    number = np.full(len(loops.words), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    return Loops(
        words=tuple(loops.words[loop] for loop in kept),
        meaning={symbol: int(number[loop]) for symbol, loop in loops.meaning.items()},
        runs=Runs(**{**loops.runs.__dict__, "loop": number[loops.runs.loop]}),
        segments=loops.segments,
    )
