"""Fitting a loop's word into a window of a line with the fewest edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.line import EXTRA, PLAIN, SWAPPED

Ints = NDArray[np.int64]
Index = NDArray[np.int32]


class EditCosts(Protocol):
    """What edits cost."""

    def of(self, symbols: Index) -> Ints:
        """Cost of leaving each symbol out, or of putting it in."""

    def swaps(self, word: Index, window: Index) -> dict[int, Ints]:
        """By symbol of a word, the cost of each symbol of a window in its place."""


@dataclass(frozen=True)
class Alignment:
    """The best place of a word in a window.

    Attributes:
        edits: kernels that are missing, extra or swapped.
        odd: items that are missing, extra or swapped.
        begin: first item of the window that takes part.
        position: position in the word of each item from there on, -1 for an extra one.
        kind: kind of each of these items.
    """

    edits: int
    odd: int
    begin: int
    position: Index
    kind: NDArray[np.int8]

    @property
    def end(self) -> int:
        """One past the last item of the window that takes part."""
        return self.begin + len(self.position)


def align(word: Index, window: Index, expected: int, costs: EditCosts) -> Alignment:
    """Fit a whole word somewhere into a window with the cheapest edits.

    The dynamic programme of P. H. Sellers, "The theory and computation of evolutionary
    distances: pattern recognition", Journal of Algorithms 1 (1980), with weights.

    Args:
        word: symbols of the loop.
        window: symbols in which it is looked for.
        expected: where it would end; of several equally good ends the nearest one is taken of
            those after which the word may start again.
        costs: what edits cost.
    """
    out = costs.of(word)
    ahead = np.concatenate([[0], np.cumsum(costs.of(window))])
    swaps = costs.swaps(word, window)
    table = np.zeros((len(word) + 1, len(window) + 1), dtype=np.int64)
    for row, symbol in enumerate(word.tolist(), start=1):
        best = table[row - 1] + out[row - 1]
        best[1:] = np.minimum(best[1:], table[row - 1, :-1] + swaps[symbol])
        # An extra item adds its cost to its left neighbour: a running minimum along the row.
        table[row] = np.minimum.accumulate(best - ahead) + ahead
    ends = np.flatnonzero(table[-1] == table[-1].min())
    again = ends[np.append(window, word[:1])[ends] == word[:1]]
    ends = again if len(again) else ends
    end = int(ends[np.argmin(np.abs(ends - expected))])
    return _trace(word, table, end, ahead, swaps)


def _trace(word: Index, table: Ints, end: int, ahead: Ints, swaps: dict[int, Ints]) -> Alignment:
    row, column, missing = len(word), end, 0
    places: list[tuple[int, int]] = []
    while row:
        here = table[row, column]
        swap = int(swaps[int(word[row - 1])][column - 1]) if column else 0
        extra = int(ahead[column] - ahead[column - 1]) if column else 0
        # An extra item first: what is swapped at an edge would leave the true one outside.
        if column and swap and here == table[row, column - 1] + extra:
            column -= 1
            places.append((-1, EXTRA))
        elif column and here == table[row - 1, column - 1] + swap:
            row, column = row - 1, column - 1
            places.append((row, SWAPPED if swap else PLAIN))
        else:
            row -= 1
            missing += 1
    position, kind = zip(*reversed(places), strict=True) if places else ((), ())
    return Alignment(
        edits=int(table[-1, end]),
        odd=missing + sum(one != PLAIN for one in kind),
        begin=column,
        position=np.array(position, dtype=np.int32),
        kind=np.array(kind, dtype=np.int8),
    )
