"""What detection finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index, Track

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MISSING, EXTRA_KERNEL, SWAPPED_KERNEL = 0, 1, 2
"""Kinds of exceptions."""


@dataclass(frozen=True)
class Pattern:
    """One loop.

    Attributes:
        name: ``P1`` for an outermost loop, ``P1.2`` for the second one inside it; numbered by
            device time, the longest first.
        level: 0 for an outermost loop.
        parent: index of the pattern whose runs hold most of its time; None for an outermost one.
        length: number of its positions.
        kernels: kernels of a typical run, those of inner loops included.
        ops: code of the operation at each position, -1 at that of an inner loop.
        inner: index of the inner loop's pattern at each position, -1 at that of a kernel.
        period: median time in ns between the starts of runs that follow each other; 0 for
            a loop that runs once per rank.
        time: device time of all its runs in ns: durations of all kernels from the first to
            the last of each run.
        ranks: ranks that run it.
        parts: first positions of its two similar parts, if it is two kinds of layer in turn; a
            run is two layers then. Empty otherwise.
    """

    name: str
    level: int
    parent: int | None
    length: int
    kernels: int
    ops: tuple[int, ...]
    inner: tuple[int, ...]
    period: int
    time: int
    ranks: tuple[int, ...]
    parts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Positions:
    """Positions of all patterns; arrays of shape ``(positions,)``, by pattern and position.

    Attributes:
        pattern: index of the pattern.
        position: number of the position in the pattern, from 0.
        op: code of the operation, -1 for an inner loop.
        inner: index of the inner loop's pattern, or -1.
        stream_role: 0 where it mostly runs on its device's busiest stream, 1 on the next, …
        count: kernels that ran there as expected; repeats of the inner loop.
        total: their summed duration in ns.
        mean: mean duration in ns.
        std: standard deviation of the duration in ns.
        least: shortest duration in ns.
        median: median duration in ns.
        most: longest duration in ns.
    """

    pattern: Index
    position: Index
    op: Index
    inner: Index
    stream_role: Index
    count: Ints
    total: Ints
    mean: Floats
    std: Floats
    least: Ints
    median: Floats
    most: Ints

    def __len__(self) -> int:
        return len(self.pattern)


@dataclass(frozen=True)
class Variants:
    """Launch shapes per position; arrays of shape ``(variants,)``.

    Attributes:
        row: row of ``Positions``.
        variant: code of the launch shape.
        count: kernels launched with it.
        total: their summed duration in ns.
    """

    row: Index
    variant: Ints
    count: Ints
    total: Ints


@dataclass(frozen=True)
class PatternRuns:
    """Runs of all patterns; arrays of shape ``(runs,)``, by pattern, rank and time.

    Attributes:
        pattern: index of the pattern.
        track: index of the track it ran on.
        rank: rank it ran on.
        number: number of the run of this pattern on this rank, from 0.
        parent: row of the run around it, or -1.
        first: first kernel in the order.
        last: last kernel in the order.
        ts: start of its first kernel in ns.
        dur: ns from there to its last end.
        missing: positions that did not run.
        extra: kernels or repeats of an inner loop that are not in the pattern.
        swapped: positions at which something else ran.
    """

    pattern: Index
    track: Index
    rank: Index
    number: Index
    parent: Index
    first: Index
    last: Index
    ts: Ints
    dur: Ints
    missing: Index
    extra: Index
    swapped: Index

    def __len__(self) -> int:
        return len(self.pattern)


@dataclass(frozen=True)
class Exceptions:
    """What runs do otherwise; arrays of shape ``(exceptions,)``, by run.

    Attributes:
        run: row of ``PatternRuns``.
        kind: ``MISSING``, ``EXTRA_KERNEL`` or ``SWAPPED_KERNEL``.
        position: position in the pattern, -1 for an extra kernel.
        kernel: the kernel in the order, the first one of an inner loop, -1 for a missing one.
    """

    run: Index
    kind: NDArray[np.int8]
    position: Index
    kernel: Index

    def __len__(self) -> int:
        return len(self.run)


@dataclass(frozen=True)
class Places:
    """Where each kernel belongs; arrays of shape ``(kernels,)`` in the ranks' order.

    The ranks' arrays lie end to end by rank number, each in the order it was given in.

    Attributes:
        pattern: index of the innermost pattern, -1 outside all.
        run: row of ``PatternRuns``, -1 outside all.
        position: position in the pattern, -1 for an extra kernel and outside.
    """

    pattern: Index
    run: Index
    position: Index


@dataclass(frozen=True)
class RunSegments:
    """Where the runs' kernels are; arrays of shape ``(segments,)``, by run.

    A segment is a stretch of neighbours in the order. Positions of a plain or swapped one
    count up from ``position``, those of an inner loop are all ``position``, those of an
    extra one are -1. A run without exceptions and inner loops is one segment.

    Attributes:
        run: row of ``PatternRuns``.
        first: first kernel in the order.
        count: number of kernels.
        position: position of the first kernel.
        kind: 0 plain, 1 extra, 2 swapped; 4 more for an inner loop.
    """

    run: Index
    first: Index
    count: Index
    position: Index
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.run)


@dataclass(frozen=True)
class Patterns:
    """All loops of a set of ranks.

    Attributes:
        patterns: the patterns in the order of their names.
        positions: their positions with statistics.
        variants: launch shapes per position; empty if they are unknown.
        runs: their runs.
        segments: the runs' kernels.
        exceptions: what runs do otherwise.
        tracks: the sequences that were searched.
        source: for each kernel of the order its index in the ranks' arrays, end to end.
        by_stream: whether streams were searched one by one instead of each device by time.
    """

    patterns: tuple[Pattern, ...]
    positions: Positions
    variants: Variants
    runs: PatternRuns
    segments: RunSegments
    exceptions: Exceptions
    tracks: tuple[Track, ...]
    source: Index
    by_stream: bool
