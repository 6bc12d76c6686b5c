"""From A's mean run to B's, operation by operation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfetto_autoviz.steps.compare.limits import WATERFALL_BARS
from perfetto_autoviz.steps.compare.samples import RunSamples

Kind = Literal["operation", "rest", "idle", "overlap"]


@dataclass(frozen=True)
class Bar:
    """One step from A to B.

    Attributes:
        kind: ``operation``; ``rest``, the sum of the operations without a bar; ``idle``, time in
            which none of the run's kernels runs; ``overlap``, time saved as several run at once.
        label: the operation; empty for the others.
        change: ns by which it makes the mean run longer.
        operations: operations in the bar: 1, or those of the rest; 0 for idle and overlap.
    """

    kind: Kind
    label: str
    change: float
    operations: int


@dataclass(frozen=True)
class Waterfall:
    """The way from A's mean run to B's.

    Attributes:
        a: mean wall time of A's runs in ns.
        b: mean wall time of B's runs in ns.
        bars: operations, the largest change first, then the rest if there is any, idle and
            overlap; ``a`` and all their changes make ``b``.
    """

    a: float
    b: float
    bars: tuple[Bar, ...]


def build_waterfall(a: RunSamples, b: RunSamples, *, bars: int = WATERFALL_BARS) -> Waterfall:
    """The change of the mean wall time, divided without remainder.

    A run's wall time is the sum of its kernels' durations, and the time in which none runs,
    less what would be counted twice as kernels overlap. So the means' differences add up, and
    no bar has to absorb a remainder. Every run counts the same, whatever its rank.

    Args:
        a: runs of A.
        b: runs of B.
        bars: operations with a bar of their own.
    """
    labels = sorted({*a.label, *b.label})
    sums_a, sums_b = _mean_parts(a, labels), _mean_parts(b, labels)
    changes = {label: sums_b[0][label] - sums_a[0][label] for label in labels}
    order = sorted(labels, key=lambda label: (-abs(changes[label]), label))
    found = [Bar("operation", label, changes[label], 1) for label in order[:bars]]
    below = order[bars:]
    if below:
        rest = math.fsum(changes[label] for label in below)
        found.append(Bar("rest", "", rest, len(below)))
    found.append(Bar("idle", "", sums_b[1] - sums_a[1], 0))
    # Overlap shortens a run: more of it is a change downwards.
    found.append(Bar("overlap", "", sums_a[2] - sums_b[2], 0))
    return Waterfall(_mean(a.wall.sum(), a), _mean(b.wall.sum(), b), tuple(found))


def _mean_parts(side: RunSamples, labels: list[str]) -> tuple[dict[str, float], float, float]:
    """Mean time of each operation, mean idle time and mean overlap of a run in ns."""
    code = {label: number for number, label in enumerate(labels)}
    numbers = np.array([code[label] for label in side.label], np.int64)
    # Whole nanoseconds are summed as such, so that nothing is rounded before the mean.
    total = np.zeros(len(labels), np.int64)
    np.add.at(total, numbers, side.dur)
    by_label = {label: _mean(sum_, side) for label, sum_ in zip(labels, total, strict=True)}
    idle = _mean((side.wall - side.busy).sum(), side)
    overlap = _mean(side.dur.sum() - side.busy.sum(), side)
    return by_label, idle, overlap


def _mean(total: np.int64, side: RunSamples) -> float:
    return int(total) / len(side) if len(side) else 0.0
