"""Copies of a loop that differ from it: a kernel missing, one more, one swapped."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.align import Alignment, align
from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.forms import Form, Streamed, settle
from perfetto_autoviz.steps.patterns.kernels import Order
from perfetto_autoviz.steps.patterns.limits import (
    LARGEST_EDGE,
    LITTLE_DAMAGE,
    PARTIAL,
    SMALLEST_TOLERANT,
    TOLERANCE,
    UNBROKEN,
    allowed_edits,
)
from perfetto_autoviz.steps.patterns.line import FREE, Line, Marks

Ints = NDArray[np.int64]
Index = NDArray[np.int32]


@dataclass(frozen=True)
class Sites:
    """Stretches of free items that hold parts of a word; arrays of shape ``(sites,)``.

    Attributes:
        low: first free item there.
        high: one past the last free item there.
        start: where a copy would start by the first part found.
        stop: where it would end by the last part found.
    """

    low: Ints
    high: Ints
    start: Ints
    stop: Ints


@dataclass(frozen=True)
class NearCopy:
    """A copy that was marked: its first item, one past its last, and its edits in kernels."""

    start: int
    stop: int
    edits: int


@dataclass(frozen=True)
class Search:
    """What is looked for, and where.

    Attributes:
        line: the sequence.
        order: its kernels, for their streams.
        marks: where marks are added, on free items only.
        names: names of substrings by length.
        costs: what edits cost.
        loop: the loop's index in the level.
        copy: first item of an exact copy of it, or of another form of it.
        form: what the items of that copy are in the loop.
        enough: equal items that chance does not explain; a copy beside others needs fewer.
    """

    line: Line
    order: Order
    marks: Marks
    names: dict[int, Index]
    costs: Costs
    loop: int
    copy: int
    form: Form
    enough: float
    _known: dict[tuple[int, int, bytes, int], Alignment] = field(default_factory=dict)

    @property
    def period(self) -> int:
        """Items of the copy."""
        return len(self.form.places)

    @property
    def items(self) -> slice:
        """The exact copy."""
        return slice(self.copy, self.copy + self.period)

    @property
    def word(self) -> Index:
        """The loop's symbols."""
        return self.line.symbol[self.items]

    def fit(self, word: slice, window: slice, expected: int) -> Alignment:
        """Fit a part of the loop's exact copy into free items; both are given by items.

        Args:
            word: the part of the copy.
            window: the free items.
            expected: where in the window it would end.
        """
        mine, theirs = self._streamed(word), self._streamed(window)
        key = (word.start, word.stop, theirs.symbol.tobytes(), expected)
        if key not in self._known:
            self._known[key] = align(mine.symbol, theirs.symbol, expected, self.costs)
        found = self._known[key]
        return settle(mine, theirs, found) if found.odd and self.order.mixes_streams else found

    def _streamed(self, items: slice) -> Streamed:
        return Streamed(self.line.symbol[items], self.order.role[self.line.first[items]])

    def mark(self, begin: int, found: Alignment) -> int:
        """Mark a copy from an item on; returns where it ends."""
        cut = slice(begin, begin + len(found.position))
        self.marks.loop[cut] = self.loop
        self.marks.run[cut] = begin
        position, kind = self.form.translated(found.position, found.kind)
        self.marks.position[cut], self.marks.kind[cut] = position, kind
        return begin + len(found.position)


def mark_damaged_copies(search: Search) -> list[NearCopy]:
    """Mark the damaged copies of a loop, those with little damage first.

    A layer of another kind before a damaged one must not be taken for a copy together with a
    part of that.

    Returns:
        What was marked, in order.
    """
    allowed = allowed_edits(search.period)
    limits = sorted({min(LITTLE_DAMAGE, allowed), allowed})
    marked = [copy for most in limits for copy in mark_near_copies(search, most)]
    return sorted(marked, key=lambda copy: copy.start)


def mark_near_copies(search: Search, most: int) -> list[NearCopy]:
    """Mark the copies of a loop outside its repeats.

    Args:
        search: what is looked for.
        most: items that may be missing, extra or swapped in a copy; 0 for undamaged ones only.

    Returns:
        What was marked, in order.
    """
    marked: list[NearCopy] = []
    if search.period < SMALLEST_TOLERANT:
        return marked
    sites = _sites(search)
    weight = int(search.costs.of(search.word).sum() * TOLERANCE)
    done = 0
    columns = (sites.low, sites.high, sites.start, sites.stop)
    for low, high, start, stop in zip(*(column.tolist() for column in columns), strict=True):
        low = max(low, done)
        left, right = max(low, start - most), min(high, stop + most)
        if right - left < search.period - most:
            continue
        # Where the next copy follows, this one rather ends there than leaves a rest.
        follows = right == high and _touches(search, high - 1, high - 1, -1)
        expected = right - left if follows else stop - left
        found = search.fit(search.items, slice(left, right), expected)
        if found.odd > most or found.edits > max(weight, 1):
            continue
        begin, end = left + found.begin, left + found.end
        beside = _touches(search, begin, low, most) or _touches(search, end - 1, high - 1, -most)
        if beside or search.period - 2 * found.odd >= search.enough:
            done = search.mark(begin, found)
            marked.append(NearCopy(begin, done, found.edits))
    return marked


