"""The rotation at which one cyclic sequence is most like another."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein


@dataclass(frozen=True)
class Rotated:
    """How alike two cyclic sequences are at best.

    Attributes:
        rotation: how far the second one is rotated: it then starts with its element of this
            number; 0 if no other is better.
        distance: insertions, deletions and replacements between the two.
        similarity: 1 less the distance per element of the longer one.
    """

    rotation: int
    distance: int
    similarity: float


def best_rotation(one: Sequence[Hashable], other: Sequence[Hashable]) -> Rotated:
    """The rotation of ``other`` with the smallest Levenshtein distance to ``one``.

    The distance at the best rotation of one side is that of the cyclic sequences (M. Maes, On a
    cyclic string-to-string correction problem, Information Processing Letters 35, 1990): an
    alignment can be cut anywhere. So it doesn't depend on how either side is rotated, and is
    the same both ways.

    A rotation by one more costs at most one deletion and one insertion more. So a stretch of
    rotations can be left out as soon as its two ends show that nothing better lies between;
    the result is exact.
    """
    longest = max(len(one), len(other))
    if not one or not other:
        return Rotated(0, longest, 0.0 if longest else 1.0)
    search = _Search(one, other)
    rotation, distance = search.run()
    return Rotated(rotation, distance, 1 - distance / longest)


class _Search:
    """Best first over stretches of rotations whose ends are known."""

    def __init__(self, one: Sequence[Hashable], other: Sequence[Hashable]) -> None:
        codes: dict[Hashable, int] = {}
        self.one = [codes.setdefault(item, len(codes)) for item in one]
        coded = [codes.setdefault(item, len(codes)) for item in other]
        self.size = len(coded)
        self.twice = coded + coded
        common = sum((Counter(self.one) & Counter(coded)).values())
        # No rotation helps with what is not on both sides.
        self.least = max(len(one), len(other)) - common
        self.known: dict[int, int] = {}

    def at(self, rotation: int) -> int:
        """The distance at a rotation; ``size`` is the same as 0."""
        rotation %= self.size
        if rotation not in self.known:
            self.known[rotation] = int(
                Levenshtein.distance(self.one, self.twice[rotation : rotation + self.size])
            )
        return self.known[rotation]

    def bound(self, low: int, high: int) -> int:
        """No rotation between these two has a smaller distance."""
        # Both ends allow at best a slope of two towards the middle.
        return max(-(-(self.at(low) + self.at(high) - 2 * (high - low)) // 2), self.least)

    def run(self) -> tuple[int, int]:
        best = (self.at(0), 0)
        open_ = [(self.bound(0, self.size), 0, self.size)]
        while open_:
            bound, low, high = heapq.heappop(open_)
            if bound >= best[0]:
                break
            middle = (low + high) // 2
            if middle == low:
                continue
            best = min(best, (self.at(middle), middle))
            for a, b in ((low, middle), (middle, high)):
                heapq.heappush(open_, (self.bound(a, b), a, b))
        return best[1], best[0]
