"""Times of the host in a repetition of a real step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.benchmarks.strip.repeated.template import Activity, RealStep, extent

LONG = 700_000
"""A wait in ns that the recording of that one step caused, or its device."""

KEPT = 60_000
"""What is left of it."""

ONE_LAUNCH = 9_000
"""Time in ns of the host for each kernel of a graph that is launched by itself."""


@dataclass(frozen=True)
class HostClock:
    """Maps times of the real step to those of a repetition, in order."""

    real: Sequence[int]
    mapped: Sequence[float]

    def __call__(self, time: int) -> int:
        """The time in ns of the repetition."""
        at = min(max(bisect_right(self.real, time) - 1, 0), len(self.real) - 2)
        first, last = self.real[at], self.real[at + 1]
        share = (time - first) / (last - first)
        return round(self.mapped[at] + share * (self.mapped[at + 1] - self.mapped[at]))

    @property
    def end(self) -> int:
        """When the host is done with it."""
        return self(self.real[-1])


def host_clock(
    real: RealStep, step: Sequence[Activity], begin: int, speed: float, *, eager: bool
) -> HostClock:
    """The clock of a repetition.

    Args:
        real: the real step.
        step: its activities.
        begin: when the host begins with it.
        speed: how many times as long the host takes.
        eager: whether the kernels of its graph are launched one by one.
    """
    start, end = real.span
    edges = {edge for event in real.host for edge in extent(event)}
    times = np.array(sorted(edge for edge in edges if start <= edge <= end))
    lengths = np.diff(times).astype(float)
    lengths[lengths > LONG] = KEPT
    lengths *= speed
    replayed = [one for one in step if one.replayed]
    if eager and replayed:
        at = int(np.searchsorted(times, replayed[0].launch))
        lengths[at] = max(lengths[at], ONE_LAUNCH * (len(replayed) + 2))
    mapped = begin + np.concatenate([[0.0], np.cumsum(lengths)])
    return HostClock(times.tolist(), mapped.tolist())


def launches(
    step: Sequence[Activity], clock: HostClock, base: int, *, eager: bool
) -> list[tuple[int, int]]:
    """Number and start in ns of the launch of each activity; numbers start at ``base``."""
    found, alone = [], 0
    for one in step:
        if eager and one.replayed:
            start = clock(one.launch) + 1_000 + alone * ONE_LAUNCH
            alone += 1
            found.append((base + OF_ONES + alone, start))
        else:
            found.append((base + one.correlation % OF_ONES, clock(one.launch)))
    return found


OF_ONES = 400_000
"""Numbers of launches within a step from which on those of single kernels are."""
