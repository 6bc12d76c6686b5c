"""Arithmetic over rows that have equal keys."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.steps.intervals import Ints


def code_of(*keys: Ints) -> Ints:
    """One number per row from several, equal where all are equal, in the order of the keys."""
    code = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        distinct, number = np.unique(key, return_inverse=True)
        # Numbers stay small, so that products of many do.
        code = np.unique(code * max(len(distinct), 1) + number.ravel(), return_inverse=True)[1]
    return code.ravel().astype(np.int64)


def count_of(code: Ints) -> Ints:
    """How many rows have the same code, for each row."""
    return np.asarray(np.bincount(code)[code] if len(code) else code, np.int64)


def ordinal_of(code: Ints, order: Ints) -> Ints:
    """Number of each row among those of its code, from 0, ordered by other numbers."""
    sort = np.lexsort((order, code))
    new = np.diff(code[sort], prepend=-1) != 0
    index = np.arange(len(sort))
    number = np.empty(len(sort), np.int64)
    number[sort] = index - np.maximum.accumulate(np.where(new, index, 0))
    return number


def most_frequent(values: Ints, code: Ints) -> Ints:
    """For each row the value that most rows of its code have, the least of several.

    Args:
        values: never negative.
        code: from `code_of`.
    """
    if not len(values):
        return values
    pair, count = np.unique(code * (int(values.max()) + 1) + values, return_counts=True)
    of, value = np.divmod(pair, int(values.max()) + 1)
    sort = np.lexsort((value, -count, of))
    first = sort[np.diff(of[sort], prepend=-1) != 0]
    best = np.empty(int(of.max()) + 1, np.int64)
    best[of[first]] = value[first]
    return np.asarray(best[code], np.int64)
