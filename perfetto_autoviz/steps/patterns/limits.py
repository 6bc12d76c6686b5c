"""The numbers that were chosen for loop detection, each with its reason."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

CHANCE = 1e-3
"""Expected number of loops that a shuffled sequence may show: practically none."""

SMALLEST_PERIOD = 2
"""A kernel that follows itself is no sequence of its own; it stays one position per launch."""

SMALLEST_TOLERANT = 4
"""Kernels of the shortest loop whose damaged copies are looked for: with fewer, one edit
changes more than a quarter."""

TOLERANCE = 0.25
"""Share of a copy's kernels that may be missing, extra or swapped. The first layer of the
measured models differs in one or two of 14 to 21 kernels; prefill and decode layers of
one model, which are different loops, repeat on their own and are never absorbed."""

LITTLE_DAMAGE = 2
"""Items that are odd in a copy with little damage: one kernel is missing, extra or another, or two
have changed places."""

PARTIAL = 0.5
"""Share of a loop that must have run for an incomplete copy at an end of a repeat."""

CERTAIN_COPIES = 3
"""Copies in a row that noise hardly makes: one missing kernel makes two, at a wrong distance."""

UNCHANGED = 4
"""Parts of a period of which one must be the same in the next copy for a loop of which no two
copies are equal: damage at one place leaves three."""

NOISE_COPIES = 5
"""Copies in a row from which on a loop is its own, however similar to a larger one."""

NOISE_RATIO = 10
"""How many times more copies the larger one must have than there are shorter repeats for these
to be its noise; an inner loop repeats in every copy."""

MOST_COMPARED = 32
"""Loops of a level, the largest ones, that others may be damaged forms of."""

UNBROKEN = 0.9
"""Share of a track between a loop's first and last copy that is the loop, if no outer loop is
around it: strays and single other steps may lie between."""

LARGEST_EDGE = 2000
"""Items of the largest loop whose first or last copy may be incomplete: the comparison takes
time and memory by the square of it. Steps of inner loops have some tens."""

LARGEST_PAIR = 200
"""Positions of the largest loop that may be two kinds of layer in turn; measured layers have up
to 25."""

COUNT_RATIO = 4
"""How much more often an inner loop must repeat in one copy than in another for the two to be
loops of their own: a draft model has one layer or a few, its target dozens; a missing or an extra
layer stays far below."""

COMMON_SIZE = 0.05
"""Share of a loop's copies in which an inner loop must repeat so often for that to be usual."""

DISTINCT_GAP = 1.75
"""How much longer than all others a gap must be to mark where a loop starts, though fewer
complete copies fit then. The gaps inside replayed graphs differ by less."""

HINTED = 0.5
"""Share of the copies in which a known step or layer must start for it to decide."""

COMMON_END = 0.3
"""Share of a loop's repeats that end at the same place if something fixed follows them there;
noise ends repeats anywhere."""

SAMPLED_COPIES = 2000
"""Copies, evenly spaced, from which typical gaps are taken; medians are stable long before."""

STRUCTURAL_REPEATS = 3
"""Times that the same kernels must stand between two repeats of a loop, equally far apart, to
be part of an outer loop instead of noise in the inner one."""

TURNS = 0.5
"""Share of a loop's copies that another kind and those before each of its own must make up to take
turns with the loop. Of 16 layers whose every fourth is another one it is three quarters, as the
last of a step counts to none; one kernel more in four of 38 layers, four apart, makes 42 %."""

SAMPLE_LENGTH = 16
"""Kernels of the short sequences that are counted to compare two readings; about a layer."""

MORE_SEQUENCES = 4
"""How many times more different short sequences mark a reading of streams as the worse one."""

NEARLY_ALL = 0.999
"""Share of kernels that a reading must explain for no other one to be tried."""

LONGEST_WINDOW = 1.5
"""Times the usual distance of two runs, or its own length, after which what starts belongs to a run
no more."""

WINDOW_BINS = 64
"""Parts of a run among which the one where the fewest kernels of other streams start is found."""

SIDE_SHARE = 0.45
"""Share of a loop's runs beside which the very same kernels must run to be part of it: one of two
ranks that lacks a kernel leaves a half, less some damaged ones; strays that come once in a run
on average come once in 37 % of them."""

OFTEN = 0.5
"""Share of the most frequent text beside a loop's runs that the longest of the frequent ones needs:
of two ranks of which one lacks a kernel each has half of the runs."""

TOGETHER = 0.9
"""Share of a loop that must go to another loop to be a part of it: of the runs that it is beside,
as its first or last ones may lie outside, and of its kernels."""


def needed_matches(period: NDArray[np.int64], items: int, surprise: float) -> NDArray[np.float64]:
    """Matches with the previous copy that chance doesn't explain.

    In a shuffled sequence two items are equal with probability ``c`` (the sum of the squared
    frequencies), so ``items * period * c**matches`` stretches with some period up to this one
    and so many matches are expected.

    Args:
        period: periods in items.
        items: length of the sequence.
        surprise: ``-ln(c)``; 0 where all items are equal, which no match can prove.
    """
    nats = math.log(max(items, 2)) + np.log(period) - math.log(CHANCE)
    return np.asarray(nats / surprise if surprise > 0 else np.full(len(period), np.inf))


def allowed_edits(length: int) -> int:
    """Edits that a copy of so many items may have."""
    return max(1, int(length * TOLERANCE)) if length >= SMALLEST_TOLERANT else 0
