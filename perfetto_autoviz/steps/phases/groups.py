"""Telling two groups of steps apart by a number that grows with their tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.steps.phases.limits import TIGHT_LOAD, WIDER
from perfetto_autoviz.steps.phases.work import Flags, Floats


@dataclass(frozen=True)
class Groups:
    """Which steps are known to prefill and which not; arrays have shape (n,)."""

    prefills: Flags
    decodes: Flags


def beside_known(values: Floats, known: Groups, gap: float) -> Groups:
    """Steps whose values lie with those of steps that are known.

    Args:
        values: shape (n,), logs of what grows with the tokens; NaN where unknown.
        known: steps that earlier evidence has decided.
        gap: how far a value must lie above all decode steps to be none.
    """
    nothing = np.zeros(len(values), bool)
    decode = values[known.decodes & ~np.isnan(values)]
    prefill = values[known.prefills & ~np.isnan(values)]
    if not len(decode):
        return Groups(values >= prefill.min() if len(prefill) else nothing, nothing)
    top = float(decode.max())
    if not len(prefill):
        return Groups(values > top + gap, values <= top)
    bottom = float(prefill.min())
    if bottom <= top:
        return Groups(values > max(top + gap, float(np.median(prefill))), nothing)
    middle = (bottom + top) / 2
    return Groups(values > middle, values <= middle)


def by_gap(values: Floats, gap: float, wide_gap: float) -> Groups:
    """Two groups with nothing known, where the lower one looks like decode.

    Decode steps vary little among themselves and prefill steps a lot, so the lower group
    must be tight; a gap that is not wide must also part it from a group that is not.

    Args:
        values: shape (n,), logs of what grows with the tokens; NaN where unknown.
        gap: least distance of the groups.
        wide_gap: distance from which on the upper group may be tight, too.
    """
    nothing = np.zeros(len(values), bool)
    ordered = np.sort(values[~np.isnan(values)])
    if len(ordered) < 2:
        return Groups(nothing, nothing)
    gaps = np.diff(ordered)
    widest = int(np.argmax(gaps))
    lower, upper = ordered[: widest + 1], ordered[widest + 1 :]
    tight = len(lower) > 1 and float(np.std(lower)) <= TIGHT_LOAD
    spread = float(np.std(upper)) >= WIDER * float(np.std(lower))
    if not tight or gaps[widest] < (gap if spread else wide_gap):
        return Groups(nothing, nothing)
    return Groups(values >= upper[0], values <= lower[-1])
