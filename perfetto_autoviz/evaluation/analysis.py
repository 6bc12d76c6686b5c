"""The runs of a capture, or of a copy with anomalies, as the anomaly tests see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.evaluation.frames import analysed
from perfetto_autoviz.steps import Frames, Options
from perfetto_autoviz.steps.anomalies.baseline import Baseline, baseline
from perfetto_autoviz.steps.anomalies.cells import run_sets
from perfetto_autoviz.steps.anomalies.context import RunContext, read_context
from perfetto_autoviz.steps.anomalies.groups import Groups, group_runs
from perfetto_autoviz.steps.anomalies.runs import AllRuns, RunMatrix, read_runs
from perfetto_autoviz.steps.anomalies.values import RunSet
from perfetto_autoviz.steps.intervals import Ints


@dataclass(frozen=True)
class Analysis:
    """All runs of all ranks.

    Attributes:
        runs: the runs.
        context: the steps they're in.
        groups: which of them may be compared.
        baseline: what their durations say.
    """

    runs: AllRuns
    context: RunContext
    groups: Groups
    baseline: Baseline

    @classmethod
    def of(cls, bases: Mapping[int, Frames], options: Options) -> Analysis:
        """Goes the whole way from activities to runs; see `frames.base_frames`."""
        frames = analysed(bases, options)
        runs = read_runs(frames)
        context = read_context(frames, runs.table)
        groups = group_runs(runs.table, context)
        return cls(runs, context, groups, baseline(runs.table, groups))

    def run_set(self, pattern: int) -> RunSet:
        """The runs of a pattern."""
        return run_sets(self.runs, self.context, self.groups, self.baseline, pattern)


def activities_of(matrix: RunMatrix, row: int) -> Ints:
    """Numbers on its rank of all activities of a run, ascending."""
    placed = matrix.kernel[row]
    own = np.concatenate([placed[placed >= 0], matrix.extra_kernel[matrix.extra_run == row]])
    return np.sort(matrix.kernels.seq[own])
