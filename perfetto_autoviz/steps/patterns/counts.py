"""Loops that differ in how often an inner loop repeats only: a draft's layer and its target's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.limits import COMMON_SIZE, COUNT_RATIO, STRUCTURAL_REPEATS
from perfetto_autoviz.steps.patterns.line import PLAIN, Line, Marks
from perfetto_autoviz.steps.patterns.stacks import find_copies
from perfetto_autoviz.steps.patterns.substrings import ranges

Ints = NDArray[np.int64]


def part_by_counts(line: Line, marks: Marks, words: list[Index], base: int) -> list[Index]:
    """Make loops of their own of copies in which an inner loop repeats far more often.

    Copies without exceptions decide which loops there are.

    Args:
        line: the sequence.
        marks: marks of the copies; changed.
        words: the symbols of each loop.
        base: smallest symbol that stands for an inner loop.

    Returns:
        The words of all loops, the new ones last.
    """
    copies = find_copies(marks)
    plain = np.concatenate([[0], np.cumsum((marks.position >= 0) & (marks.kind == PLAIN))])
    plain = plain[copies.stop] - plain[copies.start]
    parted = list(words)
    for loop, word in enumerate(words):
        mine = np.flatnonzero(copies.loop == loop)
        start, stop = copies.start[mine], copies.stop[mine]
        complete = (plain[mine] == len(word)) & (stop - start == len(word))
        kinds = np.zeros(len(mine), dtype=np.int64)
        for position in np.flatnonzero(word >= base).tolist():
            group = _groups(_sizes(line, marks, start, stop, loop, position))
            kinds = kinds * (int(group.max(initial=0)) + 1) + group
        for kind in _others(kinds[complete]):
            own = kinds == kind
            marks.loop[ranges(start[own], stop[own] - start[own])] = len(parted)
            parted.append(word)
    return parted


def _sizes(line: Line, marks: Marks, start: Ints, stop: Ints, loop: int, position: int) -> Ints:
    """Kernels at a position of each copy, 0 where it is missing."""
    item = np.flatnonzero((marks.loop == loop) & (marks.position == position))
    copy = np.searchsorted(start, item, side="right") - 1
    size = np.zeros(len(start), dtype=np.int64)
    size[copy] = line.stop[item] - line.first[item]
    return size


def _groups(size: Ints) -> Ints:
    """Numbers of groups of sizes of which each is far above the one before."""
    there = size > 0
    known, count = np.unique(size[there], return_counts=True)
    # Stacks that something stray parts have any size in between.
    common = known[count >= COMMON_SIZE * count.sum()]
    if not len(common):
        return np.zeros(len(size), dtype=np.int64)
    number = np.cumsum(np.concatenate([[0], common[1:] >= COUNT_RATIO * common[:-1]]))
    between = np.sqrt(common[1:] * common[:-1])
    group = number[np.searchsorted(between, size)]
    most = int(np.bincount(group[there]).argmax())
    return np.where(there, group, most)


def _others(kinds: Ints) -> list[int]:
    """The kinds that come often enough for a loop, but for the most frequent one."""
    kind, count = np.unique(kinds, return_counts=True)
    by_count = np.argsort(-count, kind="stable")[1:]
    return [int(kind[one]) for one in by_count if count[one] >= STRUCTURAL_REPEATS]
