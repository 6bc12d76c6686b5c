"""The engine's own clock arithmetic.

Whether two slices cross is decided by the engine in integer nanoseconds, after it
has read microseconds as doubles. A repair that computes otherwise moves slices that
need no move, or leaves one that the engine then drops.

Method: measured on trace processor v55.3 with 5,400 numbers written as integers,
decimals, exponents and strings, from 1e6 to 1.7e15 µs (tests/ingest/test_clock.py
states the rule's cases): a double without a fraction is multiplied as an integer, any
other is multiplied by 1000 as a double and rounded half away from zero.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

LARGEST_US = 9.2e15
"""Beyond this a timestamp in ns does not fit 64 bits (2**63 / 1000 is 9.223e15)."""


def engine_ns(us: NDArray[np.float64]) -> NDArray[np.int64]:
    """Convert microseconds to the nanoseconds that the engine computes.

    Args:
        us: microseconds; values that are not finite or beyond ``LARGEST_US`` give 0.

    Returns:
        Nanoseconds, one for each input.
    """
    usable = np.abs(us) <= LARGEST_US  # false for NaN too
    us = np.where(usable, us, 0.0)
    whole = np.trunc(us)
    scaled = us * 1000.0
    rounded = np.trunc(scaled)
    rounded += np.sign(scaled) * (np.abs(scaled - rounded) >= 0.5)
    return np.where(us == whole, whole.astype(np.int64) * 1000, rounded.astype(np.int64))


def engine_ns_of(us: float) -> int:
    """The same for one number, which must be usable; numpy is slow at single numbers."""
    if us == math.trunc(us):
        return math.trunc(us) * 1000
    scaled = us * 1000.0
    whole = math.trunc(scaled)
    return whole + (abs(scaled - whole) >= 0.5) * (1 if scaled > 0 else -1)


def exact_us(ns: int) -> int | float:
    """Microseconds that the engine converts back to exactly this many nanoseconds."""
    return ns // 1000 if ns % 1000 == 0 else ns / 1000
