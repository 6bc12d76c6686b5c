"""Repeats of a loop, one after the other, which the next level sees as one item."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.limits import STRUCTURAL_REPEATS, allowed_edits
from perfetto_autoviz.steps.patterns.line import EXTRA, FREE, Line, Marks

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Copies:
    """All copies of all loops of a level, by position; arrays of shape ``(copies,)``.

    Attributes:
        loop: index of the loop in the level.
        start: first item.
        stop: one past the last item.
    """

    loop: Ints
    start: Ints
    stop: Ints

    def __len__(self) -> int:
        return len(self.loop)


def find_copies(marks: Marks) -> Copies:
    """The copies that are marked on a line."""
    change = np.flatnonzero(np.diff(marks.run, prepend=-1, append=-1))
    start, stop = change[:-1], change[1:]
    real = marks.run[start] >= 0
    start, stop = start[real], stop[real]
    return Copies(marks.loop[start].astype(np.int64), start, stop)


def join_copies(line: Line, marks: Marks, sizes: list[int]) -> None:
    """Give the few odd items between two copies to the first of them, as extra.

    Items that stand there again and again, equally many copies apart, are no noise: they part
    the runs of an outer loop and stay free.

    Args:
        line: the sequence.
        marks: marks of the copies; changed.
        sizes: items of each loop.
    """
    copies = find_copies(marks)
    most = np.array([allowed_edits(size) for size in sizes], dtype=np.int64)
    space = copies.start[1:] - copies.stop[:-1]
    near = (copies.loop[1:] == copies.loop[:-1]) & (space > 0) & (space <= most[copies.loop[1:]])
    between: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for number in np.flatnonzero(near).tolist():
        cut = slice(int(copies.stop[number]), int(copies.start[number + 1]))
        if np.all(marks.loop[cut] == FREE):
            between[int(copies.loop[number]), line.symbol[cut].tobytes()].append(number)
    for numbers in between.values():
        if not is_regular(numbers):
            for number in numbers:
                cut = slice(int(copies.stop[number]), int(copies.start[number + 1]))
                marks.loop[cut] = copies.loop[number]
                marks.run[cut] = copies.start[number]
                marks.kind[cut] = EXTRA


def is_regular(numbers: Sequence[int]) -> bool:
    """Whether something comes several times and mostly equally far apart.

    Args:
        numbers: where it comes, counted in copies of a loop.
    """
    if len(numbers) < STRUCTURAL_REPEATS:
        return False
    _, times = common_distance(numbers)
    return 2 * times >= len(numbers) - 1


def common_distance(numbers: Sequence[int]) -> tuple[int, int]:
    """The most frequent distance between neighbours of at least two, and how often it comes."""
    ((apart, times),) = Counter(b - a for a, b in pairwise(numbers)).most_common(1)
    return apart, times


def collapse(line: Line, marks: Marks, next_symbol: int) -> tuple[Line, dict[int, int], list[int]]:
    """Replace each stack of touching copies of one loop by one item.

    Args:
        line: the sequence.
        marks: marks of all copies.
        next_symbol: the smallest unused symbol.

    Returns:
        The shorter line, the loop of each new symbol, and the median kernels of its stacks.
    """
    copies = find_copies(marks)
    touch = (copies.start[1:] == copies.stop[:-1]) & (copies.loop[1:] == copies.loop[:-1])
    first = np.concatenate([[0], np.flatnonzero(~touch) + 1]).astype(np.int64)[: len(copies)]
    last = np.concatenate([first[1:], [len(copies)]]).astype(np.int64)[: len(first)] - 1
    loop = copies.loop[first]
    meaning = {next_symbol + number: one for number, one in enumerate(np.unique(loop).tolist())}
    symbol = next_symbol + np.searchsorted([*meaning.values()], loop).astype(np.int32)
    keep = marks.loop < 0
    keep[copies.start[first]] = True
    new_symbol, new_stop = line.symbol.copy(), line.stop.copy()
    new_symbol[copies.start[first]] = symbol
    new_stop[copies.start[first]] = line.stop[copies.stop[last] - 1]
    size = new_stop[copies.start[first]] - line.first[copies.start[first]]
    weights = [int(np.median(size[symbol == one])) for one in meaning]
    return Line(new_symbol[keep], line.first[keep], new_stop[keep]), meaning, weights
