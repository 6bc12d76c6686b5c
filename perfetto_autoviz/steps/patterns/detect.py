"""Detection of the repeating sequences of kernels over all ranks of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfetto_autoviz.steps.patterns.gathered import by_stream_again, gather_sides
from perfetto_autoviz.steps.patterns.kernels import (
    RankKernels,
    gather,
    order_kernels,
    sorted_ranks,
)
from perfetto_autoviz.steps.patterns.limits import MORE_SEQUENCES, NEARLY_ALL, SAMPLE_LENGTH
from perfetto_autoviz.steps.patterns.line import EXTRA, INNER, PLAIN, lay_out
from perfetto_autoviz.steps.patterns.loops import Loops, find_loops
from perfetto_autoviz.steps.patterns.result import Patterns, Places
from perfetto_autoviz.steps.patterns.sides import find_sides
from perfetto_autoviz.steps.patterns.substrings import count_substrings, ranges
from perfetto_autoviz.steps.patterns.tables import build_tables


def detect_patterns(ranks: Sequence[RankKernels]) -> Patterns:
    """Find the loops of a set of ranks, from layers to steps.

    All ranks are searched together, so that a loop is the same pattern on each. The devices'
    kernels are read by time and, where several streams take part, stream by stream too;
    whichever explains more of them is kept, by time if both do equally well.

    Args:
        ranks: the kernels of each rank, in any order.

    Raises:
        UsageError: two ranks have the same number, or there are too many kernels.
    """
    ordered = sorted_ranks(ranks)
    by_stream = False
    if any(_streams(one) for one in ordered):
        by_stream, loops = _better_reading(ordered)
    else:
        loops = find_loops(order_kernels(ordered, by_stream=False))
    # Sorting once more costs less than keeping both orders in memory.
    return build_tables(order_kernels(ordered, by_stream=by_stream), loops, ordered)


def _better_reading(ranks: Sequence[RankKernels]) -> tuple[bool, Loops]:
    """Whether to read streams one by one, and the loops found so.

    Streams that interleave differently from run to run make many different sequences of a
    few kernels; reading them by time is then neither quick nor of use.
    """
    device, stream = (
        count_substrings(lay_out(order_kernels(ranks, by_stream=by_stream)).symbol, SAMPLE_LENGTH)
        for by_stream in (False, True)
    )
    if device > MORE_SEQUENCES * stream:
        return True, _find_by_stream(ranks)
    order = order_kernels(ranks, by_stream=False)
    loops, size = find_loops(order), len(order)
    del order
    explained = _explained(loops)
    if stream > MORE_SEQUENCES * device or explained >= NEARLY_ALL * size:
        return False, loops
    apart = _find_by_stream(ranks)
    return (True, apart) if _explained(apart) > explained else (False, loops)


def _find_by_stream(ranks: Sequence[RankKernels]) -> Loops:
    order = order_kernels(ranks, by_stream=True)
    loops = find_loops(order)
    beside = find_sides(order, gather([one.ts for one in ranks], order), loops)
    gathered = gather_sides(order, loops, beside)
    return by_stream_again(find_loops(gathered.order), gathered)


def _explained(loops: Loops) -> int:
    """Kernels that loops explain: those with a place, less the loops themselves.

    What two loops say of the same kernels, as streams interleave so and so, one loop says in half
    of the positions.
    """
    own = loops.segments.kind == PLAIN
    return int(loops.segments.count[own].sum()) - sum(map(len, loops.words))


def kernel_places(patterns: Patterns) -> Places:
    """The innermost pattern, run and position of every kernel."""
    size = len(patterns.source)
    own = patterns.segments.kind < INNER
    count = patterns.segments.count[own].astype(np.int64)
    kernel = patterns.source[ranges(patterns.segments.first[own].astype(np.int64), count)]
    run = np.full(size, -1, dtype=np.int32)
    pattern = np.full(size, -1, dtype=np.int32)
    position = np.full(size, -1, dtype=np.int32)
    run[kernel] = np.repeat(patterns.segments.run[own], count)
    pattern[kernel] = patterns.runs.pattern[run[kernel]]
    extra = np.repeat(patterns.segments.kind[own] == EXTRA, count)
    counted = ranges(patterns.segments.position[own].astype(np.int64), count)
    position[kernel] = np.where(extra, -1, counted)
    return Places(pattern, run, position)


def _streams(one: RankKernels) -> bool:
    """Whether some device has kernels on several streams."""
    _, first, device = np.unique(one.device, return_index=True, return_inverse=True)
    return bool((one.stream != one.stream[first][device]).any())
