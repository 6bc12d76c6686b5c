"""Which device activities are to blame for an abnormal run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.limits import KERNELS_SHOWN, LEAST_SHARE
from perfetto_autoviz.steps.anomalies.medians import MAD_TO_SIGMA, median
from perfetto_autoviz.steps.anomalies.runs import Bools, RunMatrix
from perfetto_autoviz.steps.anomalies.values import CHANNELS
from perfetto_autoviz.steps.intervals import Ints

RUN_TIME, IDLE_TIME = CHANNELS
ORDER = "order"

Floats = NDArray[np.float64]
Kind = Literal["plain", "missing", "extra", "swapped"]


@dataclass(frozen=True)
class Culprit:
    """One activity, or one that should have run; times in ns.

    Attributes:
        position: in the run, -1 for an extra activity.
        kernel: index into the kernels of all ranks, -1 for a missing one.
        op: what ran, or should have.
        instead: what should have run instead of a swapped one.
        kind: what is wrong with it.
        channel: run time, idle time or order.
        excess: beyond the normal time.
        share: of the run's excess; None for the order.
        normal: the normal time; negative if it normally starts before its predecessors end.
        spread: robust standard deviation of it.
        score: how far from normal, in the unit of a threshold; None where there is none.
    """

    position: int
    kernel: int
    op: str
    instead: str | None
    kind: Kind
    channel: str
    excess: int
    share: float | None = None
    normal: float | None = None
    spread: float | None = None
    score: float | None = None


@dataclass(frozen=True)
class Normal:
    """Normal times of a group's runs, in ns; medians over its runs of normal duration.

    Attributes:
        matrix: those runs.
        times: shape ``(channels, positions)``: run time and signed gap.
        there: whether there is any, same shape.
        dur: median duration of a run.
        expected: where the pattern's operation runs in most of them, shape ``(positions,)``.
    """

    matrix: RunMatrix
    times: Floats
    there: Bools
    dur: float
    expected: Bools

    @classmethod
    def of(cls, matrix: RunMatrix) -> Normal:
        """From the runs of a group whose duration is normal."""
        there = np.stack([matrix.ran, matrix.has_idle], axis=1)
        times = np.stack([matrix.run_time, matrix.gap], axis=1).astype(np.float64)
        dur = float(np.median(matrix.dur)) if len(matrix) else 0.0
        expected = 2 * matrix.ran.sum(axis=0) >= len(matrix)
        any_there = np.asarray(there.any(axis=0), bool)
        return cls(matrix, median(times, there), any_there, dur, np.asarray(expected, bool))

    @cached_property
    def _spreads(self) -> dict[tuple[int, int], float]:
        """Those that were asked for: few, and the same ones again."""
        return {}

    def spread(self, channel: int, position: int) -> float:
        """Robust standard deviation of one time."""
        if (channel, position) not in self._spreads:
            times, there = (
                (self.matrix.run_time, self.matrix.ran)
                if channel == 0
                else (self.matrix.gap, self.matrix.has_idle)
            )
            own = times[there[:, position], position] - self.times[channel, position]
            spread = MAD_TO_SIGMA * float(np.median(np.abs(own))) if len(own) else 0.0
            self._spreads[channel, position] = spread
        return self._spreads[channel, position]


def by_time(matrix: RunMatrix, row: int, normal: Normal) -> list[Culprit]:
    """Activities that explain most of a run's excess, the largest share first."""
    excess = int(matrix.dur[row]) - normal.dur
    found = _excesses(matrix, row, normal)
    side = 1 if excess >= 0 else -1
    flat = (side * found).ravel()
    culprits = []
    for at in largest(flat, KERNELS_SHOWN):
        share = float(flat[at]) / max(abs(excess), 1)
        if flat[at] <= 0 or share < LEAST_SHARE:
            break
        channel, position = divmod(at, found.shape[1])
        culprits.append(at_position(matrix, row, normal, channel, position))
    return culprits


def largest(values: Floats, count: int) -> list[int]:
    """Indices of the largest values, the largest and then the first coming first."""
    if len(values) > count:
        least = np.partition(values, len(values) - count)[len(values) - count]
        chosen = np.flatnonzero(values >= least)
    else:
        chosen = np.arange(len(values))
    first = chosen[np.argsort(-values[chosen], kind="stable")][:count]
    return [int(one) for one in first]


