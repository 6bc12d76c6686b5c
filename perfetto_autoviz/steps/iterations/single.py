"""A capture of a single step of an engine, which repeats nothing but its layers."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.sequence import Cut, Line
from perfetto_autoviz.steps.iterations.work import Work

MIN_LAYERS = 4
"""Attentions of a model's step; a draft model alone has fewer."""

LONGEST_LAYER = 1.6
"""Kernels from an attention to the next, in medians, that are still a layer; between two steps
there are those that end one and those that prepare the other, too."""


def find_single_step(line: Line) -> Cut | str:
    """The one step of a capture, or why there is none.

    Layers alone are no step of an engine: it takes the kernels that keep keys and values for
    steps to come. More than one choice of tokens means more than one step.

    Args:
        line: the activities in the order in which they ran.
    """
    work, order = line.work, line.order
    attentions = line.work.attentions(order)
    if attentions.sum() < MIN_LAYERS:
        return "there are no layers with attention"
    if not work.keeps[order].any():
        return "nothing shows that its layers are those of an engine's step"
    if not _one_row(work, order):
        return "its layers are no single row: there may be several steps"
    passed = np.cumsum(attentions)
    if len(np.unique(passed[work.samples[order]])) > 1:
        return "tokens are chosen more than once, in steps that can't be told apart"
    start, stop = _around(line, int(np.flatnonzero(attentions)[0]))
    if attentions[:start].any() or attentions[stop:].any():
        return "its layers lie far apart"
    return Cut(np.array([start]), stop)


def _one_row(work: Work, order: Ints) -> bool:
    """Whether all attentions of the stream that has most of them are equally far apart."""
    stream = np.bincount(work.stream[order][work.attends[order]]).argmax()
    apart = np.diff(np.flatnonzero(work.attentions(order[work.stream[order] == stream])))
    return not (apart > LONGEST_LAYER * np.median(apart)).any()


def _around(line: Line, position: int) -> tuple[int, int]:
    """What runs around a position with no pause as long as all the work together."""
    pauses = np.flatnonzero(line.gap > line.work.total)
    before, after = pauses[pauses <= position], pauses[pauses > position]
    start = int(before[-1]) if len(before) else 0
    return start, int(after[0]) if len(after) else len(line.order)
