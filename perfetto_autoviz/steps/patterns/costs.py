"""What an edit of a line weighs: as many kernels as it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.align import align
from perfetto_autoviz.steps.patterns.kernels import Index

Ints = NDArray[np.int64]


@dataclass
class Costs:
    """Weights of a line's symbols, and the distances between them.

    Attributes:
        base: smallest symbol that stands for an inner loop.
        weight: kernels of an item by its symbol; the median where repeats differ.
        loop: the loop by symbol, for symbols from ``base`` on.
        words: the symbols of each loop.
    """

    base: int
    weight: Ints
    loop: dict[int, int] = field(default_factory=dict)
    words: list[Index] = field(default_factory=list)
    _known: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, words: Sequence[Index], meaning: dict[int, int], weights: Sequence[int]) -> None:
        """Add the loops of a level, and their symbols with the weights of these."""
        self.words += words
        self.loop |= meaning
        self.weight = np.concatenate([self.weight, np.array(weights, dtype=np.int64)])

    def of(self, symbols: Index) -> Ints:
        """Kernels of each item, shape as ``symbols``."""
        return self.weight[symbols]

    def swaps(self, word: Index, window: Index) -> dict[int, Ints]:
        """By symbol of a word, the cost of each item of a window in its place; 0 if equal."""
        weight = self.weight[window]
        loops = set(window[window >= self.base].tolist())
        table: dict[int, Ints] = {}
        for symbol in set(word.tolist()):
            cost = np.maximum(weight, self.weight[symbol])
            for other in loops if symbol >= self.base else ():
                cost[window == other] = self.distance(symbol, other)
            cost[window == symbol] = 0
            table[symbol] = cost
        return table

    def distance(self, one: int, other: int) -> int:
        """Kernels by which a repeat of one loop differs from a repeat of another."""
        if one == other:
            return 0
        key = (min(one, other), max(one, other))
        if key not in self._known:
            self._known[key] = self._distance(*key)
        return self._known[key]

    def _distance(self, one: int, other: int) -> int:
        large = max(int(self.weight[one]), int(self.weight[other]))
        word, window = self.words[self.loop[one]], self.words[self.loop[other]]
        edits = align(word, np.concatenate([window, window]), len(window), self).edits
        whole = max(int(self.of(word).sum()), int(self.of(window).sum()))
        return max(1, round(large * min(edits / whole, 1.0)))
