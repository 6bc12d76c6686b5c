"""Optimal assignment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def best_assignment(gain: Floats) -> list[tuple[int, int]]:
    """Pairs of rows and columns, each at most once, with the largest sum of gains.

    Successive shortest augmenting paths with potentials (H. W. Kuhn, The Hungarian method for
    the assignment problem, 1955; R. Jonker and A. Volgenant, 1987).

    Args:
        gain: shape ``(rows, columns)``, not negative. A pair without gain is left out.

    Returns:
        The pairs by row.
    """
    if gain.shape[0] > gain.shape[1]:
        return sorted((row, column) for column, row in best_assignment(gain.T))
    rows, columns = gain.shape
    cost = -gain
    row_of = np.full(columns, -1)
    row_price, column_price = np.zeros(rows), np.zeros(columns)
    for row in range(rows):
        path = _Path(cost, row, row_of, row_price, column_price)
        path.extend()
        path.apply()
    return sorted(
        (int(row), column) for column, row in enumerate(row_of) if row >= 0 and gain[row, column]
    )


class _Path:
    """The cheapest way to give one more row a column, moving others if that pays."""

    def __init__(
        self,
        cost: Floats,
        row: int,
        row_of: NDArray[np.int64],
        row_price: Floats,
        column_price: Floats,
    ) -> None:
        self.cost, self.start, self.row_of = cost, row, row_of
        self.row_price, self.column_price = row_price, column_price
        columns = cost.shape[1]
        self.distance = np.full(columns, np.inf)
        self.before = np.full(columns, -1)
        self.done = np.zeros(columns, bool)
        self.last, self.length = -1, 0.0

    def extend(self) -> None:
        """Reach columns, the nearest first, until one is free."""
        row, column = self.start, -1
        while row >= 0:
            reduced = self.cost[row] - self.row_price[row] - self.column_price + self.length
            better = ~self.done & (reduced < self.distance)
            self.distance[better] = reduced[better]
            self.before[better] = column
            column = int(np.where(self.done, np.inf, self.distance).argmin())
            self.length = float(self.distance[column])
            self.done[column] = True
            row = int(self.row_of[column])
        self.last = column

    def apply(self) -> None:
        """Change the prices so that the path costs nothing, and move the rows along it."""
        slack = np.where(self.done, self.length - self.distance, 0.0)
        moved = self.done & (self.row_of >= 0)
        self.row_price[self.row_of[moved]] += slack[moved]
        self.row_price[self.start] += self.length
        self.column_price -= slack
        column = self.last
        while column >= 0:
            before = int(self.before[column])
            self.row_of[column] = self.start if before < 0 else self.row_of[before]
            column = before
