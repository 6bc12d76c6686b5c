"""What one level of detection leaves behind: runs, and where their kernels are."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.line import EXTRA, INNER, SWAPPED, Line, Marks
from perfetto_autoviz.steps.patterns.stacks import find_copies

Ints = NDArray[np.int64]
Kinds = NDArray[np.int8]
Table = TypeVar("Table", "Runs", "Segments")


@dataclass(frozen=True)
class Runs:
    """Runs of loops; arrays of shape ``(runs,)``.

    Attributes:
        loop: the loop.
        first: first kernel in the order.
        stop: one past the last kernel in the order.
        missing: positions of the loop that did not run.
        extra: items that are not in the loop.
        swapped: positions at which something else ran.
    """

    loop: Index
    first: Index
    stop: Index
    missing: Index
    extra: Index
    swapped: Index

    def __len__(self) -> int:
        return len(self.loop)


@dataclass(frozen=True)
class Segments:
    """Stretches of neighbouring kernels of one run; arrays of shape ``(segments,)``.

    The kernels of a plain or swapped segment have positions that count up from ``position``;
    extra ones have -1. All kernels of a segment that is an inner loop have its one position.

    Attributes:
        run: the run.
        first: first kernel in the order.
        count: number of kernels.
        position: position of the first kernel.
        kind: ``PLAIN``, ``EXTRA`` or ``SWAPPED``, plus ``INNER`` for an inner loop.
    """

    run: Index
    first: Index
    count: Index
    position: Index
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.run)


def collect(line: Line, marks: Marks, sizes: list[int], base: int) -> tuple[Runs, Segments]:
    """Runs and segments of all marked items.

    Args:
        line: the sequence.
        marks: marks of all copies of the level.
        sizes: items of each loop.
        base: smallest symbol that stands for an inner loop.
    """
    copies = find_copies(marks)
    item = np.flatnonzero(marks.loop >= 0).astype(np.int32)
    run = np.repeat(np.arange(len(copies), dtype=np.int32), copies.stop - copies.start)
    kind = marks.kind[item]
    size = np.array(sizes, dtype=np.int64)
    number = len(copies)
    extra = np.bincount(run[kind == EXTRA], minlength=number)
    swapped = np.bincount(run[kind == SWAPPED], minlength=number)
    present = np.bincount(run, minlength=number) - extra
    runs = Runs(
        loop=copies.loop.astype(np.int32),
        first=line.first[copies.start],
        stop=line.stop[copies.stop - 1],
        missing=(size[copies.loop] - present).astype(np.int32),
        extra=extra.astype(np.int32),
        swapped=swapped.astype(np.int32),
    )
    kind = kind + np.where(line.symbol[item] >= base, INNER, 0).astype(np.int8)
    first, stop = line.first[item], line.stop[item]
    return runs, join_segments(run, first, stop, marks.position[item], kind)


def join_segments(run: Index, first: Index, stop: Index, position: Index, kind: Kinds) -> Segments:
    """Join items that lie, and are placed, one after the other; shape ``(items,)`` each.

    Args:
        run: run of each item.
        first: its first kernel.
        stop: one past its last kernel.
        position: its position, -1 for an extra one.
        kind: its kind; inner loops are never joined.
    """
    new = np.ones(len(run), dtype=bool)
    follows = position[1:] == position[:-1] + 1
    new[1:] = (
        (run[1:] != run[:-1])
        | (kind[1:] != kind[:-1])
        | (kind[1:] >= INNER)
        | (first[1:] != stop[:-1])
        | ~(follows | (kind[1:] == EXTRA))
    )
    head = np.flatnonzero(new)
    tail = np.concatenate([head[1:], [len(run)]]).astype(np.int64)[: len(head)] - 1
    return Segments(
        run=run[head],
        first=first[head],
        count=stop[tail] - first[head],
        position=position[head],
        kind=kind[head],
    )


def shifted(table: Table, field: str, by: int) -> Table:
    """The table with a number added to one of its columns."""
    values = {one.name: getattr(table, one.name) for one in fields(table)}
    return type(table)(**{**values, field: values[field] + np.int32(by)})


def stacked(tables: list[Table]) -> Table:
    """Several tables, at least one, below one another."""
    names = [one.name for one in fields(tables[0])]
    return type(tables[0])(
        **{name: np.concatenate([getattr(table, name) for table in tables]) for name in names}
    )
