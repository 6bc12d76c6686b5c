"""From one line to a shorter one: find its smallest loops, mark their copies, collapse them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.almost import almost_periodic, typical_copy
from perfetto_autoviz.steps.patterns.choice import (
    Choice,
    choose_loops,
    loop_sizes,
    repeated,
    trimmed,
)
from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.counts import part_by_counts
from perfetto_autoviz.steps.patterns.forms import (
    Form,
    damaged_form,
    reordered_form,
    whole_form,
)
from perfetto_autoviz.steps.patterns.kernels import Index, Order
from perfetto_autoviz.steps.patterns.level import Runs, Segments, collect, shifted, stacked
from perfetto_autoviz.steps.patterns.limits import (
    CERTAIN_COPIES,
    CHANCE,
    PARTIAL,
)
from perfetto_autoviz.steps.patterns.line import FREE, RESERVED, Line, Marks, blank, lay_out
from perfetto_autoviz.steps.patterns.near import (
    Search,
    mark_damaged_copies,
    mark_edges,
    mark_near_copies,
)
from perfetto_autoviz.steps.patterns.partial import mark_damaged_parts, mark_partial
from perfetto_autoviz.steps.patterns.regular import release_regular
from perfetto_autoviz.steps.patterns.rotation import choose_rotation, copy_starts
from perfetto_autoviz.steps.patterns.stacks import collapse, join_copies
from perfetto_autoviz.steps.patterns.substrings import (
    Stretches,
    doubling,
    ranges,
    stretches,
    surprise,
)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Loops:
    """All loops of an order, inner ones first.

    Attributes:
        words: the symbols of each loop from where its runs start; codes of operations, and
            symbols of inner loops.
        meaning: the loop that a symbol stands for.
        runs: all runs of all loops; ``loop`` counts through ``words``.
        segments: where the runs' kernels are; ``run`` counts through ``runs``.
    """

    words: tuple[Index, ...]
    meaning: dict[int, int]
    runs: Runs
    segments: Segments


@dataclass(frozen=True)
class _Kept:
    """A loop of a level, or another form of it.

    Attributes:
        found: its stretches.
        phase: where in their period it starts.
        loop: number of the loop in the level.
        copy: first item of an exact copy.
        word: its symbols.
        form: what its items are in the loop.
        is_main: whether it is the loop itself.
    """

    found: Stretches
    phase: int
    loop: int
    copy: int
    word: Index
    form: Form
    is_main: bool


@dataclass(frozen=True)
class _Level:
    words: list[Index]
    sizes: list[int]
    marks: Marks


def find_loops(order: Order) -> Loops:
    """Find the loops of all tracks together, level by level, until nothing repeats."""
    line = lay_out(order)
    base = int(order.op.max()) + 1 if len(order) else 0
    next_symbol = base
    words: list[Index] = []
    runs, segments = collect(line, blank(line), [], base)
    all_runs, all_segments = [runs], [segments]
    costs = Costs(base, np.ones(base, dtype=np.int64))
    while (level := _smallest(line, order, costs)) is not None:
        runs, segments = collect(line, level.marks, level.sizes, base)
        all_segments.append(shifted(segments, "run", sum(map(len, all_runs))))
        all_runs.append(shifted(runs, "loop", len(words)))
        line, symbols, weights = collapse(line, level.marks, next_symbol)
        meaning = {symbol: len(words) + loop for symbol, loop in symbols.items()}
        next_symbol += len(symbols)
        words += level.words
        costs.add(level.words, meaning, weights)
    return Loops(tuple(words), costs.loop, stacked(all_runs), stacked(all_segments))


def _smallest(line: Line, order: Order, costs: Costs) -> _Level | None:
    """The loops with the smallest periods, or None if the line has none.

    What comes three times in a row decides; where nothing does, what comes so often but for
    little damage in each copy; else what comes twice, and of that what matches most.
    """
    nats = surprise(line.symbol)
    best, most = 0, 0
    for names in doubling(line.symbol):
        length = max(names)
        found = stretches(names, len(line), nats)
        matches = int((found.stop - found.start - found.period).max(initial=0))
        best, most = (length, matches) if matches > most else (best, most)
        found = repeated(found, CERTAIN_COPIES)
        choice = choose_loops(line, order, costs, found, length)
        if choice.loops:
            return _mark(line, order, costs, choice, names, nats)
    enough = _enough(line, nats)
    for names in doubling(line.symbol):
        almost = almost_periodic(line, costs, names, enough)
        if almost is not None:
            choice = Choice(loops=(almost,))
            return _mark(line, order, costs, choice, names, nats, exact=False)
    if not most:
        return None
    names = next(names for names in doubling(line.symbol) if max(names) == best)
    found = stretches(names, len(line), nats)
    choice = choose_loops(line, order, costs, found, 2 * best)
    return _mark(line, order, costs, choice, names, nats)


def _mark(
    line: Line,
    order: Order,
    costs: Costs,
    choice: Choice,
    names: dict[int, Index],
    nats: float,
    *,
    exact: bool = True,
) -> _Level:
    marks = blank(line)
    kept = _keep(line, order, costs, choice, marks, exact=exact)
    main = [one for one in kept if one.is_main]
    enough = _enough(line, nats)
    searches = [
        Search(line, order, marks, names, costs, one.loop, one.copy, one.form, enough)
        for one in kept
    ]
    for search in searches:
        mark_near_copies(search, 0)
    _reserve(choice, marks)
    for search in searches:
        release_regular(search, mark_damaged_copies(search))
    for search, one in zip(searches, kept, strict=True):
        mark_damaged_parts(search, mark_partial(search, one.found, one.phase))
    fences = np.flatnonzero(line.symbol < 0)
    for search in searches:
        mark_edges(search, fences)
    marks.loop[marks.loop == RESERVED] = FREE
    sizes = loop_sizes([one.found for one in main])
    join_copies(line, marks, sizes)
    words = part_by_counts(line, marks, [one.word for one in main], costs.base)
    return _Level(words, [*map(len, words)], marks)


def _keep(
    line: Line, order: Order, costs: Costs, choice: Choice, marks: Marks, *, exact: bool
) -> list[_Kept]:
    """Mark the exact copies of the chosen loops and of their forms."""
    kept: list[_Kept] = []
    chosen: dict[int, _Kept] = {}
    for number, found in _in_program_order(line, order, choice.loops):
        free = trimmed(found, marks)
        if len(free):
            phase = choose_rotation(free, line, order, costs)
            if not exact:
                free, phase = typical_copy(line, free, phase), 0
            main = [one for one in kept if one.is_main]
            form = _reordered(line, order, free, phase, main)
            kept.append(form or _main(line, free, phase, len(main)))
            chosen[number] = kept[-1]
            _mark_exact(marks, kept[-1])
    for found, number in choice.forms:
        free = trimmed(found, marks)
        if len(free) and number in chosen:
            form = _damaged(line, costs, free, chosen[number])
            if form is not None:
                kept.append(form)
                _mark_exact(marks, form)
    return kept


def _in_program_order(
    line: Line, order: Order, loops: Sequence[Stretches]
) -> list[tuple[int, Stretches]]:
    """The loops with their numbers; of the same kernels those first that run on one stream.

    Their order is that of the program, and hence the same in another capture of it.
    """
    numbered = [*enumerate(loops)]
    if not order.role.any():
        return numbered
    first: dict[bytes, int] = {}
    keys = []
    for number, found in numbered:
        copy = slice(int(found.origin[0]), int(found.origin[0] + found.period[0]))
        same = first.setdefault(np.sort(line.symbol[copy]).tobytes(), number)
        keys.append((same, bool(np.ptp(order.role[line.first[copy]])), number))
    return [numbered[number] for *_, number in sorted(keys)]


def _main(line: Line, found: Stretches, phase: int, loop: int) -> _Kept:
    word = _word_at(line, found, phase)
    copy = int(copy_starts(found, phase)[0])
    return _Kept(found, phase, loop, copy, word, whole_form(len(word)), is_main=True)


def _reordered(
    line: Line, order: Order, found: Stretches, phase: int, main: Sequence[_Kept]
) -> _Kept | None:
    """A loop as another order of one that there is, if it is that."""
    if not order.role.any():
        return None
    word = _word_at(line, found, phase)
    for one in main:
        form = reordered_form(one.word, word)
        if form is not None:
            return _kept_form(line, found, phase, one, form)
    return None


def _damaged(line: Line, costs: Costs, found: Stretches, main: _Kept) -> _Kept | None:
    """A loop as a damaged form of another one, if it is that."""
    form = damaged_form(main.word, _word_at(line, found, 0), costs)
    if form is None:
        return None
    places, kinds = main.form.translated(form.places, form.kinds)
    return _kept_form(line, found, 0, main, Form(form.turn, places, kinds))


def _kept_form(line: Line, found: Stretches, phase: int, main: _Kept, form: Form) -> _Kept:
    phase += form.turn
    copy = int(copy_starts(found, phase)[0])
    return _Kept(found, phase, main.loop, copy, _word_at(line, found, phase), form, is_main=False)


def _word_at(line: Line, found: Stretches, phase: int) -> Index:
    first = int(copy_starts(found, phase)[0])
    return line.symbol[first : first + int(found.period[0])]


def _enough(line: Line, nats: float) -> float:
    """Equal items that chance does not explain; no number is enough if all items are equal."""
    return (math.log(max(len(line), 1)) - math.log(CHANCE)) / nats if nats > 0 else math.inf


def _mark_exact(marks: Marks, kept: _Kept) -> None:
    starts = copy_starts(kept.found, kept.phase).astype(np.int32)
    form = kept.form
    # Position by position: an array of all items at once would be larger than the marks.
    for item, (place, kind) in enumerate(
        zip(form.places.tolist(), form.kinds.tolist(), strict=True)
    ):
        at = starts + np.int32(item)
        marks.loop[at] = kept.loop
        marks.run[at] = starts
        marks.position[at] = place
        marks.kind[at] = kind


def _reserve(choice: Choice, marks: Marks) -> None:
    """Keep damaged copies out of stretches that are loops of their own."""
    for found in choice.reserved:
        taken = np.concatenate([[0], np.cumsum(marks.loop >= 0)])
        share = (taken[found.stop] - taken[found.start]) / (found.stop - found.start)
        # A larger loop around smaller ones must not hide them from one another.
        alone = found.pick(share < PARTIAL)
        item = ranges(alone.start, alone.stop - alone.start)
        marks.loop[item[marks.loop[item] == FREE]] = RESERVED
