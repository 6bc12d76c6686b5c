"""The sequence at one level: kernels, and whole repeats of inner loops as one item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index, Order

FREE, FENCE, RESERVED = -1, -2, -3
"""Marks of an item that belongs to no loop yet, of one that never will, and of one that is left
alone while damaged copies are looked for."""

PLAIN, EXTRA, SWAPPED = 0, 1, 2
"""Kinds of places: what the loop has there; one more; something else in its place."""

INNER = 4
"""Added to the kind of a segment that is an inner loop instead of kernels."""


@dataclass(frozen=True)
class Line:
    """A sequence of items; arrays of shape ``(items,)``.

    Attributes:
        symbol: what an item is: an operation's code, or a loop's symbol above all codes. A
            negative symbol, different from all others, parts two tracks.
        first: its first kernel in the order.
        stop: one past its last kernel; equal to ``first`` between tracks.
    """

    symbol: Index
    first: Index
    stop: Index

    def __len__(self) -> int:
        return len(self.symbol)


@dataclass(frozen=True)
class Marks:
    """Where the items of a line belong; arrays of shape ``(items,)``, filled loop by loop.

    Attributes:
        loop: index of the loop among those of the level, ``FREE`` or ``FENCE``.
        run: an item that identifies the run: its first.
        position: position in the loop, -1 for an extra item.
        kind: ``PLAIN``, ``EXTRA`` or ``SWAPPED``.
    """

    loop: Index
    run: Index
    position: Index
    kind: NDArray[np.int8]


def lay_out(order: Order) -> Line:
    """The line of the kernels themselves, tracks parted by a fence."""
    bounds = order.bounds()
    tracks = len(order.tracks)
    size = len(order) + tracks
    symbol = np.empty(size, dtype=np.int32)
    first = np.empty(size, dtype=np.int32)
    stop = np.empty(size, dtype=np.int32)
    for number in range(tracks):
        a, b = int(bounds[number]), int(bounds[number + 1])
        cut = slice(a + number, b + number)
        symbol[cut] = order.op[a:b]
        first[cut] = np.arange(a, b, dtype=np.int32)
        stop[cut] = first[cut] + 1
        symbol[b + number] = -1 - number
        first[b + number] = stop[b + number] = b
    return Line(symbol, first, stop)


def blank(line: Line) -> Marks:
    """Marks of a line in which no loop was found yet."""
    size = len(line)
    return Marks(
        loop=np.where(line.symbol < 0, FENCE, FREE).astype(np.int32),
        run=np.full(size, -1, dtype=np.int32),
        position=np.full(size, -1, dtype=np.int32),
        kind=np.zeros(size, dtype=np.int8),
    )
