"""Names for all substrings of a length, and the stretches of a sequence with a period.

Substrings of length 2k are named by the pair of names of their halves (R. M. Karp, R. E.
Miller, A. L. Rosenberg, "Rapid identification of repeated patterns in strings, trees and
arrays", STOC 1972: the prefix doubling that also builds suffix arrays). Two names are
equal exactly if the substrings are equal; nothing is hashed away. A substring of length k
that comes again p <= k later makes k + p items periodic, and p is their smallest period if
that is the next time it comes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.limits import SMALLEST_PERIOD, needed_matches

Ints = NDArray[np.int64]
Names = NDArray[np.int32]

Some = TypeVar("Some", Ints, Names)

RADIX = 1 << 16
"""Below so many names numpy sorts them by radix, in linear time."""


@dataclass(frozen=True)
class Stretches:
    """Maximal stretches with a period; arrays of shape ``(stretches,)``, by start.

    Attributes:
        start: first item.
        stop: one past the last item; at least two periods after ``start``.
        period: the smallest period.
        word: equal for stretches that repeat the same cyclic word.
        origin: an item of the first period; equal words start there.
    """

    start: Ints
    stop: Ints
    period: Ints
    word: Ints
    origin: Ints

    def __len__(self) -> int:
        return len(self.start)

    def pick(self, which: NDArray[np.bool_] | Ints) -> Stretches:
        """Some of the stretches."""
        return Stretches(
            self.start[which],
            self.stop[which],
            self.period[which],
            self.word[which],
            self.origin[which],
        )


def surprise(symbol: Names) -> float:
    """Nats that an equality of two items is worth: ``-ln`` of its chance in a shuffle."""
    if not len(symbol):
        return 0.0
    counts = np.unique(symbol, return_counts=True)[1] / len(symbol)
    return -math.log(float(np.sum(counts**2)))


def doubling(symbol: Names) -> Iterator[dict[int, Names]]:
    """Names of all substrings of lengths 1, 2, 4, …, until none comes twice.

    Yields:
        After each doubling the names by length k, an eighth of the longest one and above; they
        have shape ``(len(symbol) - k + 1,)`` and count from 0 in order of appearance.
    """
    names = {1: _factorize(symbol)}
    length = 1
    while 2 * length <= len(symbol):
        codes = names[length]
        count = int(codes.max()) + 1
        if count == len(codes):
            return
        pairs = codes[:-length].astype(np.int64)
        pairs *= count
        pairs += codes[length:]
        length *= 2
        names[length] = _factorize(pairs)
        del pairs
        yield names
        names.pop(length // 8, None)


def count_substrings(symbol: Names, length: int) -> int:
    """Number of different substrings of a length, a power of two.

    If all are different already at a smaller length, their number is that of this length.
    """
    count = 0
    for names in doubling(symbol):
        count = int(names[max(names)].max()) + 1
        if max(names) == length:
            break
    return count


def next_distance(codes: Names) -> Names:
    """Distance to the next item with the same code, 0 where there is none."""
    narrow = codes.astype(np.uint16) if len(codes) and codes.max() < RADIX else codes
    order = np.argsort(narrow, kind="stable").astype(np.int32)
    same = codes[order[1:]] == codes[order[:-1]]
    distance = np.zeros(len(codes), dtype=np.int32)
    distance[order[:-1][same]] = (order[1:] - order[:-1])[same]
    return distance


def stretches(names: dict[int, Names], items: int, nats: float) -> Stretches:
    """Stretches that chance does not explain, with periods around the longest named length.

    With k that length, every stretch with a period of (k/2, k] is found that is at least
    k + p long, and so every one of three copies; those of periods between k and 2k, and at
    least two copies, as far as no substring of length k comes twice within the period.

    Args:
        names: as ``doubling`` yields them.
        items: length of the sequence.
        nats: the sequence's ``surprise``.
    """
    length = max(names)
    distance = next_distance(names[length])
    edge = np.flatnonzero(distance[1:] != distance[:-1]) + 1
    first = np.concatenate([np.zeros(1, dtype=np.int64), edge])
    last = np.concatenate([edge, np.array([len(distance)])]) - 1
    period = distance[first].astype(np.int64)
    fits = (period > length // 2) & (period < 2 * length) & (period >= SMALLEST_PERIOD)
    first, last, period = first[fits], last[fits], period[fits]
    stop = last + length + period
    matches = stop - first - period
    real = (matches >= period) & (matches >= needed_matches(period, items, nats))
    return _with_words(first[real], stop[real], period[real], names)


def ranges(start: Some, count: NDArray[np.integer]) -> Some:
    """All integers of the ranges ``start`` to ``start + count``, one after the other.

    The result has the type of ``start``, which has to hold the number of all of them.
    """
    total = int(count.sum())
    values = np.arange(total, dtype=start.dtype)
    offset = (np.cumsum(count) - count).astype(start.dtype)
    values += np.repeat(start - offset, count)
    return values


def _with_words(start: Ints, stop: Ints, period: Ints, names: dict[int, Names]) -> Stretches:
    """Give equal cyclic words the same number: their smallest name over all rotations."""
    if not len(start):
        empty = np.empty(0, dtype=np.int64)
        return Stretches(empty, empty, empty, empty, empty)
    codes = names[max(names)]
    length = max(names)
    item = ranges(start, period)
    key = codes[item].astype(np.int64)
    # A rotation longer than the names has two of them, of its start and of its end.
    rest = np.repeat(np.maximum(period - length, 0), period)
    key = key * (int(codes.max()) + 1) + np.where(rest > 0, codes[item + rest], 0)
    offset = np.cumsum(period) - period
    smallest = np.minimum.reduceat(key, offset)
    at = np.where(key == np.repeat(smallest, period), item, np.iinfo(np.int64).max)
    origin = np.minimum.reduceat(at, offset)
    word = np.unique(np.stack([period, smallest]), axis=1, return_inverse=True)[1].ravel()
    return Stretches(start, stop, period, word.astype(np.int64), origin)


def _factorize(values: NDArray[np.integer]) -> Names:
    return pd.factorize(values)[0].astype(np.int32)
