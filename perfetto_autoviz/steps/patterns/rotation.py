"""Where a loop starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.costs import Costs
from perfetto_autoviz.steps.patterns.kernels import Index, Order
from perfetto_autoviz.steps.patterns.limits import (
    COMMON_END,
    DISTINCT_GAP,
    HINTED,
    PARTIAL,
    SAMPLED_COPIES,
)
from perfetto_autoviz.steps.patterns.line import Line
from perfetto_autoviz.steps.patterns.substrings import Stretches, ranges

Ints = NDArray[np.int64]


def choose_rotation(found: Stretches, line: Line, order: Order, costs: Costs) -> int:
    """The phase, counted from the stretches' origins, at which copies of a loop start.

    A known iteration decides, then a known layer, then a gap that is longer than all others,
    then where repeats commonly start or end; else as many complete copies as possible, and of
    equal ones the one after the largest typical gap, the earliest if there are several.

    Args:
        found: all stretches of one cyclic word.
        line: the sequence.
        order: its kernels, for their gaps and for known starts.
        costs: the kernels of its items.
    """
    period = int(found.period[0])
    copies = _sample(found, period)
    table = line.first[copies[:, None] + np.arange(period)]
    for kind in (2, 1):
        share = np.mean(order.hint[table] == kind, axis=0)
        if share.max() >= HINTED:
            return int(share.argmax())
    typical = np.median(order.gap[table], axis=0)
    pauses = _distinct(typical, line.symbol[copies[0] : copies[0] + period], costs.base)
    if len(pauses):
        return max(pauses, key=lambda phase: _covered(found, line, costs, phase))
    fixed = _fixed_end(found, period)
    if fixed is not None:
        return fixed
    gain = complete_copies(found, period)
    best = np.flatnonzero(gain == gain.max())
    best = best[typical[best] == typical[best].max()]
    first = (found.start[0] - found.origin[0]) % period
    return int(best[np.argmin((best - first) % period)])


def _distinct(typical: NDArray[np.float64], word: Index, base: int) -> list[int]:
    """Positions before which the gap is longer than before all others, the longest first.

    Of steps, several kinds of which make one loop, there may be several: all before the same
    operation.
    """
    longest = int(typical.argmax())
    alike = np.arange(len(word)) == longest
    if (word >= base).any():
        alike = word == word[longest]
    enough = DISTINCT_GAP * max(float(typical[~alike].max(initial=0)), 0)
    pauses = np.flatnonzero(alike & (typical > 0) & (typical >= enough))
    return [int(one) for one in pauses[np.argsort(-typical[pauses], kind="stable")]]


def _covered(found: Stretches, line: Line, costs: Costs, phase: int) -> int:
    """Kernels in complete copies, and in incomplete ones of which enough ran."""
    period = int(found.period[0])
    first = int(copy_starts(found, phase)[0])
    until = np.concatenate([[0], np.cumsum(costs.of(line.symbol[first : first + period]))])
    head = (found.origin + phase - found.start) % period
    count, tail = np.divmod(found.stop - found.start - head, period)
    parts = np.concatenate([until[-1] - until[period - head], until[tail]])
    return int(count.sum() * until[-1] + parts[parts >= PARTIAL * until[-1]].sum())


def _fixed_end(found: Stretches, period: int) -> int | None:
    """The phase at which repeats commonly start or end, None if noise or the capture ends them.

    What is left between the two is a part of a copy. A small part is what follows the loop
    and happens to look like its start; a large one is a copy whose first kernels differ, as
    the first layer has no residual to add yet.
    """
    starts = np.bincount((found.start - found.origin) % period, minlength=period)
    stops = np.bincount((found.stop - found.origin) % period, minlength=period)
    start, stop = int(starts.argmax()), int(stops.argmax())
    if (stop - start) % period < PARTIAL * period:
        common, phase = starts[start], start
    else:
        common, phase = stops[stop], stop
    # A track's own ends are no evidence where there is but one repeat on each.
    enough = common >= COMMON_END * len(found) and (common > 1 or phase == stop != start)
    return phase if enough else None


def complete_copies(found: Stretches, period: int) -> Ints:
    """For each phase, the complete copies that fit if copies start there (less a constant)."""
    spare = (found.stop - found.start) % period
    first = (found.start - found.origin) % period
    steps = np.bincount(first, minlength=2 * period + 1)
    steps = steps - np.bincount(first + spare + 1, minlength=2 * period + 1)
    gain = np.cumsum(steps)
    return np.asarray(gain[:period] + gain[period : 2 * period], dtype=np.int64)


def copy_starts(found: Stretches, phase: int) -> Ints:
    """First items of all complete copies that start at a phase, by position."""
    start = found.start + (found.origin + phase - found.start) % found.period
    count = (found.stop - start) // found.period
    nth = ranges(np.zeros(len(count), dtype=np.int64), count)
    return np.repeat(start, count) + nth * np.repeat(found.period, count)


def _sample(found: Stretches, period: int) -> Ints:
    # A stretch of two periods holds a complete copy at every phase, so this is never empty.
    starts = copy_starts(found, 0)
    return starts[:: max(1, len(starts) // SAMPLED_COPIES)]
