"""The anomalies that are made, and how large each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["spike", "stall", "swap", "drift", "missing", "extra", "slow_collective"]
Channel = Literal["run time", "idle time", "order"]

KINDS: tuple[Kind, ...] = (
    "spike",
    "stall",
    "swap",
    "drift",
    "missing",
    "extra",
    "slow_collective",
)
"""All kinds, in the order of reports."""

WORDS: Mapping[Kind, str] = {
    "spike": "spike: one kernel x5",
    "stall": "idle stall: +5 µs before one kernel",
    "swap": "swap: two kernels, 3 apart",
    "drift": "drift: all kernels x1.1",
    "missing": "missing kernel",
    "extra": "extra kernel",
    "slow_collective": "slow collective: x3 on one rank",
}
"""What each kind is, for people."""

CHANNELS: Mapping[Kind, Channel | None] = {
    "spike": "run time",
    "stall": "idle time",
    "swap": "order",
    "drift": None,
    "missing": "order",
    "extra": "order",
    "slow_collective": "run time",
}
"""What is wrong with the culprit; a drift has none."""

SPIKE = 5.0
"""Times a kernel's duration: a clock that fell, or a preempted kernel; the size for which
recall is published elsewhere."""

STALL_NS = 5_000
"""Ns of idle time before a kernel: about what one late launch costs."""

SWAP_APART = 3
"""Places in the run between two kernels that change places."""

DRIFT = 1.1
"""Times all durations of a run: a GPU that throttles by a tenth of its clock."""

SLOW_COLLECTIVE = 3.0
"""Times a collective's duration on one rank, as when its link has fallen to a third."""


@dataclass(frozen=True)
class StepAnomaly:
    """What goes wrong in one layer of a step.

    Attributes:
        kind: what it is.
        rank: the rank, -1 for all.
        layer: index of the layer.
        culprits: kernels of the program to blame, any of which is right.
        missing: name of the kernel that did not run, if that is to blame.
    """

    kind: Kind
    rank: int
    layer: int
    culprits: tuple[int, ...]
    missing: str | None = None

    @property
    def channel(self) -> str | None:
        """What is wrong with the culprit; None without one."""
        return CHANNELS[self.kind]
