"""Statistics per position of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.result import Variants

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DUR_BITS = 44
"""Bits that hold a duration beside the number of a group: 4.8 hours in ns."""


@dataclass(frozen=True)
class Summary:
    """Durations by group; arrays of shape ``(groups,)``, 0 where a group is empty."""

    count: Ints
    total: Ints
    mean: Floats
    std: Floats
    least: Ints
    median: Floats
    most: Ints


def summarise(group: Index, dur: Ints, groups: int) -> Summary:
    """Summarise durations in ns by group, ``0 <= group < groups``."""
    longest = (1 << DUR_BITS) - 1
    value = np.clip(dur, 0, longest)
    value |= group.astype(np.int64) << DUR_BITS
    value.sort()
    value &= longest
    count = np.bincount(group, minlength=groups).astype(np.int64)
    summary = _empty(count)
    stop = np.cumsum(count)
    for one in np.flatnonzero(count).tolist():
        mine = value[stop[one] - count[one] : stop[one]]
        summary.total[one], summary.mean[one], summary.std[one] = (
            mine.sum(),
            mine.mean(),
            mine.std(),
        )
        middle = len(mine) // 2
        summary.median[one] = (mine[middle] + mine[-1 - middle]) / 2
        summary.least[one], summary.most[one] = mine[0], mine[-1]
    return summary


def _empty(count: Ints) -> Summary:
    whole, real = np.zeros_like(count), np.zeros(len(count))
    return Summary(
        count=count,
        total=whole,
        mean=real,
        std=real.copy(),
        least=whole.copy(),
        median=real.copy(),
        most=whole.copy(),
    )


def merged(one: Summary, other: Summary) -> Summary:
    """Two summaries whose groups are empty in one of them."""
    return Summary(*(getattr(one, f.name) + getattr(other, f.name) for f in fields(Summary)))


def count_variants(group: Index, variant: Ints, dur: Ints) -> Variants:
    """Count launch shapes by group, e.g. by row of the positions."""
    codes, code = np.unique(variant, return_inverse=True)
    wide = max(len(codes), 1)
    key, inverse = np.unique(group.astype(np.int64) * wide + code, return_inverse=True)
    return Variants(
        row=(key // wide).astype(np.int32),
        variant=codes[key % wide] if len(codes) else np.empty(0, dtype=np.int64),
        count=np.bincount(inverse, minlength=len(key)).astype(np.int64),
        total=np.bincount(inverse, weights=dur, minlength=len(key)).astype(np.int64),
    )


def typical_by_group(group: Index, value: Index, groups: int) -> Index:
    """The most frequent value of each group, the smallest of equals; 0 for an empty one."""
    wide = int(value.max(initial=0)) + 1
    tally = np.bincount(group.astype(np.int64) * wide + value, minlength=groups * wide)
    return np.asarray(tally.reshape(groups, wide).argmax(axis=1), dtype=np.int32)
