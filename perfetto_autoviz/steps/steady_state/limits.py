"""Numbers that decide what is steady, in one place."""

from __future__ import annotations

MIN_STEPS = 4
"""Fewer iterations than this have no steady state: there is nothing to be steady against."""

TOLERANCE = 0.10
"""Part of the peak by which the number of requests may differ from it in a steady region; the
same for other numbers."""

SHORT_TOLERANCE = 0.20
"""The same for a capture with fewer iterations than a window has: a few requests that come
or go are a larger part of what such a capture shows."""

MIN_TOLERANCE = 1.0
"""One request more or less is never a change of load."""

SUSTAINED_SHARE = 0.10
"""Part of the iterations that must keep near a peak, or it is a burst and not the load."""

MAX_DIP = 5
"""Iterations in a row that may leave the region without ending it, at most; they must also be
at most half as many as the steady ones on either side."""

MAX_VARIATION = 0.15
"""Coefficient of variation of the durations below which a window counts as steady."""

ABOUT = 0.02
"""Part by which windows may be slower, or less steady, than the best and count as good: the
durations of the same work vary by a few percent."""

REPRESENTATIVE_STEPS = 1.0
"""Iterations by which a window's number of prefill-bearing ones may differ from what the
region's share lets expect, or a tenth of that. Less than one can't be asked of whole
iterations."""
