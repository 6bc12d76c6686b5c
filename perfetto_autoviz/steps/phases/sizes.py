"""Sizes of steps: which are batches of decode requests, and which count prompts' tokens."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.steps.phases.limits import (
    MIN_OPERATORS,
    NEAR,
    RAMP_GAP,
    RAMP_SIZE,
    SIZE_GAP,
    STEADY_STEPS,
)
from perfetto_autoviz.steps.phases.work import Flags, Floats


def prefill_bearing_sizes(sizes: Floats) -> Flags | None:
    """Which steps prefill, by their sizes alone.

    A decode step computes one token of each request, a step that prefills all those of a
    prompt. So sizes fall into two groups, which the largest factor between neighbours parts.

    Args:
        sizes: shape (n,), sizes of steps; NaN where unknown.

    Returns:
        Shape (n,); None if no factor is large enough, so that all steps do the same.
    """
    unique = np.unique(sizes[~np.isnan(sizes) & (sizes > 0)])
    if len(unique) < 2:
        return None
    factors = unique[1:] / unique[:-1]
    # Batches that double as requests arrive are no prompts.
    least = np.where(unique[1:] <= RAMP_SIZE, RAMP_GAP, SIZE_GAP)
    factors[factors < least] = 0
    widest = int(np.argmax(factors))
    return sizes >= unique[widest + 1] if factors[widest] else None


def is_steady(sizes: Floats) -> bool:
    """Whether sizes follow one another as the batches of decode steps do: with few changes.

    Args:
        sizes: sizes of steps in order; none is unknown.
    """
    if len(sizes) < MIN_OPERATORS:
        return False
    near = np.abs(np.diff(sizes)) <= np.maximum(1.0, NEAR * sizes[1:])
    return float(near.mean()) >= STEADY_STEPS


def mode(values: Floats) -> float:
    """The most frequent value, of equally frequent ones the greatest; NaN without any."""
    known = values[~np.isnan(values)]
    if not len(known):
        return np.nan
    unique, counts = np.unique(known, return_counts=True)
    return float(unique[counts == counts.max()][-1])
