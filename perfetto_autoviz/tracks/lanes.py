"""Spreads overlapping spans over as few lanes as possible."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt


def assign_lanes(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Gives each span a lane on which it overlaps no other span.

    Spans that only touch share a lane. Each span takes the lowest lane that is free at its
    start, which needs no more lanes than spans overlap at once (greedy interval
    partitioning; Kleinberg and Tardos, Algorithm Design, section 4.1).

    Args:
        starts: start of each span, ascending; equal starts by ascending end.
        ends: end of each span, not before its start.

    Returns:
        The lane of each span, from 0.
    """
    lanes = np.zeros(starts.size, dtype=np.int64)
    if bool((ends[:-1] <= starts[1:]).all()):
        return lanes
    busy: list[tuple[int, int]] = []  # (end, lane)
    free: list[int] = []
    opened = 0
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, opened = opened, opened + 1
        heapq.heappush(busy, (end, lane))
        lanes[row] = lane
    return lanes
