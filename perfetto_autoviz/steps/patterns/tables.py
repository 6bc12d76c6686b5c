"""From loops to the tables of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index, Order, RankKernels, gather
from perfetto_autoviz.steps.patterns.kinds import similar_parts
from perfetto_autoviz.steps.patterns.line import EXTRA, INNER, PLAIN
from perfetto_autoviz.steps.patterns.loops import Loops
from perfetto_autoviz.steps.patterns.naming import Naming, name_loops
from perfetto_autoviz.steps.patterns.result import (
    EXTRA_KERNEL,
    MISSING,
    SWAPPED_KERNEL,
    Exceptions,
    Pattern,
    PatternRuns,
    Patterns,
    Positions,
    RunSegments,
    Variants,
)
from perfetto_autoviz.steps.patterns.statistics import (
    count_variants,
    merged,
    summarise,
    typical_by_group,
)
from perfetto_autoviz.steps.patterns.substrings import ranges

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Times:
    ts: Ints
    dur: Ints


def build_tables(order: Order, loops: Loops, ranks: Sequence[RankKernels]) -> Patterns:
    """Name the loops and describe them.

    Args:
        order: the kernels.
        loops: what was found in them.
        ranks: the ranks by number, as the order was made from.
    """
    times = _Times(
        gather([one.ts for one in ranks], order), gather([one.dur for one in ranks], order)
    )
    naming = name_loops(times.dur, loops.runs, loops.segments, len(loops.words))
    runs, new_row = _runs(order, times, loops, naming)
    segments = _segments(loops, new_row)
    words = [loops.words[loop] for loop in naming.loops]
    positions, variants = _positions(order, times, loops, naming, runs, segments, ranks)
    return Patterns(
        patterns=_patterns(words, naming, runs, segments, positions),
        positions=positions,
        variants=variants,
        runs=runs,
        segments=segments,
        exceptions=_exceptions(runs, segments, [len(word) for word in words]),
        tracks=order.tracks,
        source=order.source,
        by_stream=any(track.stream is not None for track in order.tracks),
    )


def _runs(order: Order, times: _Times, loops: Loops, naming: Naming) -> tuple[PatternRuns, Index]:
    runs = loops.runs
    rank = np.array([track.rank for track in order.tracks], dtype=np.int32)
    track = (np.searchsorted(order.bounds(), runs.first, side="right") - 1).astype(np.int32)
    pattern_of = np.empty(len(naming.loops), dtype=np.int32)
    pattern_of[naming.loops] = np.arange(len(naming.loops), dtype=np.int32)
    pattern = pattern_of[runs.loop]
    ts, end = _spans(times, loops)
    sort = np.lexsort((runs.first, ts, rank[track] if len(track) else track, pattern))
    new_row = np.empty(len(runs) + 1, dtype=np.int32)
    new_row[sort] = np.arange(len(runs), dtype=np.int32)
    new_row[-1] = -1
    pattern, track = pattern[sort], track[sort]
    on = rank[track] if len(track) else track
    new = np.ones(len(sort), dtype=bool)
    new[1:] = (pattern[1:] != pattern[:-1]) | (on[1:] != on[:-1])
    start = np.maximum.accumulate(np.where(new, np.arange(len(sort)), 0))
    table = PatternRuns(
        pattern=pattern,
        track=track,
        rank=on,
        number=(np.arange(len(sort)) - start).astype(np.int32),
        parent=new_row[naming.parent_run[sort]],
        first=runs.first[sort],
        last=runs.stop[sort] - np.int32(1),
        ts=ts[sort],
        dur=end[sort] - ts[sort],
        missing=runs.missing[sort],
        extra=runs.extra[sort],
        swapped=runs.swapped[sort],
    )
    return table, new_row


def _spans(times: _Times, loops: Loops) -> tuple[Ints, Ints]:
    """First start and last end of each run, kernels of side streams included."""
    runs, segments = loops.runs, loops.segments
    ts, end = times.ts[runs.first], _last_end(times, runs.first, runs.stop)
    np.minimum.at(ts, segments.run, times.ts[segments.first])
    np.maximum.at(
        end, segments.run, _last_end(times, segments.first, segments.first + segments.count)
    )
    return ts, end


def _last_end(times: _Times, first: Index, stop: Index) -> Ints:
    if not len(first):
        return np.empty(0, dtype=np.int64)
    end = np.append(times.ts + times.dur, np.iinfo(np.int64).min)
    bounds = np.stack([first, stop], axis=1).ravel()
    return np.asarray(np.maximum.reduceat(end, bounds)[::2], dtype=np.int64)


def _segments(loops: Loops, new_row: Index) -> RunSegments:
    old = loops.segments
    run = new_row[old.run]
    sort = np.lexsort((old.first, run))
    return RunSegments(
        run[sort], old.first[sort], old.count[sort], old.position[sort], old.kind[sort]
    )


def _positions(
    order: Order,
    times: _Times,
    loops: Loops,
    naming: Naming,
    runs: PatternRuns,
    segments: RunSegments,
    ranks: Sequence[RankKernels],
) -> tuple[Positions, Variants]:
    words = [loops.words[loop] for loop in naming.loops]
    sizes = np.array([len(word) for word in words], dtype=np.int64)
    row_of = np.concatenate([[0], np.cumsum(sizes)])
    symbol = np.concatenate(words) if words else np.empty(0, dtype=np.int32)
    pattern_of = {loop: index for index, loop in enumerate(naming.loops)}
    inner = {one: pattern_of[loop] for one, loop in loops.meaning.items()}
    is_inner = np.isin(symbol, np.array(list(inner), dtype=np.int32))
    plain = segments.kind == PLAIN
    kernel = ranges(segments.first[plain], segments.count[plain])
    row = _rows(row_of, runs, segments, plain, segments.count[plain])
    stack = segments.kind == INNER
    stacks = _rows(row_of, runs, segments, stack, None)
    span = _last_end(times, segments.first[stack], segments.first[stack] + segments.count[stack])
    span -= times.ts[segments.first[stack]]
    summary = merged(
        summarise(row, times.dur[kernel], len(symbol)), summarise(stacks, span, len(symbol))
    )
    positions = Positions(
        pattern=np.repeat(np.arange(len(words)), sizes).astype(np.int32),
        position=ranges(np.zeros(len(words), dtype=np.int64), sizes).astype(np.int32),
        op=np.where(is_inner, -1, symbol).astype(np.int32),
        inner=np.array([inner.get(one, -1) for one in symbol.tolist()], dtype=np.int32),
        stream_role=typical_by_group(row, order.role[kernel], len(symbol)),
        **summary.__dict__,
    )
    shapes = [one.variant for one in ranks]
    none = np.empty(0, dtype=np.int64)
    if not shapes or any(shape is None for shape in shapes):
        return positions, Variants(none.astype(np.int32), none, none, none)
    known = np.concatenate([shape for shape in shapes if shape is not None])
    variant = known[order.source[kernel]].astype(np.int64)
    return positions, count_variants(row, variant, times.dur[kernel])


def _rows(
    row_of: Ints,
    runs: PatternRuns,
    segments: RunSegments,
    which: NDArray[np.bool_],
    count: Index | None,
) -> Index:
    """Rows of the positions of the chosen segments, or of each of their kernels."""
    start = row_of[runs.pattern[segments.run[which]]] + segments.position[which]
    if count is not None:
        return ranges(start.astype(np.int32), count)
    return start.astype(np.int32)


def _patterns(
    words: list[Index],
    naming: Naming,
    runs: PatternRuns,
    segments: RunSegments,
    positions: Positions,
) -> tuple[Pattern, ...]:
    found = []
    sizes = np.bincount(segments.run, weights=segments.count, minlength=len(runs))
    for index, (name, word) in enumerate(zip(naming.names, words, strict=True)):
        mine = runs.pattern == index
        rows = positions.pattern == index
        found.append(
            Pattern(
                name=name,
                level=naming.levels[index],
                parent=naming.parents[index],
                length=len(word),
                kernels=int(np.median(sizes[mine])),
                ops=tuple(positions.op[rows].tolist()),
                inner=tuple(positions.inner[rows].tolist()),
                period=_period(runs, mine),
                time=naming.times[index],
                ranks=tuple(np.unique(runs.rank[mine]).tolist()),
                parts=similar_parts(word),
            )
        )
    return tuple(found)


def _period(runs: PatternRuns, mine: NDArray[np.bool_]) -> int:
    ts, track = runs.ts[mine], runs.track[mine]
    apart = np.diff(ts)[track[1:] == track[:-1]]
    return int(np.median(apart)) if len(apart) else 0


def _exceptions(runs: PatternRuns, segments: RunSegments, sizes: list[int]) -> Exceptions:
    basic = segments.kind % INNER
    odd = basic != PLAIN
    # An inner loop is one exception, however many kernels it has.
    count = np.where(segments.kind[odd] >= INNER, 1, segments.count[odd]).astype(np.int64)
    extra = np.repeat(basic[odd] == EXTRA, count)
    position = ranges(segments.position[odd].astype(np.int64), count)
    missing_run, missing_position = _missing(runs, segments, sizes)
    none = np.full(len(missing_run), -1, dtype=np.int64)
    run = np.concatenate([np.repeat(segments.run[odd], count), missing_run])
    kind = np.concatenate(
        [np.where(extra, EXTRA_KERNEL, SWAPPED_KERNEL), np.full_like(none, MISSING)]
    )
    kernel = np.concatenate([ranges(segments.first[odd].astype(np.int64), count), none])
    position = np.concatenate([np.where(extra, -1, position), missing_position])
    sort = np.lexsort((kernel, position, run))
    return Exceptions(
        run=run[sort].astype(np.int32),
        kind=kind[sort].astype(np.int8),
        position=position[sort].astype(np.int32),
        kernel=kernel[sort].astype(np.int32),
    )


def _missing(runs: PatternRuns, segments: RunSegments, sizes: list[int]) -> tuple[Ints, Ints]:
    """Runs and positions that no segment fills."""
    found_run = [np.empty(0, dtype=np.int64)]
    found_position = [np.empty(0, dtype=np.int64)]
    lacking = runs.missing > 0
    for pattern in np.unique(runs.pattern[lacking]).tolist():
        row = np.flatnonzero(lacking & (runs.pattern == pattern))
        local = np.full(len(runs), -1, dtype=np.int64)
        local[row] = np.arange(len(row))
        mine = (local[segments.run] >= 0) & (segments.kind % INNER != EXTRA)
        single = segments.kind[mine] >= INNER
        count = np.where(single, 1, segments.count[mine]).astype(np.int64)
        there = np.zeros((len(row), sizes[pattern]), dtype=bool)
        position = ranges(segments.position[mine].astype(np.int64), count)
        there[np.repeat(local[segments.run[mine]], count), position] = True
        absent_row, absent_position = np.nonzero(~there)
        found_run.append(row[absent_row])
        found_position.append(absent_position)
    return np.concatenate(found_run), np.concatenate(found_position)
