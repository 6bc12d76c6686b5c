"""What runs in the steps whose phases are looked for, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.phases.limits import GRAPH_KERNELS

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TOKEN_WISE = ("gemm", "norm", "rope", "activation", "quantize", "elementwise")
"""Families whose work grows with the tokens of a step and with nothing else, as that of experts
does with which of them are chosen."""

BODY = ("gemm", "moe", "norm", "rope", "activation", "quantize", "attention")
"""Families of which the layers of a model consist."""


@dataclass(frozen=True)
class Work:
    """The kernels of n steps; arrays of kernels have shape (m,), in order of start.

    Attributes:
        ids: shape (n,), ids of the steps, in order.
        owner: step of each kernel, from 0 to n - 1.
        seq: number of the kernel among all activities.
        ts: start in ns.
        dur: duration in ns.
        family: family of its operation.
        op: number of its operation.
        name: number of its name.
        names: the names by number.
        launch_ts: start of its launch in ns, -1 if none is recorded.
        launch_utid: thread of its launch, -1 if none is recorded.
    """

    ids: Ints
    owner: Ints
    seq: Ints
    ts: Ints
    dur: Ints
    family: NDArray[Any]
    op: Ints
    name: Ints
    names: NDArray[Any]
    launch_ts: Ints
    launch_utid: Ints

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(
        cls,
        ids: Ints,
        members: pd.DataFrame,
        activities: pd.DataFrame,
        activity_names: pd.DataFrame,
        kernel_names: pd.DataFrame,
    ) -> Work:
        """The kernels of some steps.

        Args:
            ids: the steps, in order.
            members: columns iteration_id and seq.
            activities: all activities; columns ts, dur, kind, launch_ts and launch_utid.
            activity_names: columns seq and name_number.
            kernel_names: columns name, op and family, by name_number.
        """
        place = pd.Series(np.arange(len(ids)), index=ids)
        owner = place.reindex(members["iteration_id"]).to_numpy(float)
        seq = members["seq"].to_numpy(np.int64)
        is_kernel = (activities["kind"] == "kernel").to_numpy(bool)
        kept = ~np.isnan(owner) & is_kernel[seq]
        order = np.argsort(seq[kept], kind="stable")
        owner, seq = owner[kept][order].astype(np.int64), seq[kept][order]
        number = np.full(len(activities), len(kernel_names))
        number[activity_names["seq"].to_numpy(np.int64)] = activity_names["name_number"]
        name = number[seq]
        ops = np.array([*kernel_names["op"], None], object)
        families = np.array([*kernel_names["family"], None], object)
        return cls(
            ids=ids,
            owner=owner,
            seq=seq,
            ts=activities["ts"].to_numpy(np.int64)[seq],
            dur=activities["dur"].to_numpy(np.int64)[seq],
            family=families[name],
            op=pd.factorize(ops)[0].astype(np.int64)[name],
            name=name,
            names=np.array([*kernel_names["name"], None], object),
            launch_ts=activities["launch_ts"].fillna(-1).to_numpy(np.int64)[seq],
            launch_utid=activities["launch_utid"].fillna(-1).to_numpy(np.int64)[seq],
        )

    def count(self, flags: Flags) -> Ints:
        """Kernels of each step, of those flagged; shape (n,)."""
        return np.bincount(self.owner[flags], minlength=len(self)).astype(np.int64)

    def time(self, flags: Flags) -> Floats:
        """Time in ns of each step's kernels, of those flagged; shape (n,)."""
        durations = self.dur[flags].astype(np.float64)
        return np.bincount(self.owner[flags], durations, len(self)).astype(np.float64)

    def of_family(self, *families: str) -> Flags:
        """Which kernels are of some families."""
        return np.isin(self.family, families)

    def by_name(self, says: Callable[[str], Any]) -> NDArray[Any]:
        """What a function says of each kernel's name; asked once for each name."""
        used = np.unique(self.name)
        answers = np.empty(len(self.names), object)
        for number in used:
            name = self.names[number]
            answers[number] = None if name is None else says(name)
        return answers[self.name]

    def launches(self) -> tuple[Ints, Ints]:
        """Which launch started each kernel, numbered from 0, and how many each started.

        Kernels without a recorded launch have none, -1.
        """
        known = self.launch_ts >= 0
        pairs = np.stack((self.launch_utid[known], self.launch_ts[known]))
        _, number, size = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
        launch = np.full(len(self.owner), -1)
        launch[known] = number.reshape(-1)
        return launch, size.astype(np.int64)

    def largest_graph_share(self) -> Floats:
        """Part of each step's kernels that its largest graph launch starts.

        Returns:
            Shape (n,); NaN for a step of whose kernels no launch is recorded.
        """
        launch, size = self.launches()
        known = launch >= 0
        total = self.count(np.ones(len(self.owner), bool))
        largest = np.zeros(len(self))
        sizes = size[launch[known]]
        graph = np.where(sizes >= GRAPH_KERNELS, sizes, 0)
        np.maximum.at(largest, self.owner[known], graph)
        recorded = self.count(known) > 0
        return np.where(recorded, largest / np.maximum(total, 1), np.nan)
