"""Where the runs of inner loops lie in the runs around them.

A run is laid out flat: one slot per activity of its pattern, and for an inner loop as many
stretches of its own slots as it usually repeats there. So activities of different runs can be
compared position by position, in a layer as in a step of thousands of kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.anomalies.kernels import ints
from perfetto_autoviz.steps.anomalies.keyed import code_of, ordinal_of
from perfetto_autoviz.steps.anomalies.places import EXTRA, RunTable, Stretches
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.intervals import runs as runs_of


@dataclass(frozen=True)
class Layout:
    """How one pattern is laid out flat.

    Attributes:
        size: number of slots.
        first: first slot of each position of the pattern, shape ``(length,)``.
        op: operation at each slot, shape ``(size,)``.
    """

    size: int
    first: Ints
    op: tuple[str, ...]


@dataclass(frozen=True)
class Nesting:
    """The layout of all patterns, and of each run in the run around it.

    Attributes:
        layouts: by pattern.
        base: first slot of each run in its parent, -1 where it has none; shape ``(runs,)``.
        ordinal: number of each run among those of its pattern in its parent, from 0; -1 for
            an outermost run; shape ``(runs,)``.
    """

    layouts: Mapping[int, Layout]
    base: Ints
    ordinal: Ints


def lay_out_runs(positions: pd.DataFrame, runs: RunTable, stretches: Stretches) -> Nesting:
    """Lays all patterns out flat.

    Args:
        positions: frame of ``pattern_position``.
        runs: all runs.
        stretches: their activities.
    """
    words = _words(positions)
    inner = {pattern: word for pattern, (word, _) in words.items()}
    child = np.flatnonzero(runs.parent >= 0)
    child = child[np.lexsort((_first_place(runs, stretches)[child], runs.parent[child]))]
    position = _positions(child, inner, runs, stretches)
    repeat = ordinal_of(code_of(runs.parent[child], position), np.arange(len(child)))
    usual = _usual_repeats(child, position, runs)
    layouts: dict[int, Layout] = {}
    for pattern in words:
        _lay_out(pattern, words, usual, layouts)
    base = np.full(len(runs.ts), -1, np.int64)
    base[child] = _bases(child, position, repeat, usual, runs, layouts)
    ordinal = np.full(len(runs.ts), -1, np.int64)
    ordinal[child] = ordinal_of(
        code_of(runs.parent[child], runs.pattern[child]), np.arange(len(child))
    )
    return Nesting(layouts, base, ordinal)


def _words(positions: pd.DataFrame) -> dict[int, tuple[Ints, list[str]]]:
    """Inner loop (-1 for none) and operation ("" for none) at each position, by pattern."""
    ordered = positions.sort_values(["pattern_id", "position"])
    pattern, inner = ints(ordered["pattern_id"]), ints(ordered["inner_id"])
    op = ordered["op"].where(ordered["op"].notna(), "").tolist()
    starts, counts = runs_of(pattern)
    return {
        int(pattern[start]): (inner[start : start + count], op[start : start + count])
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
    }


def _first_place(runs: RunTable, stretches: Stretches) -> Ints:
    """Place of the first activity of each run, inner ones included."""
    first = np.full(len(runs.ts), np.iinfo(np.int64).max)
    np.minimum.at(first, stretches.run, stretches.place)
    own = np.flatnonzero(runs.parent >= 0)
    while len(own):
        np.minimum.at(first, runs.parent[own], first[own])
        own = own[runs.parent[runs.parent[own]] >= 0]
        own = np.unique(runs.parent[own])
    return first


def _positions(
    child: Ints, inner: Mapping[int, Ints], runs: RunTable, stretches: Stretches
) -> Ints:
    """Position of each child in its parent's pattern, -1 if that doesn't have it.

    Of several positions with the same inner loop it is the first one behind the activity
    that the parent ran last before.
    """
    place = _first_place(runs, stretches)[child]
    after = _last_position(runs.parent[child], place, stretches)
    position = np.full(len(child), -1, np.int64)
    pairs = np.stack([runs.pattern[runs.parent[child]], runs.pattern[child]], axis=1)
    for outer, own in np.unique(pairs, axis=0).tolist():
        at = np.flatnonzero(inner.get(outer, np.empty(0, np.int64)) == own)
        if len(at):
            mine = np.flatnonzero((pairs[:, 0] == outer) & (pairs[:, 1] == own))
            position[mine] = at[np.minimum(np.searchsorted(at, after[mine]), len(at) - 1)]
    return position


def _last_position(run: Ints, place: Ints, stretches: Stretches) -> Ints:
    """Position that a run filled last before a place, -1 if none."""
    placed = np.flatnonzero(stretches.kind != EXTRA)
    if not len(placed):
        return np.full(len(run), -1, np.int64)
    width = int(max(place.max(initial=0), stretches.place.max())) + 2
    key = stretches.run[placed] * width + stretches.place[placed]
    at = np.searchsorted(key, run * width + place) - 1
    before = placed[np.maximum(at, 0)]
    there = (at >= 0) & (stretches.run[before] == run)
    return np.where(there, stretches.position[before] + stretches.count[before] - 1, -1)


def _usual_repeats(child: Ints, position: Ints, runs: RunTable) -> dict[tuple[int, int], int]:
    """How often an inner loop usually runs at a position, by pattern and position."""
    known = position >= 0
    parent = runs.parent[child[known]]
    found, repeats = np.unique(
        np.stack([runs.pattern[parent], position[known], parent]), axis=1, return_counts=True
    )
    usual = {}
    for pattern, at in np.unique(found[:2], axis=1).T.tolist():
        mine = repeats[(found[0] == pattern) & (found[1] == at)]
        # Of several that are as usual, the most.
        usual[pattern, at] = len(counts := np.bincount(mine)) - 1 - int(counts[::-1].argmax())
    return usual


def _lay_out(
    pattern: int,
    words: Mapping[int, tuple[Ints, list[str]]],
    usual: Mapping[tuple[int, int], int],
    layouts: dict[int, Layout],
) -> Layout:
    if pattern in layouts:
        return layouts[pattern]
    first: list[int] = []
    ops: list[str] = []
    inner, own = words[pattern]
    for position, loop in enumerate(inner.tolist()):
        first.append(len(ops))
        if loop < 0:
            ops.append(own[position])
        else:
            repeats = usual.get((pattern, position), 0)
            ops.extend(_lay_out(loop, words, usual, layouts).op * repeats)
    layouts[pattern] = Layout(len(ops), np.array(first, np.int64), tuple(ops))
    return layouts[pattern]


def _bases(
    child: Ints,
    position: Ints,
    repeat: Ints,
    usual: Mapping[tuple[int, int], int],
    runs: RunTable,
    layouts: Mapping[int, Layout],
) -> Ints:
    """First slot of each child in its parent, -1 for a repeat too many."""
    base = np.full(len(child), -1, np.int64)
    outer, own = runs.pattern[runs.parent[child]], runs.pattern[child]
    for (pattern, at), repeats in usual.items():
        mine = np.flatnonzero((outer == pattern) & (position == at) & (repeat < repeats))
        sizes = np.array([layouts[loop].size for loop in own[mine].tolist()], np.int64)
        base[mine] = layouts[pattern].first[at] + repeat[mine] * sizes
    return base
