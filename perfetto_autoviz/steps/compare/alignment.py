"""The cheapest way to turn one sequence into another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.compare.costs import (
    GAP,
    GROUP,
    GROUP_DURATION,
    GROUP_GROWTH,
    NEVER,
    REPEAT,
    Costs,
    Ints,
    mismatch,
)
from perfetto_autoviz.steps.compare.limits import (
    LARGEST_GROUP,
    LARGEST_GROUP_OF_MANY,
    MANY_CELLS,
)

Floats = NDArray[np.float64]
Moves = NDArray[np.int8]

_REMOVE, _ADD, _PAIR = 0, 1, 2
"""Ways to reach a cell; n > 2 splits A's into n - 1, n < 0 fuses 1 - n of A's."""


@dataclass(frozen=True)
class Block:
    """Neighbours of A that became neighbours of B.

    Attributes:
        a: the first of A's and one past the last; empty where something was added.
        b: the first of B's and one past the last; empty where something was removed.
        cost: what it costs.
    """

    a: tuple[int, int]
    b: tuple[int, int]
    cost: float


@dataclass(frozen=True)
class Alignment:
    """All blocks in order, which hold every element of both sequences once.

    Attributes:
        blocks: the blocks.
        cost: sum of their costs.
    """

    blocks: tuple[Block, ...]
    cost: float


def align(costs: Costs) -> Alignment:
    """The cheapest global alignment (S. B. Needleman and C. D. Wunsch, 1970).

    Beside pairs and gaps, one element may stand for up to ``LARGEST_GROUP`` neighbours of the
    other side. Each row is computed at once.
    """
    rows, columns = costs.pair.shape
    table = np.empty((rows + 1, columns + 1))
    moves = np.full((rows + 1, columns + 1), _ADD, np.int8)
    gaps = GAP * np.arange(columns + 1)
    table[0] = gaps
    back = costs.swapped()
    largest = LARGEST_GROUP if rows * columns <= MANY_CELLS else LARGEST_GROUP_OF_MANY
    repeats_a, repeats_b = (_repeats(kind, largest) for kind in (costs.kind_a, costs.kind_b))
    for row in range(1, rows + 1):
        best, move = table[row - 1] + GAP, np.full(columns + 1, _REMOVE, np.int8)
        _take(best, move, table[row - 1, :-1] + costs.pair[row - 1], 1, _PAIR)
        _split(best, move, table[row - 1], costs, row - 1, repeats_b)
        _fuse(best, move, table, back, row, repeats_a)
        # What is added costs the same everywhere, so that the cheapest cell to the left
        # from which to add is a running minimum.
        from_here = best - gaps
        cheapest = np.minimum.accumulate(from_here)
        adds = cheapest < from_here
        table[row] = np.where(adds, cheapest + gaps, best)
        moves[row] = np.where(adds, _ADD, move)
    return _trace(table, moves)


def _take(best: Floats, move: Moves, candidate: Floats, first: int, code: int) -> None:
    cheaper = candidate < best[first:]
    best[first:][cheaper] = candidate[cheaper]
    move[first:][cheaper] = code


def _split(
    best: Floats, move: Moves, before: Floats, costs: Costs, row: int, repeats: Floats
) -> None:
    """A's element of this row for several of B's neighbours."""
    whole = costs.dur_a[row]
    core, companion, dur = costs.core[row], costs.companion_b[row], costs.dur_b
    total, further, main = dur, companion, core - companion
    for more in range(1, min(len(repeats), len(core))):
        total = total[:-1] + dur[more:]
        further = further[:-1] + companion[more:]
        main = np.minimum(main[:-1], core[more:] - companion[more:])
        cost = GROUP + main + further + repeats[more, more:]
        cost = cost + _weight(more + 1) * mismatch(total, np.full(len(total), whole))
        _take(best, move, before[: -more - 1] + cost, more + 1, more + 2)


def _fuse(best: Floats, move: Moves, table: Floats, back: Costs, row: int, repeats: Floats) -> None:
    """Several of A's neighbours, up to this row, for one of B's."""
    low = max(row - len(repeats), 0)
    core, companion = back.core[:, low:row], back.companion_b[:, low:row]
    total, further, main = np.zeros(len(core)), np.zeros(len(core)), np.full(len(core), NEVER)
    for size in range(1, row - low + 1):
        total = total + back.dur_b[row - size]
        further = further + companion[:, -size]
        main = np.minimum(main, core[:, -size] - companion[:, -size])
        if size > 1:
            cost = GROUP + main + further + repeats[size - 1, row - 1]
            cost = cost + _weight(size) * mismatch(total, back.dur_a)
            _take(best, move, table[row - size, :-1] + cost, 1, 1 - size)


def _repeats(kind: Ints, largest: int) -> Floats:
    """What it costs that groups hold something twice.

    Returns:
        Shape ``(largest, elements)``: row ``n`` is for groups of ``n + 1``, by their last.
    """
    last: dict[int, int] = {}
    since = np.full(len(kind), largest)
    for number, one in enumerate(kind.tolist()):
        since[number] = number - last.get(one, -largest)
        last[one] = number
    cost = np.zeros((largest, len(kind)))
    for more in range(1, largest):
        # One more in front: what it has an equal of further back in the group costs.
        for back in range(more):
            member = since[more - back :] if back == 0 else since[more - back : -back]
            cost[more, more:] += REPEAT * (member <= more - back)
    return cost


def _weight(size: int) -> float:
    """How much a group of a size must take as long as what it stands for."""
    return GROUP_DURATION + GROUP_GROWTH * (size - 2)


def _trace(table: Floats, moves: Moves) -> Alignment:
    row, column = table.shape[0] - 1, table.shape[1] - 1
    blocks = []
    while row or column:
        move = int(moves[row, column])
        height, width = _size(move)
        cost = table[row, column] - table[row - height, column - width]
        blocks.append(Block((row - height, row), (column - width, column), float(cost)))
        row, column = row - height, column - width
    return Alignment(tuple(reversed(blocks)), float(table[-1, -1]))


def _size(move: int) -> tuple[int, int]:
    """How many of A's and of B's a move takes."""
    if move == _REMOVE:
        return 1, 0
    if move == _ADD:
        return 0, 1
    return (1, move - 1) if move > 0 else (1 - move, 1)
