"""Kernels of other streams that recur with a loop: collectives, a shared expert.

Streams are searched one by one, as their kernels interleave differently from run to run. What a
loop's runs find beside them, on smaller streams of their device, then belongs to these runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.align import align
from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.kernels import Index, Order
from perfetto_autoviz.steps.patterns.limits import (
    LONGEST_WINDOW,
    OFTEN,
    PARTIAL,
    SIDE_SHARE,
    TOGETHER,
    WINDOW_BINS,
    allowed_edits,
)
from perfetto_autoviz.steps.patterns.line import INNER, PLAIN
from perfetto_autoviz.steps.patterns.loops import Loops
from perfetto_autoviz.steps.patterns.parting import keep_groups_whole
from perfetto_autoviz.steps.patterns.substrings import ranges

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Beside:
    """Kernels beside runs; arrays of shape ``(kernels,)``.

    Attributes:
        run: the run, a row of the loops' runs.
        kernel: the kernel in the order.
    """

    run: Ints
    kernel: Ints


@dataclass(frozen=True)
class _Recurring:
    """What recurs beside the runs of a loop: their numbers, the kernels, and how regular it is."""

    run: Ints
    kernel: Ints
    regular: int


@dataclass
class _State:
    order: Order
    ts: Ints
    loops: Loops
    owner: Index


def find_sides(order: Order, ts: Ints, loops: Loops) -> Beside:
    """The kernels that recur beside the runs of loops, inner loops first.

    A loop of a side stream whose kernels nearly all go to others has no such kernels itself.

    Args:
        order: the kernels, sorted by stream.
        ts: start of each in ns.
        loops: what was found in them.
    """
    state = _State(order, ts, loops, _owners(loops, len(order)))
    size = np.bincount(state.owner + 1, minlength=len(loops.words) + 1)[1:]
    gone: set[int] = set()
    found = [Beside(ts[:0], ts[:0])]
    for loop, word in enumerate(loops.words):
        left = np.sum(state.owner == loop)
        inside = {loops.meaning[one] for one in word.tolist() if one in loops.meaning}
        if (left < size[loop] - TOGETHER * size[loop]) or inside & gone:
            gone.add(loop)
        else:
            found.append(_attach(state, loop))
    return Beside(*(np.concatenate([getattr(one, n) for one in found]) for n in ("run", "kernel")))


def _owners(loops: Loops, kernels: int) -> Index:
    """The innermost loop of each kernel, -1 outside all."""
    segments, runs = loops.segments, loops.runs
    owner = np.full(kernels, -1, dtype=np.int32)
    own = segments.kind < INNER
    kernel = ranges(segments.first[own], segments.count[own])
    owner[kernel] = np.repeat(runs.loop[segments.run[own]], segments.count[own])
    return owner


def _attach(state: _State, loop: int) -> Beside:
    rows = np.flatnonzero(state.loops.runs.loop == loop)
    bounds = state.order.bounds()
    on = np.searchsorted(bounds, state.loops.runs.first, side="right") - 1
    track = on[rows]
    sides = _side_tracks(state, track)
    here = set(state.loops.runs.loop[np.isin(on, track)].tolist())
    # First with all loops of side streams, then without those that do not go along.
    loose = set(range(len(state.loops.words))) - here
    while True:
        beside, torn = _steadiest(state, rows, track, sides, loose)
        if not torn:
            break
        loose = loose - torn
    state.owner[beside.kernel] = loop
    return Beside(rows[beside.run], beside.kernel)


def _steadiest(
    state: _State, rows: Ints, track: Ints, sides: dict[int, list[int]], loose: set[int]
) -> tuple[_Recurring, set[int]]:
    """What recurs beside runs, parted where they start or where the fewest others do.

    Returns:
        What recurs, and the loops that would be torn apart if it went along.
    """
    readings = []
    for shifted in (False, True):
        run, kernel = _beside(state, rows, track, sides, loose, shifted=shifted)
        found = _recurring(state, len(rows), run, kernel)
        readings.append((found, _torn(state, found.kernel, run, kernel, loose)))
    return max(readings, key=lambda reading: reading[0].regular)


def _torn(state: _State, taken: Ints, run: Ints, kernel: Ints, loose: set[int]) -> set[int]:
    """Loops of which a part is taken, and another part is left beside too many runs."""
    left = ~np.isin(kernel, taken)
    owner = state.owner[kernel]
    touched = set(owner[~left].tolist()) & loose
    return {
        loop
        for loop in touched
        if len(np.unique(run[left & (owner == loop)]))
        > (1 - TOGETHER) * len(np.unique(run[owner == loop]))
    }


def _side_tracks(state: _State, track: Ints) -> dict[int, list[int]]:
    """For each track that the loop runs on, the tracks of the same device with fewer kernels.

    How long they run tells nothing: collectives wait for other ranks.
    """
    tracks = state.order.tracks
    sizes = np.diff(state.order.bounds())
    sides: dict[int, list[int]] = {}
    for main in np.unique(track).tolist():
        here = (tracks[main].rank, tracks[main].device)
        sides[main] = [
            number
            for number, one in enumerate(tracks)
            if (one.rank, one.device) == here and sizes[number] < sizes[main]
        ]
    return sides


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
    return kernel[np.isin(state.owner[kernel], [-1, *loose])]


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


def _recurring(state: _State, runs: int, run: Ints, kernel: Ints) -> _Recurring:
    """The kernels beside runs, if most runs have about the same."""
    count = np.bincount(run, minlength=runs)
    start = np.cumsum(count) - count
    texts: list[tuple[Index, Ints]] = []
    for size in np.unique(count[count > 0]).tolist():
        mine = np.flatnonzero(count == size)
        table = state.order.op[kernel[start[mine, None] + np.arange(size)]]
        rows, which, times = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        sort = np.argsort(which.ravel(), kind="stable")
        texts += zip(rows, np.split(mine[sort], np.cumsum(times)[:-1]), strict=True)
    none = _Recurring(run[:0], kernel[:0], 0)
    if not texts:
        return none
    most = max(len(mine) for _, mine in texts)
    # A rank that lacks a kernel has a shorter text in as many runs.
    word = max((text for text, mine in texts if len(mine) >= OFTEN * most), key=len)
    exact = sum(len(mine) for text, mine in texts if _same_kernels(word, text))
    return _alike(word, texts, start, kernel) if exact >= SIDE_SHARE * runs else none


def _alike(word: Index, texts: list[tuple[Index, Ints]], start: Ints, kernel: Ints) -> _Recurring:
    """The kernels of all texts that are about the same as a word."""
    base = int(max(text.max() for text, _ in texts)) + 1
    costs = Costs(base, np.ones(base, dtype=np.int64))
    runs, kernels, regular = [start[:0]], [start[:0]], 0
    for text, mine in texts:
        part, odd = _part_alike(word, text, costs)
        size = part.stop - part.start
        runs.append(np.repeat(mine, size))
        kernels.append(kernel[(start[mine] + part.start)[:, None] + np.arange(size)].ravel())
        regular += len(mine) * (size - 2 * odd)
    return _Recurring(np.concatenate(runs), np.concatenate(kernels), regular)


def _part_alike(word: Index, text: Index, costs: Costs) -> tuple[slice, int]:
    """The part of a text that is about the same as a word, and how many of its kernels aren't."""
    if _same_kernels(word, text):
        return slice(0, len(text)), 0
    found = align(word, text, len(text), costs)
    odd = int(np.sum(found.kind != PLAIN))
    half = odd == 0 and len(found.kind) >= PARTIAL * len(word)
    if half or found.odd <= allowed_edits(len(word)):
        return slice(found.begin, found.end), odd
    return slice(0, 0), 0


def _same_kernels(word: Index, text: Index) -> bool:
    """Whether both are the same: a replay has one or another of them on another stream."""
    return np.array_equal(np.sort(word), np.sort(text))
