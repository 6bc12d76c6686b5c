"""Kernels of other streams that recur with a loop: collectives, a shared expert.

Streams are searched one by one where their kernels interleave differently from run to run.
What a loop's runs find beside them, on less busy streams of their device, then becomes part of
the loop: its positions follow those of the main stream, stream by stream in order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.align import align
from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.kernels import Index, Order
from perfetto_autoviz.steps.patterns.level import Runs, Segments, join_segments, stacked
from perfetto_autoviz.steps.patterns.limits import (
    LONGEST_WINDOW,
    SIDE_SHARE,
    TOGETHER,
    WINDOW_BINS,
    allowed_edits,
)
from perfetto_autoviz.steps.patterns.line import EXTRA, INNER, PLAIN, SWAPPED
from perfetto_autoviz.steps.patterns.loops import Loops
from perfetto_autoviz.steps.patterns.parting import keep_groups_whole
from perfetto_autoviz.steps.patterns.substrings import ranges

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Beside:
    """Kernels beside runs; arrays of shape ``(kernels,)``, by run, stream and time."""

    run: Ints
    kernel: Ints
    position: Ints
    kind: NDArray[np.int8]


@dataclass
class _State:
    order: Order
    ts: Ints
    busy: Ints
    loops: Loops
    owner: Index
    dropped: set[int]


def attach_sides(order: Order, ts: Ints, dur: Ints, loops: Loops) -> Loops:
    """Give loops the kernels that recur beside their runs, inner loops first.

    A loop of a side stream whose kernels nearly all go to one of the main stream is given up.

    Args:
        order: the kernels, sorted by stream.
        ts: start of each in ns.
        dur: duration of each in ns.
        loops: what was found in them.
    """
    bounds = order.bounds()
    until = np.concatenate([[0], np.cumsum(dur)])
    state = _State(order, ts, until[bounds[1:]] - until[bounds[:-1]], loops, _owners(loops), set())
    for loop in range(len(loops.words)):
        if loop not in state.dropped:
            _attach(state, loop)
    return _without(state.loops, state.dropped)


def _owners(loops: Loops) -> Index:
    """The innermost loop of each kernel, -1 outside all, as far as any loop reaches."""
    segments, runs = loops.segments, loops.runs
    owner = np.full(int(runs.stop.max(initial=0)), -1, dtype=np.int32)
    own = segments.kind < INNER
    kernel = ranges(segments.first[own], segments.count[own])
    owner[kernel] = np.repeat(runs.loop[segments.run[own]], segments.count[own])
    return owner


def _attach(state: _State, loop: int) -> None:
    rows = np.flatnonzero(state.loops.runs.loop == loop)
    bounds = state.order.bounds()
    track = np.searchsorted(bounds, state.loops.runs.first[rows], side="right") - 1
    sides = _side_tracks(state, track)
    movable = _movable(state, loop, set().union(*sides.values()) if sides else set())
    # First with all loops of side streams, then without those that do not go along.
    loose = movable
    while True:
        word, beside = _steadiest(state, rows, track, sides, loose)
        given_up, torn = _given_up(state, beside, loose)
        if not torn:
            break
        loose = loose - torn
    _add(state, loop, rows, word, beside)
    state.dropped |= given_up


def _steadiest(
    state: _State, rows: Ints, track: Ints, sides: dict[int, list[int]], loose: set[int]
) -> tuple[Index, _Beside]:
    """What recurs beside runs, parted where they start or where the fewest others do."""
    readings = [
        _recurring(state, len(rows), _beside(state, rows, track, sides, loose, shifted=shifted))
        for shifted in (False, True)
    ]
    return max(readings, key=lambda reading: _regular(reading[1]))


def _regular(beside: _Beside) -> int:
    return int(np.sum(beside.kind == PLAIN) - np.sum(beside.kind != PLAIN))


def _side_tracks(state: _State, track: Ints) -> dict[int, list[int]]:
    """For each track that the loop runs on, the less busy tracks of the same device."""
    tracks = state.order.tracks
    sides: dict[int, list[int]] = {}
    for main in np.unique(track).tolist():
        here = (tracks[main].rank, tracks[main].device)
        sides[main] = [
            number
            for number, one in enumerate(tracks)
            if (one.rank, one.device) == here and state.busy[number] < state.busy[main]
        ]
    return sides


def _movable(state: _State, loop: int, sides: set[int]) -> set[int]:
    """Loops that run on side tracks only."""
    runs = state.loops.runs
    on = np.searchsorted(state.order.bounds(), runs.first, side="right") - 1
    elsewhere = np.unique(runs.loop[~np.isin(on, list(sides))]).tolist()
    return set(range(len(state.loops.words))) - set(elsewhere) - state.dropped - {loop}


def _beside(
    state: _State,
    rows: Ints,
    track: Ints,
    sides: dict[int, list[int]],
    loose: set[int],
    *,
    shifted: bool,
) -> tuple[Ints, Ints]:
    """Free kernels of side tracks, and which of the runs each lies beside."""
    windows = {main: _windows(state, rows[track == main]) for main in sides}
    free = {main: _free(state, sides[main], loose) for main in sides}
    phases = [_phase(*windows[main], state.ts[free[main]]) for main in sides]
    shift = _emptiest(np.concatenate([np.empty(0), *phases])) if shifted else 0.0
    found_run, found_kernel = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for main in sides:
        start, length, typical = windows[main]
        nth = _inside(start + round(shift * typical), length, state.ts[free[main]])
        beside, nth = free[main][nth >= 0], nth[nth >= 0]
        found_run.append(np.flatnonzero(track == main)[_parted(state, nth, beside)])
        found_kernel.append(beside)
    run, kernel = np.concatenate(found_run), np.concatenate(found_kernel)
    # Kernels are sorted by stream and time already.
    sort = np.argsort(run, kind="stable")
    return run[sort], kernel[sort]


def _parted(state: _State, run: Ints, kernel: Ints) -> Ints:
    """The runs of kernels of side tracks, which are sorted by track and time."""
    on = np.searchsorted(state.order.bounds(), kernel, side="right")
    edges = np.flatnonzero(np.diff(on)) + 1
    op = state.order.op[kernel].astype(np.int64)
    parts = zip(np.split(run, edges), np.split(op, edges), strict=True)
    return np.concatenate([keep_groups_whole(one, other) for one, other in parts])


def _free(state: _State, tracks: Sequence[int], loose: set[int]) -> Ints:
    bounds = state.order.bounds()
    start, stop = bounds[list(tracks)], bounds[np.array(tracks, dtype=np.int64) + 1]
    kernel = ranges(start, stop - start)
    owner = np.full(len(kernel), -1, dtype=np.int32)
    known = kernel < len(state.owner)
    owner[known] = state.owner[kernel[known]]
    return kernel[np.isin(owner, [-1, *loose, *state.dropped])]


def _windows(state: _State, rows: Ints) -> tuple[Ints, Ints, int]:
    """Start of each run; ns to the next one, less where a pause follows; ns between most.

    A layer of a prompt takes many times as long as most layers do.
    """
    start = state.ts[state.loops.runs.first[rows]]
    own = state.ts[state.loops.runs.stop[rows] - 1] - start
    apart = np.diff(start)
    typical = int(np.median(apart)) if len(apart) else int(own.sum())
    longest = (LONGEST_WINDOW * np.maximum(own, typical)).astype(np.int64)
    return start, np.minimum(np.append(apart, longest[-1:]), longest), typical


def _inside(start: Ints, length: Ints, ts: Ints) -> Ints:
    nth = np.searchsorted(start, ts, side="right") - 1
    late = ts >= start[nth] + length[nth]
    return np.where((nth < 0) | late, -1, nth)


def _phase(start: Ints, length: Ints, typical: int, ts: Ints) -> NDArray[np.float64]:
    nth = _inside(start, length, ts)
    here = nth >= 0
    return (ts[here] - start[nth[here]]) / max(typical, 1)


def _emptiest(phase: NDArray[np.float64]) -> float:
    """Where to part neighbours: the middle of the widest part of a run where little starts."""
    share = (phase[phase < 1] * WINDOW_BINS).astype(np.int64)
    count = np.bincount(share, minlength=WINDOW_BINS)
    quiet = np.flatnonzero(count > count.mean() / 2)
    if not len(quiet):
        return 0.0
    after = np.append(quiet[1:], quiet[0] + WINDOW_BINS)
    widest = int(np.argmax(after - quiet))
    middle = (quiet[widest] + after[widest] + 1) / 2 / WINDOW_BINS % 1
    return float(middle - 1 if middle > 0.5 else middle)


def _recurring(state: _State, runs: int, found: tuple[Ints, Ints]) -> tuple[Index, _Beside]:
    """The operations beside most runs, and the places of the kernels that follow them."""
    run, kernel = found
    count = np.bincount(run, minlength=runs)
    start = np.cumsum(count) - count
    texts: list[tuple[Index, Ints]] = []
    for size in np.unique(count[count > 0]).tolist():
        mine = np.flatnonzero(count == size)
        table = state.order.op[kernel[start[mine, None] + np.arange(size)]]
        rows, which, times = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        sort = np.argsort(which.ravel(), kind="stable")
        texts += zip(rows, np.split(mine[sort], np.cumsum(times)[:-1]), strict=True)
    word = max(texts, key=lambda text: len(text[1]), default=(np.empty(0, np.int32), run[:0]))
    none = _Beside(run[:0], kernel[:0], run[:0], np.empty(0, dtype=np.int8))
    if len(word[1]) < SIDE_SHARE * runs or not len(word[0]):
        return word[0][:0], none
    return word[0], _placed(word[0], texts, start, kernel)


def _placed(word: Index, texts: list[tuple[Index, Ints]], start: Ints, kernel: Ints) -> _Beside:
    base = int(max(text.max() for text, _ in texts)) + 1
    costs = Costs(base, np.ones(base, dtype=np.int64))
    parts: list[_Beside] = []
    for text, mine in texts:
        found = align(word, text, len(text), costs)
        if found.odd > allowed_edits(len(word)):
            continue
        size = len(found.position)
        at = kernel[(start[mine] + found.begin)[:, None] + np.arange(size)].ravel()
        position = np.tile(found.position.astype(np.int64), len(mine))
        parts.append(_Beside(np.repeat(mine, size), at, position, np.tile(found.kind, len(mine))))
    run = np.concatenate([part.run for part in parts])
    at = np.concatenate([part.kernel for part in parts])
    sort = np.lexsort((at, run))
    return _Beside(
        run[sort],
        at[sort],
        np.concatenate([part.position for part in parts])[sort],
        np.concatenate([part.kind for part in parts])[sort],
    )


def _given_up(state: _State, beside: _Beside, loose: set[int]) -> tuple[set[int], set[int]]:
    """Loops whose kernels go along, with those around them; and loops that would be torn apart."""
    owner = np.full(len(beside.kernel), -1, dtype=np.int32)
    known = beside.kernel < len(state.owner)
    owner[known] = state.owner[beside.kernel[known]]
    touched = set(owner.tolist()) & loose
    torn = {
        loop for loop in touched if np.sum(owner == loop) < TOGETHER * np.sum(state.owner == loop)
    }
    given = touched - torn
    for loop, word in enumerate(state.loops.words):
        inside = {state.loops.meaning[one] for one in word.tolist() if one in state.loops.meaning}
        if inside & given and loop in loose:
            given.add(loop)
        elif loop not in loose:
            torn |= inside & given
    return given - torn, torn


def _add(state: _State, loop: int, rows: Ints, word: Index, beside: _Beside) -> None:
    if not len(word):
        return
    loops, runs = state.loops, state.loops.runs
    words = list(loops.words)
    shift = len(words[loop])
    words[loop] = np.concatenate([words[loop], word])
    position = np.where(beside.position < 0, -1, beside.position + shift)
    extra = np.bincount(rows[beside.run[beside.kind == EXTRA]], minlength=len(runs))
    swapped = np.bincount(rows[beside.run[beside.kind == SWAPPED]], minlength=len(runs))
    there = np.bincount(rows[beside.run[beside.kind != EXTRA]], minlength=len(runs))
    missing = runs.missing.astype(np.int64)
    missing[rows] += len(word) - there[rows]
    segments = join_segments(
        rows[beside.run].astype(np.int32),
        beside.kernel.astype(np.int32),
        (beside.kernel + 1).astype(np.int32),
        position.astype(np.int32),
        beside.kind,
    )
    state.owner = _extended(state.owner, beside.kernel, loop)
    state.loops = replace(
        loops,
        words=tuple(words),
        runs=replace(
            runs,
            missing=missing.astype(np.int32),
            extra=(runs.extra + extra).astype(np.int32),
            swapped=(runs.swapped + swapped).astype(np.int32),
        ),
        segments=stacked([loops.segments, segments]),
    )


def _extended(owner: Index, kernel: Ints, loop: int) -> Index:
    size = max(len(owner), int(kernel.max(initial=-1)) + 1)
    longer = np.full(size, -1, dtype=np.int32)
    longer[: len(owner)] = owner
    longer[kernel] = loop
    return longer


def _without(loops: Loops, dropped: set[int]) -> Loops:
    """The loops that were not given up, numbered anew."""
    kept = [loop for loop in range(len(loops.words)) if loop not in dropped]
    number = np.full(len(loops.words), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    stays = number[loops.runs.loop] >= 0
    row = (np.cumsum(stays) - 1).astype(np.int32)
    mine = stays[loops.segments.run]
    runs = {name: value[stays] for name, value in loops.runs.__dict__.items()}
    segments = {name: value[mine] for name, value in loops.segments.__dict__.items()}
    return Loops(
        words=tuple(loops.words[loop] for loop in kept),
        meaning={s: int(number[loop]) for s, loop in loops.meaning.items() if loop in kept},
        runs=Runs(**{**runs, "loop": number[runs["loop"]]}),
        segments=Segments(**{**segments, "run": row[segments["run"]]}),
    )
