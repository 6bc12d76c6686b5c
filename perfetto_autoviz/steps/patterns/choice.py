"""Which of the periodic stretches become loops of a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.align import align
from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.kernels import Index, Order
from perfetto_autoviz.steps.patterns.limits import TOLERANCE, allowed_edits
from perfetto_autoviz.steps.patterns.line import FREE, Line, Marks
from perfetto_autoviz.steps.patterns.substrings import Stretches, ranges

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """The loops of a level, and stretches to leave alone.

    Attributes:
        loops: the stretches of each loop, the loop with the most matches first.
        reserved: stretches of larger loops, which come at a later level.
    """

    loops: tuple[Stretches, ...]
    reserved: tuple[Stretches, ...]


@dataclass(frozen=True)
class _Candidate:
    found: Stretches
    matches: int
    later: bool
    ranks: frozenset[int]
    word: Index


def choose_loops(line: Line, order: Order, costs: Costs, found: Stretches, length: int) -> Choice:
    """Split stretches into loops of this level and of later ones.

    Inner loops come first: periods up to the named length; only where there are none, larger
    ones that repeat but once and that longer names would therefore miss. What one rank
    runs in place of another's similar loop is that loop with exceptions, no loop of its own.

    Args:
        line: the sequence.
        order: the kernels, for their ranks.
        costs: what edits cost.
        found: the stretches that ``length`` could find.
        length: longest named length.
    """
    candidates = sorted(
        (_candidate(line, order, one, length) for one in _by_word(found)),
        key=lambda one: (-one.matches, int(one.found.start[0])),
    )
    own = [
        one
        for number, one in enumerate(candidates)
        if not any(_stands_for(bigger, one, costs) for bigger in candidates[:number])
    ]
    now = [one for one in own if not one.later]
    if not now:
        now = [one for one in own if not _found_again(one.found, length)]
    return Choice(
        loops=tuple(one.found for one in now),
        reserved=tuple(one.found for one in own if not any(one is chosen for chosen in now)),
    )


def trimmed(found: Stretches, marks: Marks) -> Stretches:
    """The parts of stretches that are still free and hold at least two periods."""
    if not np.any(marks.loop >= 0):
        return found
    item = ranges(found.start, found.stop - found.start)
    free = marks.loop[item] == FREE
    if free.all():
        return found
    owner = np.repeat(np.arange(len(found)), found.stop - found.start)[free]
    item = item[free]
    new = np.flatnonzero((np.diff(owner) != 0) | (np.diff(item) != 1)) + 1
    first = np.concatenate([[0], new]).astype(np.int64)[: len(item)]
    last = np.concatenate([new, [len(item)]]).astype(np.int64)[: len(first)] - 1
    parts = found.pick(owner[first])
    cut = Stretches(item[first], item[last] + 1, parts.period, parts.word, parts.origin)
    return cut.pick(cut.stop - cut.start >= 2 * cut.period)


def _by_word(found: Stretches) -> list[Stretches]:
    order = np.argsort(found.word, kind="stable")
    edges = np.flatnonzero(np.diff(found.word[order])) + 1
    return [found.pick(part) for part in np.split(order, edges)]


def _candidate(line: Line, order: Order, found: Stretches, length: int) -> _Candidate:
    tracks = np.searchsorted(order.bounds(), line.first[found.start], side="right") - 1
    period, origin = int(found.period[0]), int(found.origin[0])
    return _Candidate(
        found=found,
        matches=int((found.stop - found.start - found.period).sum()),
        later=period > length,
        ranks=frozenset(order.tracks[t].rank for t in np.unique(tracks).tolist()),
        word=line.symbol[origin : origin + period],
    )


def _found_again(found: Stretches, length: int) -> bool:
    """Whether names of twice the length find one of the stretches, too."""
    return bool(np.any(found.stop - found.start >= 2 * length + found.period))


def _stands_for(bigger: _Candidate, one: _Candidate, costs: Costs) -> bool:
    """Whether one loop is what other ranks run in place of a bigger one."""
    most = allowed_edits(len(bigger.word))
    if not most or bigger.ranks & one.ranks or abs(len(bigger.word) - len(one.word)) > most:
        return False
    twice = np.concatenate([one.word, one.word])
    found = align(bigger.word, twice, len(one.word), costs)
    return found.odd <= most and found.edits <= TOLERANCE * costs.of(bigger.word).sum()


def loop_sizes(loops: Sequence[Stretches]) -> list[int]:
    """Items of each loop."""
    return [int(found.period[0]) for found in loops]
