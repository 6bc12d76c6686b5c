"""A capture's events as columns: when and where each is, and what ties it to others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.ingest.columns import Thread
from perfetto_autoviz.ingest.events import kind_of

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

SLICE, BEGIN, END, FLOW_OUT, FLOW_IN, INSTANT, COUNTER, METADATA, GONE = range(9)
"""Phases of events. A slice is complete, or a begin event with its end; ``GONE`` is what no
reader takes in."""

PYTHON = 8
"""Kind of the frames of Python, beside the kinds of the scan."""

NONE = -1
"""Stands for no correlation, no flow, no partner."""

OPEN_END = np.iinfo(np.int64).max
"""End of what was begun and never ended."""


@dataclass(frozen=True)
class Metadata:
    """A metadata event, which names a process or a thread.

    Attributes:
        row: number of the event.
        of_process: whether it is about the process, and not only the thread.
    """

    row: int
    of_process: bool


@dataclass(frozen=True)
class Columns:
    """Events in the order of the file; arrays have shape (events,).

    Times are the engine's ns, with the repairs of single events in them.

    Attributes:
        phase: what the event is, e.g. ``SLICE``.
        kind: what a slice stands for: the kinds of the scan, and ``PYTHON``.
        thread: index into ``threads``.
        start: start.
        end: end; the start for what has no duration, ``OPEN_END`` for what never ended.
        correlation: number that a launch and its activities share, ``NONE`` for none.
        flow: number of the flow that the event is an end of, ``NONE`` for none.
    """

    phase: NDArray[np.int8]
    kind: NDArray[np.int8]
    thread: NDArray[np.int32]
    start: Ints
    end: Ints
    correlation: Ints
    flow: Ints


@dataclass(frozen=True)
class Index(Columns):
    """All events of a capture, and what a reader makes of them together.

    Attributes:
        partner: for a begin event the row of its end, ``NONE`` for none.
        threads: the threads.
        metadata: the metadata events.
    """

    partner: Ints
    threads: tuple[Thread, ...]
    metadata: tuple[Metadata, ...] = ()

    @cached_property
    def is_slice(self) -> Mask:
        """Which events are slices, begin events with them."""
        found: Mask = (self.phase == SLICE) | (self.phase == BEGIN)
        return found


def kind_of_slice(category: str) -> int:
    """The kind of a slice of this category, frames of Python among them."""
    return PYTHON if category.lower() == "python_function" else kind_of(category)


def pair(columns: Columns) -> Ints:
    """Gives begin events their ends, which match on a thread as brackets do.

    Returns:
        The column ``partner``. An end without a begin is gone, as it is for every reader.
    """
    phase, start, end = columns.phase, columns.start, columns.end
    partner = np.full(len(phase), NONE)
    edges = np.flatnonzero((phase == BEGIN) | (phase == END))
    stacks: dict[int, list[int]] = {}
    for row in edges[np.argsort(start[edges], kind="stable")].tolist():
        stack = stacks.setdefault(int(columns.thread[row]), [])
        if phase[row] == BEGIN:
            stack.append(row)
        elif stack:
            begin = stack.pop()
            partner[begin] = row
            end[begin] = start[row]
        else:
            phase[row] = GONE
    for row in _never_ended(stacks):
        end[row] = OPEN_END
    return partner


def _never_ended(stacks: dict[int, list[int]]) -> Iterator[int]:
    for stack in stacks.values():
        yield from stack
