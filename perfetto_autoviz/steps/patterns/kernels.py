"""What detection reads: the kernels of all ranks, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.errors import UsageError

Ints = NDArray[np.int64]
Index = NDArray[np.int32]
Roles = NDArray[np.int8]

LONGEST_GAP = 2**31 - 1
"""Gaps are only compared with one another; beyond two seconds all are equally long."""

LARGEST = 2**31 - 2
"""Kernels that an ``int32`` index can address."""

LAST_ROLE = 127
"""Role of all streams beyond a device's 127 busiest."""


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
        gap: ns between a kernel's start and the latest end before it on its track; negative
            where they overlap, 0 for the first, at most ``LONGEST_GAP``.
        hint: 2 where an iteration starts, 1 where a layer starts, else 0.
        role: 0 on the busiest stream of the device, 1 on the next, …
    """

    tracks: tuple[Track, ...]
    source: Index
    op: Index
    gap: Index
    hint: NDArray[np.int8]
    role: Roles

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def mixes_streams(self) -> bool:
        """Whether some track holds kernels of several streams."""
        by_time = any(track.stream is None for track in self.tracks)
        return by_time and bool(self.role.any())

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
    size = sum(map(len, ranks))
    tracks: list[Track] = []
    order = Order(
        tracks=(),
        source=np.empty(size, dtype=np.int32),
        op=np.empty(size, dtype=np.int32),
        gap=np.zeros(size, dtype=np.int32),
        hint=np.zeros(size, dtype=np.int8),
        role=np.zeros(size, dtype=np.int8),
    )
    base = 0
    for one in ranks:
        keys = (one.ts, one.stream, one.device) if by_stream else (one.stream, one.ts, one.device)
        index = np.lexsort(keys)
        found = _tracks(one, index, base, by_stream)
        _fill(order, one, index, base)
        for track in found:
            _fill_gaps(order, one, track, index[track.start - base : track.stop - base])
        tracks += found
        base += len(one)
    return replace(order, tracks=tuple(tracks))


def gather(parts: Sequence[NDArray[np.integer]], order: Order) -> Ints:
    """A column of the ranks' arrays in the order's order, shape ``(kernels,)``."""
    whole = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, np.int64)])
    column: Ints = whole[order.source].astype(np.int64, copy=False)
    return column


def _fill(order: Order, one: RankKernels, index: Ints, base: int) -> None:
    """Write one rank's kernels into the order's arrays, whose memory is shared by all."""
    cut = slice(base, base + len(one))
    order.source[cut] = index
    order.source[cut] += base
    order.op[cut] = one.op[index]
    if one.layer_start is not None:
        order.hint[cut][one.layer_start[index]] = 1
    if one.iteration_start is not None:
        order.hint[cut][one.iteration_start[index]] = 2
    order.role[cut] = _roles(one)[index]


def _roles(one: RankKernels) -> Roles:
    """For each kernel of a rank the place of its stream among its device's, the busiest first."""
    role = np.zeros(len(one), dtype=np.int8)
    if not len(one) or np.all(one.stream == one.stream[0]):
        return role
    for device in np.unique(one.device).tolist():
        mine = one.device == device
        own, code = np.unique(one.stream[mine], return_inverse=True)
        busy = np.bincount(code, weights=one.dur[mine], minlength=len(own))
        place = np.empty(len(own), dtype=np.int8)
        place[np.argsort(-busy, kind="stable")] = np.minimum(np.arange(len(own)), LAST_ROLE)
        role[mine] = place[code]
    return role


def _fill_gaps(order: Order, one: RankKernels, track: Track, index: Ints) -> None:
    ts = one.ts[index].astype(np.int64, copy=False)
    latest = np.maximum.accumulate(ts + one.dur[index])
    gap = np.clip(ts[1:] - latest[:-1], -LONGEST_GAP, LONGEST_GAP)
    order.gap[track.start + 1 : track.stop] = gap


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
