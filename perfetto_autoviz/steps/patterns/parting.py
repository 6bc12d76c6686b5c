"""Which of two runs a group of kernels of another stream belongs to, where it lies across both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def keep_groups_whole(run: Ints, op: Ints) -> Ints:
    """Give the usual kernels beside a run to one run where they lie across two.

    What another stream runs beside a layer starts a little earlier or later each time, so that
    the start of a layer parts it now and then.

    Args:
        run: the run that each kernel of one stream lies beside, in order of time.
        op: their operations.

    Returns:
        The runs, of which none gets a second group.
    """
    word = _usual(run, op)
    size = len(word)
    start = _places(word, op)
    if size < 2 or not len(start):
        return run
    item = start[:, None] + np.arange(size)
    first, last = run[item[:, 0]], run[item[:, -1]]
    whole = first == last
    free_first, free_last = (~np.isin(one, first[whole]) for one in (first, last))
    mostly_first = 2 * np.sum(run[item] == first[:, None], axis=1) >= size
    choice = np.where(free_first & (mostly_first | ~free_last), first, last)
    apart = ~whole & (free_first | free_last)
    chosen, times = np.unique(choice[apart], return_counts=True)
    apart &= np.isin(choice, chosen[times == 1])
    parted = run.copy()
    parted[item[apart]] = choice[apart, None]
    return parted


def _usual(run: Ints, op: Ints) -> Ints:
    """The operations that most runs have beside them."""
    edge = np.flatnonzero(np.diff(run, prepend=-1, append=-1))
    start, count = edge[:-1], np.diff(edge)
    if not len(start):
        return op[:0]
    size = int(np.bincount(count).argmax())
    table = op[start[count == size, None] + np.arange(size)]
    rows, times = np.unique(table, axis=0, return_counts=True)
    word: Ints = rows[int(times.argmax())]
    return word


def _places(word: Ints, op: Ints) -> Ints:
    """Where the operations run in a row, less places that overlap the one before."""
    size = len(word)
    equal = np.ones(max(len(op) - size + 1, 0), dtype=bool)
    for position, one in enumerate(word.tolist()):
        equal &= op[position : position + len(equal)] == one
    start = np.flatnonzero(equal)
    return start[np.diff(start, prepend=-size) >= size]
