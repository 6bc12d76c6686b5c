"""What a comparison of two builds holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.compare import (
    THRESHOLD,
    Build,
    EditScript,
    Loop,
    Match,
    Matching,
    PairScore,
    RunSamples,
    Timing,
    Waterfall,
    Weights,
)

Assignment = Literal["greedy", "optimal"]
BarKind = Literal["idle", "overlap"]


@dataclass(frozen=True)
class Choices:
    """What a user may choose about a comparison.

    Attributes:
        weights: shares of the two similarities in a score.
        threshold: score above which patterns match.
        pairs: pairs to take in any case, as ``P1:P3``.
        assignment: which matches the comparison goes on with.
    """

    weights: Weights = field(default_factory=Weights)
    threshold: float = THRESHOLD
    pairs: tuple[str, ...] = ()
    assignment: Assignment = "greedy"


@dataclass(frozen=True)
class BuildInfo:
    """What is known of one build beside its patterns.

    Attributes:
        label: a short name by its files.
        run_id: shared by its captures; the same for the same files.
        files: names of its captures, by rank.
        ranks: their ranks.
        gpu: devices it ran on, or None.
        framework: serving frameworks by its annotations, or None.
        runtime: GPU runtimes and their versions, or None.
        activities: device activities of all ranks.
        placed: those in patterns.
        phases: the phases of its steps, as far as they are known.
    """

    label: str
    run_id: str
    files: tuple[str, ...]
    ranks: tuple[int, ...]
    gpu: str | None
    framework: str | None
    runtime: str | None
    activities: int
    placed: int
    phases: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairComparison:
    """A pattern of A and its partner in B.

    Attributes:
        match: which they are, and their scores.
        a: A's pattern.
        b: B's pattern.
        runs_a: measurements of A's runs.
        runs_b: measurements of B's runs.
        timing: change of a run's wall time.
        rank_timing: the same on each rank that both builds have.
        operations: see ``compare_operations``.
        waterfall: from A's mean run to B's.
        script: how one became the other.
        ranks: see ``compare_ranks``.
    """

    match: Match
    a: Loop
    b: Loop
    runs_a: RunSamples
    runs_b: RunSamples
    timing: Timing
    rank_timing: dict[int, Timing]
    operations: pd.DataFrame
    waterfall: Waterfall
    script: EditScript
    ranks: pd.DataFrame

    @property
    def name(self) -> str:
        """Both names: ``P1-P3``."""
        return f"{self.a.name}-{self.b.name}"

    @property
    def medians(self) -> tuple[float, float]:
        """Median times in ns of both, over runs by number as in ``timing.difference``."""
        return _median(self.runs_a), _median(self.runs_b)

    def bar_change(self, kind: BarKind) -> float:
        """Change in ns of the waterfall's bar for idle time or for overlap."""
        return next(bar.change for bar in self.waterfall.bars if bar.kind == kind)


def _median(runs: RunSamples) -> float:
    series = runs.units(runs.wall.astype(np.float64))
    return float(np.median(series)) if len(series) else math.nan


@dataclass(frozen=True)
class Comparison:
    """Two builds compared.

    Attributes:
        a: A's patterns, runs and kernels.
        b: B's.
        info_a: what else is known of A.
        info_b: of B.
        choices: what was chosen.
        scores: of every pair of patterns.
        matching: partners by either assignment.
        pairs: what changed in each pair of partners, by A's patterns.
        unshared: see ``kernels_of_one_build``.
        steady: which iterations of both were compared and why; None for whole captures.
    """

    a: Build
    b: Build
    info_a: BuildInfo
    info_b: BuildInfo
    choices: Choices
    scores: tuple[PairScore, ...]
    matching: Matching
    pairs: tuple[PairComparison, ...]
    unshared: pd.DataFrame
    steady: str | None = None

    @property
    def alone_a(self) -> tuple[Loop, ...]:
        """A's patterns without partner."""
        taken = {pair.a.id for pair in self.pairs}
        return tuple(loop for loop in self.a.loops if loop.id not in taken)

    @property
    def alone_b(self) -> tuple[Loop, ...]:
        """B's patterns without partner."""
        taken = {pair.b.id for pair in self.pairs}
        return tuple(loop for loop in self.b.loops if loop.id not in taken)
