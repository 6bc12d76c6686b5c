"""The two channels of a run: run time of each kernel, and idle time before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.runs import Bools, RunMatrix
from perfetto_autoviz.steps.intervals import Ints

Singles = NDArray[np.float32]

CHANNELS = ("run time", "idle time")
"""Channels in their order."""


@dataclass(frozen=True)
class RunSet:
    """The runs of a pattern with what decides what may be compared.

    Attributes:
        matrix: the runs.
        values: log1p of the times in µs, shape ``(runs, channels, positions)``; 0 where
            ``there`` is False.
        there: where there is a time, same shape.
        cell: name of what a run is judged by, e.g. ``decode``; shape ``(runs,)``, as all below.
        group: name of the finer group whose steps have the same size.
        step: number shared by runs of one step on one rank; -1 in none.
        normal: whether the duration of the run is within its group's bounds.
        expected: whether the pattern's operation usually runs at each position at this place
            of a step, shape ``(runs, positions)``.
    """

    matrix: RunMatrix
    values: Singles
    there: Bools
    cell: NDArray[np.object_]
    group: NDArray[np.object_]
    step: Ints
    normal: Bools
    expected: Bools

    def __len__(self) -> int:
        return len(self.matrix)

    def measured(self, across: Bools) -> RunSet:
        """The same runs with idle times measured on the device where it says so.

        Args:
            across: see `RunMatrix`.
        """
        if (across == self.matrix.across).all():
            return self
        matrix = replace(self.matrix, across=across)
        return run_set(matrix, self.cell, self.group, self.step, self.normal, self.expected)

    def rows(self, which: Ints) -> RunSet:
        """Some of the runs; those of their step that are left out are no siblings any more."""
        return RunSet(
            self.matrix.rows(which),
            self.values[which],
            self.there[which],
            self.cell[which],
            self.group[which],
            self.step[which],
            self.normal[which],
            self.expected[which],
        )


def run_set(
    matrix: RunMatrix,
    cell: NDArray[np.object_],
    group: NDArray[np.object_],
    step: Ints,
    normal: Bools,
    expected: Bools,
) -> RunSet:
    """The runs of a pattern as the autoencoder reads them; see `RunSet`."""
    there = np.stack([matrix.ran, matrix.has_idle], axis=1)
    times = np.stack([matrix.run_time, matrix.idle], axis=1)
    values = np.log1p(times.astype(np.float32) / np.float32(1_000))
    values = np.where(there, values, np.float32(0))
    return RunSet(matrix, values, there, cell, group, step, normal, expected)
