"""Shares of runs, with how sure they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

SIGMAS_95 = 1.959964
"""Standard deviations of a normal distribution that hold 95 % of it."""


@dataclass(frozen=True)
class Rate:
    """So many of so many.

    Attributes:
        hits: those that count.
        count: all of them.
    """

    hits: int
    count: int

    @property
    def share(self) -> float:
        """Their share, NaN of none."""
        return self.hits / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval, which holds the true share with 95 % (Wilson 1927)."""
        if not self.count:
            return 0.0, 1.0
        square = SIGMAS_95**2
        middle = (self.hits + square / 2) / (self.count + square)
        spread = math.sqrt(self.share * (1 - self.share) / self.count + square / 4 / self.count**2)
        half = SIGMAS_95 * spread / (1 + square / self.count)
        return max(middle - half, 0.0), min(middle + half, 1.0)

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.hits + other.hits, self.count + other.count)
