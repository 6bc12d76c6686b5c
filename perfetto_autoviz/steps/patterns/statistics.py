"""Statistics per position of a pattern."""

from __future__ import annotations

from dataclasses import dataclass

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
    keyed = np.sort((group.astype(np.int64) << DUR_BITS) | np.clip(dur, 0, longest))
    value = keyed & longest
    count = np.bincount(group, minlength=groups).astype(np.int64)
    stop = np.cumsum(count)
    start = stop - count
    until = np.concatenate([[0], np.cumsum(value)])
    total = until[stop] - until[start]
    some = np.maximum(count, 1)
    mean = total / some
    apart = (dur - mean[group]) ** 2
    std = np.sqrt(np.bincount(group, weights=apart, minlength=groups) / some)

    def at(index: Ints) -> Ints:
        inside = np.minimum(index, max(len(value) - 1, 0))
        return np.where(count > 0, value[inside] if len(value) else 0, 0)

    median = (at(start + (count - 1) // 2) + at(start + count // 2)) / 2
    return Summary(count, total, mean, std, at(start), median, at(stop - 1))


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
    return tally.reshape(groups, wide).argmax(axis=1).astype(np.int32)
