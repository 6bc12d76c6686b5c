"""Runs of a pattern as matrices: one row per run, one column per position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.relations import PATTERN, PATTERN_POSITION, PATTERN_RUN, PATTERN_SEGMENT
from perfetto_autoviz.steps.anomalies.kernels import ACTIVITY, NO_END, Kernels, read_kernels
from perfetto_autoviz.steps.anomalies.limits import STEADIER
from perfetto_autoviz.steps.anomalies.medians import median
from perfetto_autoviz.steps.anomalies.nesting import Nesting, lay_out_runs
from perfetto_autoviz.steps.anomalies.places import (
    SWAPPED,
    Stretches,
    read_run_table,
    read_stretches,
)
from perfetto_autoviz.steps.anomalies.usual import usual_others
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.keys import KEY_COLUMNS
from perfetto_autoviz.steps.step import Frames, Read

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

READS = (
    Read(ACTIVITY, (*KEY_COLUMNS, "device", "stream", "op")),
    Read(PATTERN.source, ("id", "name", "level")),
    Read(PATTERN_POSITION.source, ("pattern_id", "position", "op", "inner_id")),
    Read(
        PATTERN_RUN.source,
        (
            *("ts", "dur", "id", "pattern_id", "parent_id", "number", "device"),
            *("missing", "extra", "swapped"),
        ),
    ),
    Read(PATTERN_SEGMENT.source, tuple(PATTERN_SEGMENT.types)),
)
"""What `read_runs` reads of each rank."""


@dataclass(frozen=True)
class RunMatrix:
    """All runs of one pattern on all ranks.

    Per-run arrays have shape ``(runs,)``, matrices ``(runs, positions)``. Repeats of inner
    loops are counted out, so that each position is one activity.

    Attributes:
        pattern: id of the pattern.
        name: its name, e.g. ``P1.1``.
        level: its level.
        ops: operation at each position.
        run: id of each run in ``pattern_run``.
        rank: rank of each run.
        number: its number among the runs of its pattern on its rank.
        ordinal: its number in the run around it, -1 for an outermost one.
        ts: its start in ns.
        dur: its duration in ns.
        kernel: index into ``kernels`` of the activity at each position, -1 for none.
        swapped: where another operation ran than the pattern has, and than usual at this place
            of a step.
        extra_run: row of each activity that has no position, shape ``(extras,)``.
        extra_kernel: index of that activity, shape ``(extras,)``.
        across: where the idle time is that since the latest end on any stream of the device, as
            what runs there waits for another stream; shape ``(positions,)``.
        kernels: the activities of all ranks.
    """

    pattern: int
    name: str
    level: int
    ops: tuple[str, ...]
    run: Ints
    rank: Ints
    number: Ints
    ordinal: Ints
    ts: Ints
    dur: Ints
    kernel: NDArray[np.int32]
    swapped: Bools
    extra_run: Ints
    extra_kernel: Ints
    across: Bools
    kernels: Kernels

    def __len__(self) -> int:
        return len(self.run)

    @cached_property
    def ran(self) -> Bools:
        """Where the operation of the pattern ran: what may be compared between runs."""
        return np.asarray((self.kernel >= 0) & ~self.swapped, bool)

    @cached_property
    def run_time(self) -> Ints:
        """Duration in ns of the activity at each position; 0 where ``ran`` is False."""
        return np.where(self.ran, self.kernels.dur[self.kernel], 0)

    @cached_property
    def has_idle(self) -> Bools:
        """Where there is a time before the activity that belongs to the run.

        What lies before the first activity lies between two runs.
        """
        latest = np.iinfo(np.int64).max
        start = np.where(self.kernel >= 0, self.kernels.ts[self.kernel], latest)
        first = np.zeros_like(self.ran)
        if first.shape[1]:
            first[np.arange(len(self)), np.argmin(start, axis=1)] = True
        return np.asarray(self.ran & ~first & (self._end_before != NO_END), bool)

    @cached_property
    def _end_before(self) -> Ints:
        """The end in ns that each activity's idle time starts at."""
        end = self.kernels.stream_end[self.kernel]
        end[:, self.across] = self.kernels.device_end[self.kernel[:, self.across]]
        return end

    @cached_property
    def gap(self) -> Ints:
        """Time in ns between the latest end on its stream and the start of each activity.

        Where ``across`` is True, the latest end on the device. Negative where they overlap. What
        lies before the run is left out; 0 where ``has_idle`` is False.
        """
        end = np.maximum(self._end_before, self.ts[:, None])
        return np.where(self.has_idle, self.kernels.ts[self.kernel] - end, 0)

    @property
    def idle(self) -> Ints:
        """Idle time in ns before each activity, never negative."""
        return np.maximum(self.gap, 0)

    def rows(self, which: Ints | Bools) -> RunMatrix:
        """The matrix of some of the runs."""
        chosen = np.arange(len(self))[which]
        row_of = np.full(len(self), -1, np.int64)
        row_of[chosen] = np.arange(len(chosen))
        kept = row_of[self.extra_run] >= 0
        return RunMatrix(
            self.pattern,
            self.name,
            self.level,
            self.ops,
            self.run[chosen],
            self.rank[chosen],
            self.number[chosen],
            self.ordinal[chosen],
            self.ts[chosen],
            self.dur[chosen],
            self.kernel[chosen],
            self.swapped[chosen],
            row_of[self.extra_run[kept]],
            self.extra_kernel[kept],
            self.across,
            self.kernels,
        )


