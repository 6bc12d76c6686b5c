"""Which part of two captures is compared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.comparison.opened import Rank, Side
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.relations import ITERATION, PHASE, STEADY_WINDOW
from perfetto_autoviz.steps.compare import Build, Loop, read_build
from perfetto_autoviz.steps.compare.build import Kernels, Runs
from perfetto_autoviz.steps.steady_state.alike import alike_windows

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def whole_build(side: Side) -> Build:
    """A build with all its runs."""
    return read_build({rank: one.frames for rank, one in side.ranks.items()})


def steady_builds(a: Side, b: Side, num_steps: int) -> tuple[Build, Build, str]:
    """Two builds with only the runs of steady iterations that do the same in both.

    The windows are chosen by the first rank of each build; the other ranks take the iterations
    of the same numbers.

    Args:
        a: the one build.
        b: the other.
        num_steps: most iterations of a window.

    Returns:
        Both builds, and which iterations they are and why.

    Raises:
        UsageError: no iterations of the one do what some of the other do.
    """
    firsts = [next(iter(side.ranks.values())) for side in (a, b)]
    found = alike_windows(*map(_steps, firsts), num_steps=num_steps)
    if found is None:
        raise UsageError("no steady iterations do the same in A and B: compare without --steady")
    one = _build_within(a, found.first)
    other = _build_within(b, found.second)
    return one, other, found.why


def _steps(rank: Rank) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    found = rank.relations
    return found[ITERATION.name], found[PHASE.name], found[STEADY_WINDOW.name]


def _build_within(side: Side, chosen: Collection[int]) -> Build:
    """A build with what lies in iterations, given by their ids on the first rank."""
    first = next(iter(side.ranks.values())).relations[ITERATION.name]
    wanted = first.loc[first["id"].isin(chosen), ["level", "number"]]
    inside = [
        _inside(side.ranks[rank], wanted)
        # In the order in which a build holds the kernels of its ranks.
        for rank in sorted(side.ranks)
    ]
    return narrowed(whole_build(side), np.concatenate(inside))


def _inside(rank: Rank, wanted: pd.DataFrame) -> Bools:
    """For each kernel of a rank whether it belongs to the iterations of some numbers."""
    iterations = rank.relations[ITERATION.name].merge(wanted, on=["level", "number"])
    members = rank.frames["iteration_kernel"]
    own = members.loc[members["iteration_id"].isin(iterations["id"]), "seq"]
    return rank.frames["kernel"]["seq"].isin(own).to_numpy(bool)


def narrowed(build: Build, inside: Bools) -> Build:
    """A build with some of its kernels, and the runs that have no others.

    Args:
        build: the build.
        inside: shape ``(kernels,)``, which of its kernels count.
    """
    runs, kernels = build.runs, build.kernels
    keep = ~_broken(build, inside)
    loops = _still_used(build, keep)
    # The last entry stands for none.
    row = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    number = {old: new for new, old in enumerate(loops)}
    few = Runs(
        pattern=np.array([number[int(old)] for old in runs.pattern[keep]], np.int64),
        parent=row[runs.parent[keep]],
        rank=runs.rank[keep],
        number=runs.number[keep],
        dur=runs.dur[keep],
        complete=runs.complete[keep],
    )
    left = Kernels(
        ts=kernels.ts[inside],
        dur=kernels.dur[inside],
        run=row[kernels.run[inside]],
        position=kernels.position[inside],
        labels={key: codes[inside] for key, codes in kernels.labels.items()},
    )
    times = _times(few, left, len(loops))
    return Build(
        tuple(_measured(build, build.loops[old], number, few, left, times) for old in loops),
        few,
        left,
        build.labels,
    )


def _broken(build: Build, inside: Bools) -> Bools:
    """Runs that have a kernel which doesn't count, themselves or in a run inside them."""
    broken = np.zeros(len(build.runs) + 1, bool)
    broken[build.kernels.run[~inside]] = True
    while True:
        # The last entry stands for no run, and is never looked at.
        around = build.runs.parent[broken[:-1]]
        if broken[around[around >= 0]].all():
            return broken[:-1]
        broken[around] = True


def _still_used(build: Build, keep: Bools) -> list[int]:
    """Loops that have runs left, and the inner loops of these."""
    used = set(build.runs.pattern[keep].tolist())
    for loop in sorted(build.loops, key=lambda loop: loop.level):
        if loop.id in used:
            used |= {element.inner for element in loop.elements if element.inner is not None}
    return sorted(used)


def _times(runs: Runs, kernels: Kernels, loops: int) -> Ints:
    """Device time in ns of all runs of each loop, those inside them included."""
    times = np.zeros(loops, np.int64)
    run = kernels.run
    dur = kernels.dur
    while (run >= 0).any():
        run, dur = run[run >= 0], dur[run >= 0]
        np.add.at(times, runs.pattern[run], dur)
        run = runs.parent[run]
    return times


def _measured(
    build: Build, loop: Loop, number: dict[int, int], runs: Runs, kernels: Kernels, times: Ints
) -> Loop:
    """A loop with the number, the runs and the times that are left."""
    counts = np.bincount(runs.pattern, minlength=len(times))
    own = number[loop.id]
    count = max(int(counts[own]), 1)
    mine = (kernels.run >= 0) & (kernels.position >= 0)
    mine[mine] = runs.pattern[kernels.run[mine]] == own
    spent = np.bincount(kernels.position[mine], kernels.dur[mine], len(loop.elements))
    elements = []
    for element, dur in zip(loop.elements, spent, strict=True):
        if element.inner is None:
            elements.append(replace(element, dur=float(dur) / count))
            continue
        # Which repeat of a loop is at which place isn't known; all of them change alike.
        inner = build.loops[element.inner]
        before = inner.time / max(inner.run_count, 1)
        now = times[number[inner.id]] / max(int(counts[number[inner.id]]), 1)
        elements.append(
            replace(
                element,
                inner=number[inner.id],
                dur=element.dur * float(now) / before if before else 0.0,
            )
        )
    return replace(
        loop,
        id=own,
        elements=tuple(elements),
        time=int(times[own]),
        run_count=int(counts[own]),
    )
