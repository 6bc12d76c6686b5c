"""What detection reads: the kernels of all ranks, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.errors import UsageError

Ints = NDArray[np.int64]
Index = NDArray[np.int32]

LARGEST = 2**31 - 2
"""Kernels that an ``int32`` index can address."""


@dataclass(frozen=True)
class RankKernels:
    """The device activities of one rank; every array has shape ``(kernels,)``.

    Attributes:
        rank: number of the rank, unique in a set.
        device: device number.
        stream: stream number on the device.
        ts: start in ns.
        dur: duration in ns.
        op: code of the operation, the same on all ranks; equal codes are equal work.
        variant: code of the launch shape (grid, block, resources); None if unknown.
        iteration_start: True where a known iteration starts; None if unknown.
        layer_start: True where a known layer starts; None if unknown.
    """

    rank: int
    device: NDArray[np.integer]
    stream: NDArray[np.integer]
    ts: NDArray[np.integer]
    dur: NDArray[np.integer]
    op: NDArray[np.integer]
    variant: NDArray[np.integer] | None = None
    iteration_start: NDArray[np.bool_] | None = None
    layer_start: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        for name in ("device", "stream", "dur", "op", "variant", "iteration_start", "layer_start"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.ts):
                raise UsageError(
                    f"rank {self.rank} has {len(self.ts)} kernels but {len(column)} values of"
                    f" {name}; pass one value per kernel"
                )

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True)
class Track:
    """Kernels that are read as one sequence: ``start`` to ``stop`` in the order.

    Attributes:
        rank: the rank.
        device: the device.
        stream: the stream, or None for all streams of the device by time.
        start: first kernel in the order.
        stop: one past the last.
    """

    rank: int
    device: int
    stream: int | None
    start: int
    stop: int


@dataclass(frozen=True)
class Order:
    """All kernels of all ranks, sorted into tracks; arrays have shape ``(kernels,)``.

    Attributes:
        tracks: the tracks, one after the other without a hole.
        source: index of each kernel in the ranks' arrays laid end to end by rank number.
        op: operation codes.
        ts: starts in ns.
        dur: durations in ns.
        gap: ns between a kernel's start and the latest end before it on its track; negative
            where they overlap, 0 for the first.
        hint: 2 where an iteration starts, 1 where a layer starts, else 0.
    """

    tracks: tuple[Track, ...]
    source: Index
    op: Index
    ts: Ints
    dur: Ints
    gap: Ints
    hint: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.op)

    def bounds(self) -> Ints:
        """First kernel of each track and, last, the number of kernels."""
        return np.array([*(t.start for t in self.tracks), len(self)], dtype=np.int64)


def sorted_ranks(ranks: Sequence[RankKernels]) -> list[RankKernels]:
    """The ranks by number.

    Raises:
        UsageError: two have the same number, or there are too many kernels.
    """
    ordered = sorted(ranks, key=lambda one: one.rank)
    numbers = [one.rank for one in ordered]
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"two captures have the same rank ({numbers}); give each its own number")
    if sum(map(len, ordered)) > LARGEST:
        raise UsageError(f"pattern detection takes up to {LARGEST} kernels; open fewer ranks")
    return ordered


def order_kernels(ranks: Sequence[RankKernels], *, by_stream: bool) -> Order:
    """Sort the kernels of ``sorted_ranks`` into tracks per device, or per device and stream."""
    tracks: list[Track] = []
    sources: list[Index] = []
    base = 0
    for one in ranks:
        keys = (one.ts, one.stream, one.device) if by_stream else (one.stream, one.ts, one.device)
        index = np.lexsort(keys)
        tracks += _tracks(one, index, base, by_stream)
        sources.append((index + base).astype(np.int32))
        base += len(one)
    source = np.concatenate(sources) if sources else np.empty(0, dtype=np.int32)
    ts = _gather([one.ts for one in ranks], source, np.int64)
    dur = _gather([one.dur for one in ranks], source, np.int64)
    hint = [_hints(one) for one in ranks]
    return Order(
        tracks=tuple(tracks),
        source=source,
        op=_gather([one.op for one in ranks], source, np.int32),
        ts=ts,
        dur=dur,
        gap=_gaps(tracks, ts, dur),
        hint=_gather(hint, source, np.int8),
    )


def _tracks(one: RankKernels, index: Ints, base: int, by_stream: bool) -> list[Track]:
    if not len(one):
        return []
    device, stream = one.device[index], one.stream[index]
    new = device[1:] != device[:-1]
    if by_stream:
        new = new | (stream[1:] != stream[:-1])
    starts = [0, *(np.flatnonzero(new) + 1).tolist(), len(one)]
    return [
        Track(one.rank, int(device[a]), int(stream[a]) if by_stream else None, base + a, base + b)
        for a, b in pairwise(starts)
    ]


def _gather(parts: list[NDArray], source: Index, dtype: type) -> NDArray:  # type: ignore[type-arg]
    if not parts:
        return np.empty(0, dtype=dtype)
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return whole[source].astype(dtype, copy=False)


def _hints(one: RankKernels) -> NDArray[np.int8]:
    hint = np.zeros(len(one), dtype=np.int8)
    if one.layer_start is not None:
        hint[one.layer_start] = 1
    if one.iteration_start is not None:
        hint[one.iteration_start] = 2
    return hint


def _gaps(tracks: list[Track], ts: Ints, dur: Ints) -> Ints:
    gap = np.zeros(len(ts), dtype=np.int64)
    for track in tracks:
        cut = slice(track.start, track.stop)
        latest = np.maximum.accumulate(ts[cut] + dur[cut])
        gap[track.start + 1 : track.stop] = ts[track.start + 1 : track.stop] - latest[:-1]
    return gap
