"""One sequence per device out of its streams: what recurs beside a run follows the run's kernels.

Read stream by stream, a loop is found however its streams interleave; but where the same layers
run on one stream, as they do without a graph, they look like another loop, and so do the steps
around them. With the kernels of side streams put behind those of the run they belong to, both
are the same kernels in nearly the same order, and all that is around them is one loop again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import LONGEST_GAP, Index, Order
from perfetto_autoviz.steps.patterns.level import Segments, join_segments, stacked
from perfetto_autoviz.steps.patterns.line import INNER
from perfetto_autoviz.steps.patterns.loops import Loops
from perfetto_autoviz.steps.patterns.sides import Beside
from perfetto_autoviz.steps.patterns.substrings import ranges

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Gathered:
    """Kernels sorted by stream, less those that were put behind the runs they lie beside.

    Attributes:
        order: the kernels in the new order.
        place: for each of them its place in the order by stream.
        moved: which of them come from another track.
    """

    order: Order
    place: Index
    moved: Bools


def gather_sides(order: Order, loops: Loops, beside: Beside) -> Gathered:
    """Put kernels of side streams behind the runs that they belong to.

    Args:
        order: the kernels by stream.
        loops: the loops that were found in them.
        beside: what lies beside their runs.
    """
    behind = np.arange(len(order), dtype=np.int32)
    behind[beside.kernel] = loops.runs.stop[beside.run] - 1
    moved = np.zeros(len(order), dtype=bool)
    moved[beside.kernel] = True
    place = np.lexsort((moved, behind)).astype(np.int32)
    moved = moved[place]
    bounds = order.bounds()
    size = np.histogram(behind, bins=bounds)[0] if len(order) else bounds[1:]
    stop = np.cumsum(size)
    tracks = tuple(
        replace(track, start=int(b - a), stop=int(b))
        for track, a, b in zip(order.tracks, size, stop, strict=True)
    )
    gap = order.gap[place]
    # No run starts with what was put behind another kernel.
    gap[moved] = -LONGEST_GAP
    together = Order(
        tracks, order.source[place], order.op[place], gap, order.hint[place], order.role[place]
    )
    return Gathered(together, place, moved)


def by_stream_again(loops: Loops, gathered: Gathered) -> Loops:
    """Loops of the new order in terms of the order by stream."""
    own = np.append(~gathered.moved, False)
    # Of each kernel and what follows it, the next that is on its own track; and the last before.
    index = np.arange(len(own), dtype=np.int32)
    following = np.minimum.accumulate(np.where(own, index, len(own) - 1)[::-1])[::-1]
    before = np.maximum.accumulate(np.where(own, index, -1))

    def turned(first: Index, stop: Index) -> tuple[Index, Index]:
        """Where a stretch lies; that of its first kernel if none is on its own track."""
        head, tail = following[first], before[stop - 1]
        none = head > tail
        head, tail = np.where(none, first, head), np.where(none, first, tail)
        return gathered.place[head], gathered.place[tail] + np.int32(1)

    runs, segments = loops.runs, loops.segments
    first, stop = turned(runs.first, runs.stop)
    inner = segments.kind >= INNER
    outer_first, outer_stop = turned(
        segments.first[inner], segments.first[inner] + segments.count[inner]
    )
    stacks = replace(_pick(segments, inner), first=outer_first, count=outer_stop - outer_first)
    return replace(
        loops,
        runs=replace(runs, first=first, stop=stop),
        segments=stacked([stacks, _turned_kernels(_pick(segments, ~inner), gathered.place)]),
    )


def _turned_kernels(segments: Segments, place: Index) -> Segments:
    """Segments of kernels, parted where their kernels are on other tracks."""
    count = segments.count
    run = np.repeat(segments.run, count)
    known = np.repeat(segments.position >= 0, count)
    position = np.where(known, ranges(segments.position, count), -1)
    kernel = place[ranges(segments.first, count)]
    kind = np.repeat(segments.kind, count)
    return join_segments(run, kernel, kernel + np.int32(1), position.astype(np.int32), kind)


def _pick(segments: Segments, which: Bools) -> Segments:
    return Segments(**{name: value[which] for name, value in segments.__dict__.items()})