def _touches(search: Search, item: int, edge: int, reach: int) -> bool:
    """Whether a copy's end is near the edge of its free stretch, with the loop beyond it."""
    beyond = edge - 1 if reach > 0 else edge + 1
    inside = 0 <= beyond < len(search.line)
    return inside and abs(item - edge) <= abs(reach) and search.marks.loop[beyond] == search.loop


def mark_edges(search: Search, fences: Ints) -> None:
    """Mark an incomplete first or last copy of each track: a warm-up, a capture that was cut.

    Args:
        search: what is looked for.
        fences: the items between tracks, and the last item.
    """
    if not SMALLEST_TOLERANT <= search.period <= LARGEST_EDGE:
        return
    mine = np.flatnonzero(search.marks.loop == search.loop)
    track = np.searchsorted(fences, mine)
    edge = np.flatnonzero(np.diff(track, prepend=-1, append=-1))
    first, last = mine[edge[:-1]], mine[edge[1:] - 1]
    # Where something else parts the repeats, the loop is an inner one and its first and last
    # copies look like those at every other place.
    outermost = np.diff(edge) >= UNBROKEN * (last - first + 1)
    for a, b in zip(first[outermost].tolist(), last[outermost].tolist(), strict=True):
        _mark_edge(search, a, -1)
        _mark_edge(search, b, 1)


def _mark_edge(search: Search, item: int, way: int) -> None:
    most = allowed_edits(search.period)
    reach = search.period + most
    near = search.marks.loop[max(item - reach, 0) : item][::-1]
    if way > 0:
        near = search.marks.loop[item + 1 : item + 1 + reach]
    taken = np.flatnonzero(near != FREE)
    size = int(taken[0]) if len(taken) else len(near)
    left = item - size if way < 0 else item + 1
    if not size:
        return
    window = slice(left, left + size)
    found = search.fit(search.items, window, size if way < 0 else search.period)
    touches = found.end >= size - most if way < 0 else found.begin <= most
    if touches and found.edits <= PARTIAL * search.costs.of(search.word).sum():
        search.mark(left + found.begin, found)


def _sites(search: Search) -> Sites:
    """Where free items hold substrings that come once in the word, by their phase."""
    period, copy = search.period, search.copy
    length = max(size for size in search.names if 4 * size <= max(period, 4))
    codes = search.names[length]
    own = codes[copy : copy + period - length + 1]
    phase_of = np.full(int(codes.max()) + 1, -1, dtype=np.int32)
    value, first, count = np.unique(own, return_index=True, return_counts=True)
    phase_of[value[count == 1]] = first[count == 1]
    free = search.marks.loop == FREE
    phase = phase_of[codes]
    seed = np.flatnonzero((phase >= 0) & free[: len(codes)] & free[length - 1 :])
    edge = np.flatnonzero(free[1:] != free[:-1]) + 1
    bounds = np.concatenate([[0], edge, [len(free)]]).astype(np.int64)
    block = np.searchsorted(bounds, seed, side="right")
    low, high = bounds[block - 1], bounds[np.minimum(block, len(bounds) - 1)]
    # A seed whose ends are free but whose middle is not belongs to no single place.
    whole = seed + length <= high
    seed, low, high = seed[whole], low[whole], high[whole]
    start = seed - phase[seed]
    return _grouped(seed, start, low, high, period)


def _grouped(seed: Ints, start: Ints, low: Ints, high: Ints, period: int) -> Sites:
    if not len(seed):
        return Sites(low, high, start, start)
    apart = (
        (np.abs(start[1:] - start[:-1]) > allowed_edits(period))
        | (seed[1:] - seed[:-1] > period)
        | (low[1:] != low[:-1])
    )
    first = np.concatenate([[0], np.flatnonzero(apart) + 1]).astype(np.int64)
    last = np.concatenate([first[1:], [len(seed)]]) - 1
    return Sites(low[first], high[first], start[first], start[last] + period)
