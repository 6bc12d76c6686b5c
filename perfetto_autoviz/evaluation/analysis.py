"""The runs of a capture, or of a copy with anomalies, and what is found among them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfetto_autoviz.evaluation.judged import methods
from perfetto_autoviz.evaluation.score import Found
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.anomalies.cells import run_sets
from perfetto_autoviz.steps.anomalies.findings import Findings, find
from perfetto_autoviz.steps.anomalies.model import Model
from perfetto_autoviz.steps.anomalies.runs import RunMatrix
from perfetto_autoviz.steps.anomalies.values import RunSet
from perfetto_autoviz.steps.intervals import Ints


class Analysis:
    """All runs of all ranks, and what their durations say.

    Attributes:
        durations: the findings of the baseline alone.
    """

    def __init__(self, frames: Mapping[int, Frames]) -> None:
        """Takes the frames of each rank as `frames.analysed` makes them."""
        self._frames = frames
        self.durations: Findings = find(frames)

    @property
    def names(self) -> Mapping[int, str]:
        """Name of each pattern by its id."""
        return self.durations.runs.names

    def run_set(self, pattern: int) -> RunSet:
        """The runs of a pattern as a model reads them."""
        found = self.durations
        return run_sets(found.runs, found.context, found.groups, found.baseline, pattern)

    def judged(self, ops: tuple[str, ...], model: Model | None) -> dict[int, Found]:
        """By pattern what each method says of its runs, of those with these operations."""
        tests = find(self._frames, models={ops: model}) if model else self.durations
        matrices = ((pattern, tests.runs.matrix(pattern)) for pattern in self.names)
        same = [pattern for pattern, matrix in matrices if matrix.ops == ops]
        return {pattern: methods(self.durations, tests, pattern) for pattern in same}


def activities_of(matrix: RunMatrix, row: int) -> Ints:
    """Numbers on its rank of all activities of a run, ascending."""
    placed = matrix.kernel[row]
    own = np.concatenate([placed[placed >= 0], matrix.extra_kernel[matrix.extra_run == row]])
    return np.sort(matrix.kernels.seq[own])
