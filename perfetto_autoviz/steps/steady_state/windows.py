"""Windows of a steady region by what their iterations do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfetto_autoviz.steps.intervals import runs
from perfetto_autoviz.steps.steady_state.limits import REPRESENTATIVE_STEPS, TOLERANCE
from perfetto_autoviz.steps.steady_state.region import Flags, Region

Mode = Literal["mixed", "decode", "prefill", "any"]


@dataclass(frozen=True)
class Window:
    """Iterations ``first`` to ``stop`` (exclusive), and why these."""

    first: int
    stop: int
    why: str

    def __len__(self) -> int:
        return self.stop - self.first


def mixed_window(prefill_bearing: Flags, region: Region, length: int) -> Window | None:
    """A window that prefills as much as the region does, the most central of them.

    Args:
        prefill_bearing: shape (n,), by iteration of the capture.
        region: the steady region.
        length: iterations of the window; all of the region if it is shorter.

    Returns:
        The window; None if nothing in the region prefills.
    """
    first, stop = region
    inside = prefill_bearing[first:stop]
    if not inside.any():
        return None
    length = min(length, len(inside))
    counts = np.convolve(inside.astype(np.int64), np.ones(length, np.int64), "valid")
    share = float(inside.mean())
    off = np.abs(counts - share * length)
    off[counts == 0] = np.inf
    # As representative as whole iterations allow, or to a tenth; if bursts are so far apart that no
    # window is, the one that comes nearest.
    near = max(REPRESENTATIVE_STEPS, TOLERANCE * share * length, float(off.min()))
    good = np.flatnonzero(off <= near)
    start = int(good[np.argmin(np.abs(2 * good - (len(inside) - length)))])
    why = (
        f"{counts[start]} of {length} steps prefill ({counts[start] / length:.0%}),"
        f" in the region {share:.0%}"
    )
    return Window(first + start, first + start + length, why)


def longest_window(flags: Flags, region: Region, length: int, what: str) -> Window | None:
    """The middle of the longest stretch of iterations of a kind within the region.

    Args:
        flags: shape (n,), iterations of the kind.
        region: the steady region.
        length: iterations of the window at most.
        what: name of the kind, e.g. ``decode-only``.

    Returns:
        The window, of equally long stretches in the most central one; None if there is no
        iteration of the kind.
    """
    first, stop = region
    starts, lengths = runs(flags[first:stop])
    mine = np.flatnonzero(flags[first:stop][starts])
    if not len(mine):
        return None
    longest = mine[lengths[mine] == lengths[mine].max()]
    off_centre = np.abs(2 * starts[longest] + lengths[longest] - (stop - first))
    chosen = longest[np.argmin(off_centre)]
    whole = int(lengths[chosen])
    length = min(length, whole)
    start = first + int(starts[chosen]) + (whole - length) // 2
    return Window(start, start + length, f"in the longest {what} stretch, {whole} steps")


def central_window(region: Region, length: int) -> Window:
    """The middle of the region, where nothing is known of what its iterations do."""
    first, stop = region
    length = min(length, stop - first)
    start = first + (stop - first - length) // 2
    return Window(start, start + length, "phases are unknown")
