"""Which loop lies in which, and what they are called."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.level import Runs, Segments

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Naming:
    """Names of loops.

    Attributes:
        loops: the loops in the order of their names.
        names: the name of each, in that order.
        parents: the index in that order of the loop around each, or None.
        levels: how many loops are around each.
        times: device time of each in ns.
        parent_run: the run around each run, -1 without one; counts as the runs given.
    """

    loops: list[int]
    names: list[str]
    parents: list[int | None]
    levels: list[int]
    times: list[int]
    parent_run: Index


def name_loops(dur: Ints, runs: Runs, segments: Segments, loops: int) -> Naming:
    """Name loops by device time, those inside others after these.

    Args:
        dur: duration of each kernel of the order in ns.
        segments: where the runs' kernels are.
        runs: runs of all loops, a loop's number above those of all loops inside it.
        loops: number of loops.
    """
    until = np.concatenate([[0], np.cumsum(dur)])
    spent = until[runs.stop] - until[runs.first]
    beside = (segments.first < runs.first[segments.run]) | (
        segments.first >= runs.stop[segments.run]
    )
    stop = segments.first[beside] + segments.count[beside]
    np.add.at(spent, segments.run[beside], until[stop] - until[segments.first[beside]])
    parent_run = _parent_runs(runs, loops)
    times = [int(spent[runs.loop == loop].sum()) for loop in range(loops)]
    parents = [_parent(runs, spent, parent_run, loop) for loop in range(loops)]
    children: dict[int | None, list[int]] = defaultdict(list)
    for loop, parent in enumerate(parents):
        children[parent].append(loop)
    first = [int(runs.first[runs.loop == loop].min()) for loop in range(loops)]
    for group in children.values():
        group.sort(key=lambda loop: (-times[loop], first[loop]))
    listed: list[tuple[int, str, int | None, int]] = []
    _list(children, None, None, "P", 0, listed)
    return Naming(
        loops=[loop for loop, *_ in listed],
        names=[name for _, name, *_ in listed],
        parents=[parent for *_, parent, _ in listed],
        levels=[level for *_, level in listed],
        times=[times[loop] for loop, *_ in listed],
        parent_run=parent_run,
    )


def _list(
    children: dict[int | None, list[int]],
    loop: int | None,
    index: int | None,
    prefix: str,
    level: int,
    listed: list[tuple[int, str, int | None, int]],
) -> None:
    for number, child in enumerate(children.get(loop, []), start=1):
        name = f"{prefix}{number}"
        listed.append((child, name, index, level))
        _list(children, child, len(listed) - 1, f"{name}.", level + 1, listed)


def _parent_runs(runs: Runs, loops: int) -> Index:
    """The smallest run around each run; runs lie in one another or apart."""
    parent = np.full(len(runs), -1, dtype=np.int32)
    rows = [np.flatnonzero(runs.loop == loop) for loop in range(loops)]
    rows = [mine[np.argsort(runs.first[mine], kind="stable")] for mine in rows]
    for loop, mine in enumerate(rows):
        for outer in rows[loop + 1 :]:
            at = np.searchsorted(runs.first[outer], runs.first[mine], side="right") - 1
            around = outer[np.maximum(at, 0)]
            inside = (at >= 0) & (runs.stop[mine] <= runs.stop[around]) & (parent[mine] < 0)
            parent[mine[inside]] = around[inside]
    return parent


def _parent(runs: Runs, spent: Ints, parent_run: Index, loop: int) -> int | None:
    """The loop around most of a loop's time, None if most of it is in none."""
    mine = np.flatnonzero(runs.loop == loop)
    held = mine[parent_run[mine] >= 0]
    if 2 * spent[held].sum() <= spent[mine].sum():
        return None
    around = runs.loop[parent_run[held]]
    return int(np.bincount(around, weights=spent[held]).argmax())
