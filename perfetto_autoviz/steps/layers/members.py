"""The activities of iterations as arrays, and the sequences in which layers are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.relations.iterations import REAL_KINDS
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.layers.boundaries import Kernel

MIN_PER_LAYER = 0.5
"""A stream with fewer activities per layer takes no part in the layers: it does something
else at the same time, such as preparing the next step."""

_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Members:
    """Activities of the innermost iterations, sorted by (iteration, device, position).

    All arrays have shape (n,).

    Attributes:
        iteration: the iteration of each.
        device: device number.
        stream: stream number.
        ts: start in ns.
        dur: duration in ns.
        is_kernel: whether it is a kernel, not a copy or a fill.
        launch_ts: start in ns of the launch, -1 for none.
        launch_thread: utid of the launching thread, -1 for none.
        code: index into the vocabulary.
        vocabulary: distinct ops with their families.
    """

    iteration: Ints
    device: Ints
    stream: Ints
    ts: Ints
    dur: Ints
    is_kernel: NDArray[np.bool_]
    launch_ts: Ints
    launch_thread: Ints
    code: Ints
    vocabulary: list[Kernel]

    @classmethod
    def of(
        cls, iterations: pd.DataFrame, membership: pd.DataFrame, kernels: pd.DataFrame
    ) -> Members:
        """From the frames of the relations that the step reads."""
        outer = set(iterations["parent_id"].dropna())
        chosen = iterations[~iterations["id"].isin(outer) & iterations["kind"].isin(REAL_KINDS)]
        member = membership[membership["iteration_id"].isin(chosen["id"])]
        rows = kernels.iloc[member["seq"].to_numpy(np.int64)]
        ops = rows["op"].fillna("") + _SEPARATOR + rows["family"].fillna("")
        code, distinct = pd.factorize(ops)
        return cls(
            member["iteration_id"].to_numpy(np.int64),
            member["device"].to_numpy(np.int64),
            rows["stream"].fillna(-1).to_numpy(np.int64),
            rows["ts"].to_numpy(np.int64),
            rows["dur"].to_numpy(np.int64),
            (rows["kind"] == "kernel").to_numpy(bool),
            rows["launch_ts"].fillna(-1).to_numpy(np.int64),
            rows["launch_utid"].fillna(-1).to_numpy(np.int64),
            code.astype(np.int64),
            [Kernel(*str(text).rsplit(_SEPARATOR, 1)) for text in distinct],
        )

    def kernels(self, index: Ints) -> list[Kernel]:
        """Ops and families of some activities."""
        return [self.vocabulary[code] for code in self.code[index]]

    def sequences(self) -> Iterator[Ints]:
        """Indices of the activities of one iteration on one device, in order, for each."""
        key = np.stack([self.iteration, self.device])
        change = np.flatnonzero((key[:, 1:] != key[:, :-1]).any(axis=0)) + 1
        bounds = [0, *change.tolist(), key.shape[1]]
        for start, end in pairwise(bounds):
            if end > start:
                yield np.arange(start, end)

    def of_layer_streams(self, sequence: Ints, layers: int) -> Ints:
        """A sequence without streams that take no part in its layers."""
        streams, index, counts = np.unique(
            self.stream[sequence], return_inverse=True, return_counts=True
        )
        if len(streams) == 1:
            return sequence
        return sequence[(counts >= MIN_PER_LAYER * layers)[index]]
