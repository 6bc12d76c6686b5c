"""Which of the periodic stretches become loops of a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.align import Alignment, align
from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.kernels import Index, Order
from perfetto_autoviz.steps.patterns.limits import (
    MOST_COMPARED,
    NOISE_COPIES,
    NOISE_RATIO,
    TOLERANCE,
    allowed_edits,
)
from perfetto_autoviz.steps.patterns.line import FREE, Line, Marks
from perfetto_autoviz.steps.patterns.substrings import Stretches, ranges

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """The loops of a level, and stretches to leave alone.

    Attributes:
        loops: the stretches of each loop, the loop with the most matches first.
        forms: the stretches of a damaged form of a loop, as other ranks run it, and the number
            of the loop.
        reserved: stretches of larger loops, which come at a later level.
    """

    loops: tuple[Stretches, ...]
    forms: tuple[tuple[Stretches, int], ...] = ()
    reserved: tuple[Stretches, ...] = ()


@dataclass(frozen=True, eq=False)
class _Candidate:
    found: Stretches
    matches: int
    copies: float
    later: bool
    ranks: frozenset[int]
    word: Index


def repeated(found: Stretches, copies: int) -> Stretches:
    """The stretches of words that repeat so many times in one of their stretches."""
    enough = found.stop - found.start >= copies * found.period
    return found.pick(np.isin(found.word, found.word[enough]))


def choose_loops(line: Line, order: Order, costs: Costs, found: Stretches, length: int) -> Choice:
    """Split stretches into loops of this level and of later ones.

    Inner loops come first: periods up to the named length. Not a loop of its own is one
    that is similar to a larger one and that either other ranks run in its place, or that
    repeats a few times only: where a copy lacks an item, the items around it repeat once at
    a wrong distance.

    Args:
        line: the sequence.
        order: the kernels, for their ranks.
        costs: what edits cost.
        found: the stretches that ``length`` could find.
        length: longest period of this level.
    """
    candidates = sorted(
        (_candidate(line, order, one, length) for one in _by_word(found)),
        key=lambda one: (-one.matches, int(one.found.start[0])),
    )
    own: list[_Candidate] = []
    forms: list[tuple[_Candidate, _Candidate]] = []
    for one in candidates:
        compared = own[:MOST_COMPARED]
        elsewhere = [other for other in compared if _elsewhere(other, one, costs)]
        if elsewhere:
            forms.append((one, min(elsewhere, key=lambda other: _odd(other.word, one.word, costs))))
        elif not any(_is_noise_of(other, one, costs) for other in compared):
            own.append(one)
    loops = [one for one in own if not one.later]
    return Choice(
        loops=tuple(one.found for one in loops),
        forms=tuple((one.found, loops.index(larger)) for one, larger in forms if not larger.later),
        reserved=tuple(
            one.found
            for one in own
            if one.later and not any(_repeats(part.word, one.word, costs) for part in loops)
        ),
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
    if not len(found):
        return []
    return [found.pick(part) for part in np.split(order, edges)]


def _candidate(line: Line, order: Order, found: Stretches, length: int) -> _Candidate:
    tracks = np.searchsorted(order.bounds(), line.first[found.start], side="right") - 1
    period, origin = int(found.period[0]), int(found.origin[0])
    return _Candidate(
        found=found,
        matches=int((found.stop - found.start - found.period).sum()),
        copies=float(np.max((found.stop - found.start) / period)),
        later=period > length,
        ranks=frozenset(order.tracks[t].rank for t in np.unique(tracks).tolist()),
        word=line.symbol[origin : origin + period],
    )


def _elsewhere(larger: _Candidate, one: _Candidate, costs: Costs) -> bool:
    """Whether a loop is what other ranks run in place of one that has more matches."""
    size, most = len(larger.word), allowed_edits(len(larger.word))
    if not most or larger.ranks & one.ranks or abs(size - len(one.word)) > most:
        return False
    return _similar(larger.word, one.word, costs)


def _is_noise_of(larger: _Candidate, one: _Candidate, costs: Costs) -> bool:
    """Whether a loop is damage in the repeats of another one that has more matches."""
    size, most = len(larger.word), allowed_edits(len(larger.word))
    copies = larger.matches / size
    noise = one.copies < NOISE_COPIES and len(one.found) * NOISE_RATIO <= copies
    # Noise repeats a part of the larger loop, and so may an inner loop, but in each copy.
    return noise and len(one.word) <= size + most and _similar(one.word, larger.word, costs)


def _similar(word: Index, cycle: Index, costs: Costs) -> bool:
    """Whether a word is found, all but a few items, in the repeats of another."""
    found = _fit(word, cycle, costs)
    return found.odd <= allowed_edits(len(word)) and found.edits <= TOLERANCE * int(
        costs.of(word).sum()
    )


def _repeats(word: Index, larger: Index, costs: Costs) -> bool:
    """Whether a larger word is several damaged copies of another one, and nothing else."""
    most = allowed_edits(len(word))
    found = _fit(word, larger, costs)
    rest = np.roll(larger, -found.end)[: len(larger) - len(found.position)]
    while found.odd <= most and len(rest) >= len(word) - most > 0:
        found = align(word, rest, len(word), costs)
        if found.begin > 0:
            return False
        rest = rest[found.end :]
    return found.odd <= most and not len(rest)


def _odd(word: Index, cycle: Index, costs: Costs) -> int:
    return _fit(word, cycle, costs).odd


def _fit(word: Index, cycle: Index, costs: Costs) -> Alignment:
    return align(word, np.concatenate([cycle, cycle]), len(word), costs)


def loop_sizes(loops: Sequence[Stretches]) -> list[int]:
    """Items of each loop."""
    return [int(found.period[0]) for found in loops]
