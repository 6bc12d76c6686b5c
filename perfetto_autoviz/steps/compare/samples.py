"""What each run of a loop spent its time on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.compare.build import Build, Key, Loop
from perfetto_autoviz.steps.intervals import span_by_group, union_by_group

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RunSamples:
    """Measurements of a loop's runs; arrays of shape ``(runs,)`` by rank and number.

    Attributes:
        rank: rank of each run.
        number: number of the run on its rank.
        wall: ns from its first start to its last end.
        busy: ns in which at least one of its kernels ran.
        owner: shape ``(kernels,)``, for each of their kernels the run, inner loops' included.
        dur: shape ``(kernels,)``, its duration in ns.
        label: shape ``(kernels,)``, what it is called.
        left_out: runs that were not taken because something was missing or extra.
    """

    rank: Ints
    number: Ints
    wall: Ints
    busy: Ints
    owner: Ints
    dur: Ints
    label: NDArray[np.object_]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.wall)

    def select(self, which: NDArray[np.bool_]) -> RunSamples:
        """Only some of the runs."""
        row = np.cumsum(which) - 1
        kernel = which[self.owner]
        return replace(
            self,
            rank=self.rank[which],
            number=self.number[which],
            wall=self.wall[which],
            busy=self.busy[which],
            owner=row[self.owner[kernel]],
            dur=self.dur[kernel],
            label=self.label[kernel],
        )

    def per_label(self, labels: list[str]) -> tuple[Floats, Floats]:
        """Summed duration in ns and number of kernels, both of shape ``(runs, labels)``."""
        code = {label: number for number, label in enumerate(labels)}
        numbers = np.array([code.get(label, -1) for label in self.label], np.int64)
        shape = len(self), len(labels)
        known = numbers >= 0
        cell = self.owner[known] * len(labels) + numbers[known]
        size = shape[0] * shape[1]
        return (
            np.bincount(cell, self.dur[known], size).reshape(shape).astype(np.float64),
            np.bincount(cell, minlength=size).reshape(shape).astype(np.float64),
        )

    def units(self, values: Floats) -> Floats:
        """Means over the ranks that executed a run of the same number, by number.

        Ranks run in step, so that their runs of one number are one observation.

        Args:
            values: shape ``(runs,)`` or ``(runs, …)``.

        Returns:
            Shape ``(numbers,)`` or ``(numbers, …)``.
        """
        _, code, count = np.unique(self.number, return_inverse=True, return_counts=True)
        total = np.zeros((len(count), *values.shape[1:]))
        np.add.at(total, code, values)
        return total / count.reshape(-1, *[1] * (values.ndim - 1))


def sample_runs(build: Build, loop: Loop, key: Key = "op") -> RunSamples:
    """Measures the runs of a loop.

    Runs that lack something, or do something more, do other work. So only the others are
    taken, as long as they are at least half of all.
    """
    mine = np.flatnonzero(build.runs.pattern == loop.id)
    complete = build.runs.complete[mine]
    taken = mine[complete] if 2 * complete.sum() >= len(mine) else mine
    row = np.full(len(build.runs) + 1, -1)
    row[taken] = np.arange(len(taken))
    owner = row[_own_run(build, loop)]
    kernel = np.flatnonzero(owner >= 0)
    owner = owner[kernel]
    ts, dur = build.kernels.ts[kernel], build.kernels.dur[kernel]
    first, last, count = span_by_group(owner, ts, dur, len(taken))
    return RunSamples(
        rank=build.runs.rank[taken],
        number=build.runs.number[taken],
        wall=np.where(count > 0, last - first, 0),
        busy=union_by_group(owner, ts, dur, len(taken)),
        owner=owner,
        dur=dur,
        label=build.labels[key][build.kernels.labels[key][kernel]],
        left_out=len(mine) - len(taken),
    )


def _own_run(build: Build, loop: Loop) -> Ints:
    """For each kernel the run of the loop around it, or -1."""
    # Row -1 stands for no run, which is in no other.
    pattern = np.append(build.runs.pattern, -1)
    parent = np.append(build.runs.parent, -1)
    run = build.kernels.run.copy()
    while True:
        climbing = (run >= 0) & (pattern[run] != loop.id)
        if not climbing.any():
            return run
        run[climbing] = parent[run[climbing]]
