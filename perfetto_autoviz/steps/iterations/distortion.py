"""Iterations that starting to record has changed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfetto_autoviz.relations.iterations import REAL_KINDS
from perfetto_autoviz.steps.iterations.found import Level

DISTORTED = 5.0
"""How many times its later median a collective takes in the first iteration, where ranks waited
for one another until all were recording; and how many times more than the computation there."""

MIN_LATER = 3
"""Iterations after the first, from which a median says what is usual."""


def distortions(outermost: Level, kernels: pd.DataFrame) -> list[str | None]:
    """What recording has done to each outermost iteration; only the first can tell.

    Args:
        outermost: the iterations.
        kernels: columns dur (ns), op, family of the device activities.
    """
    notes: list[str | None] = [None] * len(outermost.spans)
    real = [i for i, span in enumerate(outermost.spans) if span.kind in REAL_KINDS]
    if len(real) <= MIN_LATER:
        return notes
    talks = (kernels["family"] == "communication").to_numpy(bool) & (outermost.owner >= 0)
    if not talks.any():
        return notes
    first = min(real, key=lambda i: outermost.spans[i].ts)
    op, ratio = _slowest(kernels[talks], outermost.owner[talks], real, first)
    works = ~talks & (outermost.owner >= 0)
    spent = np.bincount(
        outermost.owner[works], kernels["dur"].to_numpy(np.int64)[works], len(outermost.spans)
    )
    usual = float(np.median([spent[i] for i in real if i != first]))
    if ratio >= DISTORTED * max(1.0, spent[first] / usual if usual else 1.0):
        notes[first] = f"{op} takes {ratio:.0f} times as long as in later iterations"
    return notes


def _slowest(
    kernels: pd.DataFrame, owner: np.ndarray, real: list[int], first: int
) -> tuple[str, float]:
    """The collective whose time in the first iteration exceeds its later median most."""
    spent = kernels["dur"].groupby([kernels["op"], owner]).sum().unstack(fill_value=0)
    spent = spent.reindex(columns=real, fill_value=0)
    usual = spent.drop(columns=first).median(axis=1)
    ratio = (spent[first] / usual.where(usual > 0)).dropna()
    return (str(ratio.idxmax()), float(ratio.max())) if len(ratio) else ("", 0.0)
