"""The device activities of all ranks in one table, with the time before each on its stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.step import Frames

ACTIVITY = "_autoviz_activity"

NO_END = np.iinfo(np.int64).min
"""Stands for the end of what ran before, where nothing did."""


@dataclass(frozen=True)
class Kernels:
    """Device activities, rank after rank in the order of their number; shape ``(kernels,)``.

    Attributes:
        rank: rank of each.
        seq: its number on its rank.
        ts: start in ns.
        dur: duration in ns.
        stream_end: latest end in ns of what started earlier on its stream; ``NO_END`` for the
            first on a stream.
        device_end: the same of what started earlier on any stream of its device.
        op: code of its operation.
        ops: the operations by code.
        start: by rank, where its activities start.
    """

    rank: Ints
    seq: Ints
    ts: Ints
    dur: Ints
    stream_end: Ints
    device_end: Ints
    op: Ints
    ops: NDArray[np.object_]
    start: Mapping[int, int]

    def __len__(self) -> int:
        return len(self.ts)


def ints(column: pd.Series[Any]) -> Ints:
    """A column of numbers, -1 for NULL."""
    return np.asarray(column.astype("Int64").fillna(-1).to_numpy(np.int64), np.int64)


def read_kernels(ranks: Mapping[int, Frames]) -> Kernels:
    """The activities of all ranks from the frames of ``_autoviz_activity``."""
    frames = {rank: ranks[rank][ACTIVITY] for rank in sorted(ranks)}
    sizes = [len(frame) for frame in frames.values()]
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    op, ops = pd.factorize(pd.concat([frame["op"] for frame in frames.values()]).fillna(""))
    return Kernels(
        rank=np.repeat(np.array([*frames], np.int64), sizes),
        seq=np.concatenate([np.arange(size) for size in sizes]).astype(np.int64),
        ts=_joined(frames, "ts"),
        dur=_joined(frames, "dur"),
        stream_end=_ends(frames, ("device", "stream")),
        device_end=_ends(frames, ("device",)),
        op=op.astype(np.int64),
        ops=np.asarray(ops, object),
        start={rank: int(start) for rank, start in zip(frames, starts, strict=False)},
    )


def _joined(frames: Mapping[int, pd.DataFrame], column: str) -> Ints:
    return np.concatenate([frame[column].to_numpy(np.int64) for frame in frames.values()])


def _ends(frames: Mapping[int, pd.DataFrame], place: Sequence[str]) -> Ints:
    return np.concatenate([_ends_before(frame, place) for frame in frames.values()])


def _ends_before(kernels: pd.DataFrame, place: Sequence[str]) -> Ints:
    """Latest end before each activity in its place, in the order of the frame."""
    if not len(kernels):
        return np.empty(0, np.int64)
    places = [ints(kernels[name]) for name in place]
    # Stable: within a place the order stays that of the start.
    order = np.lexsort(places[::-1])
    new = np.ones(len(order), bool)
    new[1:] = np.any([own[order][1:] != own[order][:-1] for own in places], axis=0)
    ts = kernels["ts"].to_numpy(np.int64)
    end = (ts + kernels["dur"].to_numpy(np.int64))[order] - ts[0]
    # Places are laid out one after the other on one axis, so that one running maximum
    # serves all of them.
    shift = (np.cumsum(new) - 1) * (int(end.max()) + 1)
    before = np.empty_like(end)
    before[1:] = (np.maximum.accumulate(end + shift)[:-1] - shift[1:]) + ts[0]
    before[new] = NO_END
    ends: Ints = np.empty(len(before), np.int64)
    ends[order] = before
    return ends
