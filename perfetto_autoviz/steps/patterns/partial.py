"""Incomplete copies of a loop at the ends of its repeats, also damaged ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.limits import (
    PARTIAL,
    SMALLEST_TOLERANT,
    STRUCTURAL_REPEATS,
    allowed_edits,
)
from perfetto_autoviz.steps.patterns.line import FREE
from perfetto_autoviz.steps.patterns.near import Search
from perfetto_autoviz.steps.patterns.stacks import find_copies
from perfetto_autoviz.steps.patterns.substrings import Stretches

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """The positions ``start`` to ``stop`` of a loop, of which the others did not run."""

    start: int
    stop: int


def mark_partial(search: Search, found: Stretches, phase: int) -> list[Part]:
    """Mark incomplete copies at both ends of stretches, if enough of their kernels ran.

    Args:
        search: the loop, and the marks of its copies.
        found: its stretches.
        phase: where in their period it starts.

    Returns:
        What was marked.
    """
    size = search.period
    if size < SMALLEST_TOLERANT:
        return []
    head = (found.origin + phase - found.start) % size
    tail = (found.stop - found.origin - phase) % size
    start = np.concatenate([found.start, found.stop - tail])
    position = np.concatenate([size - head, np.zeros(len(tail), dtype=np.int64)])
    stop = position + np.concatenate([head, tail])
    until = np.concatenate([[0], np.cumsum(search.costs.of(search.word))])
    enough = until[stop] - until[position] >= PARTIAL * until[-1]
    marked = []
    for item, p, q in zip(
        start[enough].tolist(), position[enough].tolist(), stop[enough].tolist(), strict=True
    ):
        cut = slice(item, item + q - p)
        if np.all(search.marks.loop[cut] == FREE):
            search.marks.loop[cut] = search.loop
            search.marks.run[cut] = item
            search.marks.position[cut] = search.form.places[p:q]
            search.marks.kind[cut] = search.form.kinds[p:q]
            marked.append(Part(p, q))
    return marked


def mark_damaged_parts(search: Search, parts: Sequence[Part]) -> None:
    """Mark damaged copies of which a part is usual: the last layer of a step may be half a loop.

    Args:
        search: the loop, and the marks of its copies.
        parts: the incomplete copies that were marked.
    """
    for part, count in Counter(parts).items():
        if count >= STRUCTURAL_REPEATS:
            for edge in _edges(search, part):
                _mark_damaged(search, part, edge)


def _edges(search: Search, part: Part) -> list[int]:
    """Where a part may lie: next to whole copies, where something else follows or precedes."""
    copies, marks = find_copies(search.marks), search.marks
    own = copies.loop == search.loop
    if part.start == 0:
        edges = copies.stop[own & (marks.position[copies.stop - 1] == search.form.places[-1])]
        beyond = np.minimum(edges, len(search.line) - 1)
    else:
        edges = copies.start[own & (marks.position[copies.start] == search.form.places[0])]
        beyond = np.maximum(edges - 1, 0)
    found: list[int] = edges[marks.loop[beyond] == FREE].tolist()
    return found


def _mark_damaged(search: Search, part: Part, edge: int) -> None:
    """Mark a damaged part behind or before an item, if there is one."""
    length, behind = part.stop - part.start, part.start == 0
    most = allowed_edits(length)
    free = _free(search, edge, length + most, behind=behind)
    size = free.stop - free.start
    if size < length - most:
        return
    word = slice(search.copy + part.start, search.copy + part.stop)
    found = search.fit(word, free, length if behind else size)
    touches = found.begin <= most if behind else found.end >= size - most
    if found.odd <= most and touches:
        position = np.where(found.position >= 0, found.position + part.start, found.position)
        search.mark(free.start + found.begin, replace(found, position=position))


def _free(search: Search, edge: int, most: int, *, behind: bool) -> slice:
    """Free items next to an item, at most so many."""
    marks = search.marks.loop
    near = marks[edge : edge + most] if behind else marks[max(edge - most, 0) : edge][::-1]
    taken = np.flatnonzero(near != FREE)
    size = int(taken[0]) if len(taken) else len(near)
    return slice(edge, edge + size) if behind else slice(edge - size, edge)
