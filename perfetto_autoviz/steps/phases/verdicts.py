"""What is known of the phases of steps, filled in tier by tier."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.phases.work import Flags, Floats

SHAPES = "input shapes"
ATTENTION = "attention kernels"
GRIDS = "launch grids"
LAUNCHES = "graph launches"
TILES = "matrix product tiles"
DURATIONS = "durations"
NOTHING = "nothing tells"


@dataclass
class Verdicts:
    """Whether steps prefill; all arrays have shape (n,).

    Attributes:
        prefills: whether a step prefills; without meaning while it is open.
        is_open: whether nothing has decided yet.
        evidence: what decided.
        confidence: how sure that is.
    """

    prefills: Flags
    is_open: Flags
    evidence: NDArray[np.object_]
    confidence: Floats = field(repr=False)

    @classmethod
    def none(cls, count: int) -> Verdicts:
        """Nothing is decided yet."""
        return cls(
            np.zeros(count, bool),
            np.ones(count, bool),
            np.full(count, NOTHING, object),
            np.zeros(count),
        )

    def settle(self, steps: Flags, evidence: str, confidence: float, *, prefills: bool) -> None:
        """Decides the steps given, as far as nothing has before."""
        steps = steps & self.is_open
        self.prefills[steps] = prefills
        self.evidence[steps] = evidence
        self.confidence[steps] = confidence
        self.is_open &= ~steps
