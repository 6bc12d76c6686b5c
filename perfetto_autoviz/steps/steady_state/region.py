"""Where the load of a capture is steady, from a number per iteration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import runs
from perfetto_autoviz.steps.steady_state.limits import (
    ABOUT,
    MAX_DIP,
    MAX_VARIATION,
    MIN_STEPS,
    MIN_TOLERANCE,
    SHORT_TOLERANCE,
    SUSTAINED_SHARE,
    TOLERANCE,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Region = tuple[int, int]
"""First iteration, and one past the last."""


def steady_region(sizes: Floats, *, short: bool = False) -> Region | None:
    """The longest stretch in which the number of requests stays near its peak.

    The peak is the greatest number that enough iterations keep near, so that a burst does
    not hide the load around it. A few iterations may leave the stretch without ending it.
    Iterations whose number is unknown are left out for finding the stretch, and belong to
    it where it goes on after them: so prefill iterations, whose size says nothing of the
    requests in flight, don't interrupt a steady decode.

    Args:
        sizes: shape (n,), requests of each iteration; NaN where unknown.
        short: whether the capture has fewer iterations than a window.

    Returns:
        The stretch, None if no number of requests is kept up.
    """
    known = np.flatnonzero(~np.isnan(sizes))
    least = max(MIN_STEPS, int(np.ceil(SUSTAINED_SHARE * len(known))))
    share = SHORT_TOLERANCE if short else TOLERANCE
    for peak in np.unique(sizes[known])[::-1]:
        near = np.abs(sizes[known] - peak) <= max(MIN_TOLERANCE, share * peak)
        first, stop = _longest_stretch(near)
        if stop - first >= least:
            return int(known[first]), int(known[stop - 1]) + 1
    return None


def duration_window(durations: Floats, length: int) -> tuple[Region, float] | None:
    """The fastest window of steady durations, or else the steadiest of all.

    Of windows in a row that are about as good as that one, it is the middle one: which is best
    by less than durations vary is chance, and another one with evidence that differs a little.

    Args:
        durations: shape (n,), NaN where an iteration has no work on the device; such an
            iteration is left out, and belongs to a window that goes on after it.
        length: iterations of a window; never less than four, and all where there are fewer.

    Returns:
        The window, and the coefficient of variation of its durations; None where there are
        too few iterations.
    """
    known = np.flatnonzero(~np.isnan(durations))
    if len(known) < MIN_STEPS:
        return None
    length = min(max(length, MIN_STEPS), len(known))
    views = np.lib.stride_tricks.sliding_window_view(durations[known], length)
    mean = views.mean(axis=1)
    variation = views.std(axis=1) / np.maximum(mean, 1.0)
    steady = variation < MAX_VARIATION
    best = _about_best(np.where(steady, mean, np.inf) if steady.any() else variation)
    region = int(known[best]), int(known[best + length - 1]) + 1
    return region, float(variation[best])


def _about_best(values: Floats) -> int:
    """The middle of the run of values around the least one that are about as small."""
    least = int(np.argmin(values))
    starts, lengths = runs(values <= values[least] * (1 + ABOUT))
    run = int(np.searchsorted(starts, least, side="right")) - 1
    return int(starts[run] + (lengths[run] - 1) // 2)


def _longest_stretch(near: Flags) -> Region:
    """The longest run of iterations near the peak, runs that a short dip parts joined."""
    starts, lengths = runs(near)
    stretches: list[Region] = []
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        if not near[start]:
            continue
        if stretches and _is_dip(stretches[-1], start, length):
            stretches[-1] = stretches[-1][0], start + length
        else:
            stretches.append((start, start + length))
    return max(stretches, key=lambda stretch: (stretch[1] - stretch[0], -stretch[0]))


def _is_dip(before: Region, start: int, length: int) -> bool:
    gap = start - before[1]
    return gap <= min(MAX_DIP, (before[1] - before[0]) / 2, length / 2)
