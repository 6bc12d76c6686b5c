"""Loops that are two similar parts in turn, as two kinds of layer are."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.steps.patterns.align import align
from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.limits import LARGEST_PAIR, SMALLEST_TOLERANT, TOLERANCE


def similar_parts(word: Index) -> tuple[int, ...]:
    """First positions of a loop's two similar parts, or nothing if it has none.

    Args:
        word: symbols of the loop from where its runs start.
    """
    size = len(word)
    if not 2 * SMALLEST_TOLERANT <= size <= LARGEST_PAIR:
        return ()
    base = int(word.max()) + 1
    costs = Costs(base, np.ones(base, dtype=np.int64))
    middle, reach = size // 2, int(TOLERANCE * size / 2)
    cuts = sorted(range(middle - reach, middle + reach + 1), key=lambda cut: abs(2 * cut - size))
    edits = [_edits(word[:cut], word[cut:], costs) for cut in cuts]
    best = int(np.argmin(edits))
    return (0, cuts[best]) if edits[best] <= TOLERANCE * size / 2 else ()


def _edits(one: Index, other: Index, costs: Costs) -> int:
    found = align(one, other, len(other), costs)
    return found.edits + len(other) - len(found.position)