@dataclass(frozen=True)
class _Members:
    """Activities in the runs of one depth; arrays of equal length."""

    activity: Ints
    run: Ints
    slot: Ints
    swapped: Bools


class AllRuns:
    """The runs of all patterns on all ranks; matrices are made when they are asked for.

    Attributes:
        names: name of each pattern by its id.
        levels: level of each pattern by its id.
        table: the runs.
        kernels: the activities.
    """

    def __init__(self, ranks: Mapping[int, Frames]) -> None:
        """Reads the frames of `READS` of each rank."""
        first = next(iter(ranks.values()))
        patterns = first[PATTERN.source]
        self.names = {int(i): str(n) for i, n in zip(patterns["id"], patterns["name"], strict=True)}
        self.levels = {
            int(i): int(n) for i, n in zip(patterns["id"], patterns["level"], strict=True)
        }
        self.kernels = read_kernels(ranks)
        self.table = read_run_table(ranks)
        self._stretches: Stretches = read_stretches(ranks, self.kernels)
        self._positions = first[PATTERN_POSITION.source]

    @cached_property
    def _nesting(self) -> Nesting:
        return lay_out_runs(self._positions, self.table, self._stretches)

    @cached_property
    def _depths(self) -> list[_Members]:
        """Activities in their innermost runs, then in the runs around those, and so on."""
        nesting, runs = self._nesting, self.table
        activity, run, position, kind = self._stretches.members()
        slot = np.full(len(run), -1, np.int64)
        for pattern, layout in nesting.layouts.items():
            own = np.flatnonzero((runs.pattern[run] == pattern) & (position >= 0))
            slot[own] = layout.first[position[own]]
        found = []
        while len(activity):
            found.append(_Members(activity, run, slot, kind == SWAPPED))
            base = nesting.base[run]
            slot = np.where((slot >= 0) & (base >= 0), base + slot, -1)
            up = runs.parent[run] >= 0
            activity, slot, kind, run = activity[up], slot[up], kind[up], runs.parent[run[up]]
        return found

    def matrix(self, pattern: int) -> RunMatrix:
        """The runs of one pattern, by rank and number."""
        runs, layout = self.table, self._nesting.layouts[pattern]
        own = np.flatnonzero(runs.pattern == pattern)
        own = own[np.lexsort((runs.number[own], runs.rank[own]))]
        row_of = np.full(len(runs.ts), -1, np.int64)
        row_of[own] = np.arange(len(own))
        kernel = np.full((len(own), layout.size), -1, np.int32)
        swapped = np.zeros(kernel.shape, bool)
        extra_run, extra_kernel = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for members in self._depths:
            mine = np.flatnonzero(row_of[members.run] >= 0)
            row, slot = row_of[members.run[mine]], members.slot[mine]
            placed = slot >= 0
            kernel[row[placed], slot[placed]] = members.activity[mine[placed]]
            swapped[row[placed], slot[placed]] = members.swapped[mine[placed]]
            extra_run.append(row[~placed])
            extra_kernel.append(members.activity[mine[~placed]])
        ordinal = self._nesting.ordinal[own]
        swapped &= ~usual_others(kernel, swapped, ordinal, self.kernels.op)
        matrix = RunMatrix(
            pattern=pattern,
            name=self.names[pattern],
            level=self.levels[pattern],
            ops=layout.op,
            run=own,
            rank=runs.rank[own],
            number=runs.number[own],
            ordinal=ordinal,
            ts=runs.ts[own],
            dur=runs.dur[own],
            kernel=kernel,
            swapped=swapped,
            extra_run=np.concatenate(extra_run),
            extra_kernel=np.concatenate(extra_kernel),
            across=np.zeros(layout.size, bool),
            kernels=self.kernels,
        )
        return replace(matrix, across=_waits_across(matrix))


def _waits_across(matrix: RunMatrix) -> Bools:
    """Positions whose start follows what ends on another stream.

    There the idle time on the own stream is as long as the work of the other one, and says
    little of a late start; that on the device is much steadier.
    """
    across = np.zeros(len(matrix.ops), bool)
    kernels, ran = matrix.kernels, matrix.ran
    other = kernels.stream_end != kernels.device_end
    several = np.flatnonzero((other[matrix.kernel] & ran).any(axis=0))
    if not len(several):
        return across
    everywhere = replace(matrix, across=np.ones(len(across), bool))
    there = (matrix.has_idle & everywhere.has_idle)[:, several]
    own, device = (
        _middle_and_spread(one.gap[:, several].astype(np.float64), there)
        for one in (matrix, everywhere)
    )
    across[several] = (device[0] >= 0) & (device[1] < STEADIER * own[1])
    return across


def _middle_and_spread(gap: NDArray[np.float64], there: Bools) -> tuple[Floats, Floats]:
    middle = median(gap, there)
    return middle, median(np.abs(gap - middle), there)


def read_runs(ranks: Mapping[int, Frames]) -> AllRuns:
    """The runs of all patterns.

    Args:
        ranks: by rank the frames named in `READS`, by their SQL names; those of the patterns
            as the step that finds patterns makes them, or as an enriched trace gives them.
    """
    return AllRuns(ranks)