def at_position(
    matrix: RunMatrix,
    row: int,
    normal: Normal,
    channel: int,
    position: int,
    usual: tuple[float, float] | None = None,
    score: float | None = None,
) -> Culprit:
    """The activity at a position, blamed for one of its times.

    Args:
        matrix: the runs.
        row: the run.
        normal: of its group.
        channel: index into `CHANNELS`.
        position: in the run.
        usual: normal time and spread in ns, if something knows better than the group.
        score: how far from normal, in the unit of a threshold.
    """
    times = matrix.run_time if channel == 0 else matrix.gap
    middle, spread = float(normal.times[channel, position]), normal.spread(channel, position)
    # An idle time is never negative, and so doesn't say how far activities usually overlap.
    if usual is not None and (channel == 0 or middle >= 0):
        middle, spread = usual
    excess = float(times[row, position]) - middle
    whole = float(matrix.dur[row]) - normal.dur
    kernel = int(matrix.kernel[row, position])
    return Culprit(
        position=position,
        kernel=kernel,
        op=str(matrix.kernels.ops[matrix.kernels.op[kernel]]),
        instead=None,
        kind="plain",
        channel=CHANNELS[channel],
        excess=round(excess),
        share=excess / whole if whole else None,
        normal=middle,
        spread=spread,
        score=score,
    )


def by_order(matrix: RunMatrix, row: int, normal: Normal, expected: Bools) -> list[Culprit]:
    """Missing, extra and swapped activities of a run, the longest of each first.

    Args:
        matrix: the runs.
        row: the run.
        normal: of its group.
        expected: where the pattern's operation usually runs at this place of a step, shape
            ``(positions,)``.
    """
    return [
        *_first(_swapped(matrix, row, normal, expected)),
        *_first(_missing(matrix, row, normal, expected)),
        *_first(_extra(matrix, row, expected)),
    ]


def _first(found: Iterator[Culprit]) -> list[Culprit]:
    return sorted(found, key=lambda one: -abs(one.excess))[:KERNELS_SHOWN]


def _excesses(matrix: RunMatrix, row: int, normal: Normal) -> Floats:
    """Time beyond the normal one of each channel and position; 0 where either is absent."""
    own = np.stack([matrix.run_time[row], matrix.gap[row]]).astype(np.float64)
    there = np.stack([matrix.ran[row], matrix.has_idle[row]]) & normal.there
    return np.where(there, own - normal.times, 0.0)


def _swapped(matrix: RunMatrix, row: int, normal: Normal, wanted: Bools) -> Iterator[Culprit]:
    """Others in the place of what usually runs there; a first layer may start with another."""
    kernels = matrix.kernels
    for position in np.flatnonzero(wanted & matrix.swapped[row]).tolist():
        kernel = int(matrix.kernel[row, position])
        yield Culprit(
            position=position,
            kernel=kernel,
            op=str(kernels.ops[kernels.op[kernel]]),
            instead=matrix.ops[position],
            kind="swapped",
            channel=ORDER,
            excess=round(float(kernels.dur[kernel]) - float(normal.times[0, position])),
        )


def _missing(matrix: RunMatrix, row: int, normal: Normal, wanted: Bools) -> Iterator[Culprit]:
    for position in np.flatnonzero(wanted & (matrix.kernel[row] < 0)).tolist():
        yield Culprit(
            position=position,
            kernel=-1,
            op=matrix.ops[position],
            instead=None,
            kind="missing",
            channel=ORDER,
            excess=-round(float(normal.times[0, position])),
        )


def _extra(matrix: RunMatrix, row: int, wanted: Bools) -> Iterator[Culprit]:
    """Activities outside the pattern, and those that usually don't run at this place."""
    kernels = matrix.kernels
    unplaced = matrix.extra_kernel[matrix.extra_run == row]
    unusual = np.flatnonzero(~wanted & matrix.ran[row])
    places: Ints = np.concatenate([np.full(len(unplaced), -1), unusual]).astype(np.int64)
    both: Ints = np.concatenate([unplaced, matrix.kernel[row, unusual]]).astype(np.int64)
    for position, kernel in zip(places.tolist(), both.tolist(), strict=True):
        yield Culprit(
            position=position,
            kernel=kernel,
            op=str(kernels.ops[kernels.op[kernel]]),
            instead=None,
            kind="extra",
            channel=ORDER,
            excess=int(kernels.dur[kernel]),
        )
