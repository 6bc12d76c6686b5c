"""Which evidence decides where a capture is steady: the first tier that finds a region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.steps.steady_state.limits import MAX_VARIATION, MIN_STEPS
from perfetto_autoviz.steps.steady_state.region import (
    Floats,
    Region,
    duration_window,
    steady_region,
)
from perfetto_autoviz.steps.steady_state.series import Series

REQUESTS = "annotated requests"
DECODE_BASELINE = "decode batch sizes"
DURATIONS = "durations"

# Counts that the framework states leave nothing open; batch sizes are derived themselves;
# equal durations may come from another load than the capture's usual one.
_CONFIDENCE = {REQUESTS: 1.0, DECODE_BASELINE: 0.9, DURATIONS: 0.6}
_UNSTEADY_CONFIDENCE = 0.3


@dataclass(frozen=True)
class Steady:
    """A steady region.

    Attributes:
        region: its iterations.
        tier: what it was judged by.
        why: why it is steady.
        confidence: how sure that is.
    """

    region: Region
    tier: str
    why: str
    confidence: float


def find_steady(steps: Series, num_steps: int) -> Steady | None:
    """The steady region of a capture, None if it has too few iterations.

    Args:
        steps: its iterations.
        num_steps: iterations of a window.
    """
    if len(steps) < MIN_STEPS:
        return None
    return (
        _by_requests(steps, num_steps)
        or _by_batch_sizes(steps, num_steps)
        or _by_durations(steps, num_steps)
    )


def _by_requests(steps: Series, num_steps: int) -> Steady | None:
    sizes = np.where(steps.annotated, steps.concurrency, np.nan)
    region = steady_region(sizes, short=len(steps) < num_steps)
    return region and _by_size(REQUESTS, "requests", sizes, region)


def _by_batch_sizes(steps: Series, num_steps: int) -> Steady | None:
    sizes = steps.concurrency
    region = steady_region(sizes, short=len(steps) < num_steps)
    return region and _by_size(DECODE_BASELINE, "batch sizes", sizes, region)


def _by_size(tier: str, what: str, sizes: Floats, region: Region) -> Steady:
    inside = sizes[slice(*region)]
    why = f"{what} stay near {np.nanmedian(inside):.0f} for {region[1] - region[0]} steps"
    return Steady(region, tier, why, _CONFIDENCE[tier])


def _by_durations(steps: Series, num_steps: int) -> Steady | None:
    """By the durations of decode iterations, where it is known which they are."""
    decode = steps.generating
    durations = steps.dur
    if (decode & ~np.isnan(durations)).sum() >= MIN_STEPS:
        durations = np.where(decode, durations, np.nan)
    found = duration_window(durations, num_steps)
    if found is None:
        return None
    region, variation = found
    steady = variation < MAX_VARIATION
    which = "the fastest steady window" if steady else "the least unsteady window"
    why = f"{which} by durations, which vary by {variation:.0%}"
    return Steady(
        region, DURATIONS, why, _CONFIDENCE[DURATIONS] if steady else _UNSTEADY_CONFIDENCE
    )
