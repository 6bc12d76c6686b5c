"""Steps found in what the host did: a call that recurs on the way to the device's work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.spans import Span
from perfetto_autoviz.steps.iterations.units import MOST, Units
from perfetto_autoviz.steps.iterations.work import Work

COVERED = 0.95
"""Share of the device time between the first and the last of some calls, from which a step is
a call; with less, a step reaches to the next call."""

WORTH_A_LEVEL = 0.01
"""Share of the device time before the steps of one call, and after them, from which the call is
an iteration that holds them: a diffusion model encodes a prompt first, and decodes at last."""

# nn.Module: FluxTransformer2DModel_0: the number is the object's, so that the same module
# called again is a step, and another one of its kind is a layer.
_MODULE = "nn.Module: "

# nccl:all_reduce, gloo:all_reduce: a step has many, or has none of its own.
_COLLECTIVE = re.compile(r"^(nccl|gloo|rccl|mscclpp|ucc|mpi):")

# <built-in method run_backward of torch._C._EngineBase object at 0x7fc958eaf2d0>
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass(frozen=True)
class Calls:
    """Calls of one thread that launch work, outer ones before what they contain.

    All arrays have shape (n,).

    Attributes:
        ts: starts in ns.
        end: ends in ns.
        name: as recorded.
        label: the same for calls that do the same, None for what is never a step.
        weight: summed durations in ns of what is launched while the call is open.
        parent: index of the call it lies in, -1 for an outermost one.
        thread: utid.
        process: number of the process.
    """

    ts: Ints
    end: Ints
    name: list[str]
    label: list[str | None]
    weight: Ints
    parent: Ints
    thread: int
    process: int

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Indices of the calls inside each call, in order."""
        found: dict[int, list[int]] = {}
        for index, parent in enumerate(self.parent.tolist()):
            found.setdefault(parent, []).append(index)
        return found


@dataclass(frozen=True)
class Recurrence:
    """Calls that stand for the steps.

    Attributes:
        calls: the calls of their thread.
        spans: start and end in ns of each step.
        names: name of each.
        inside: the single call that holds them all and more, -1 for none.
    """

    calls: Calls
    spans: list[tuple[int, int]]
    names: list[str]
    inside: int


def threads_of_calls(frame: pd.DataFrame, work: Work) -> list[Calls]:
    """The calls of each thread, that which launches most itself first.

    A call bears what any thread launches while it is open: a step waits for its helpers.

    Args:
        frame: columns ts, dur (ns), name, utid, pid.
        work: the device activities.
    """
    launched = np.flatnonzero(work.launch_ts >= 0)
    launched = launched[np.argsort(work.launch_ts[launched], kind="stable")]
    times = work.launch_ts[launched]
    until = np.concatenate([[0], np.cumsum(work.dur[launched])])
    ts = frame["ts"].to_numpy(np.int64)
    end = ts + frame["dur"].to_numpy(np.int64)
    weight = until[np.searchsorted(times, end)] - until[np.searchsorted(times, ts)]
    bears = frame.assign(end=end, weight=weight)[weight > 0]
    threads = [_thread(one) for _, one in bears.groupby("utid", sort=True)]
    return sorted(threads, key=lambda calls: -work.launched_by(calls.thread))


def recurring_calls(calls: Calls, work: Work) -> Recurrence | str:
    """The outermost calls on the way to the device's work that recur and may be steps.

    Goes from a call to the calls inside it for as long as one of them bears most of the work.

    Returns:
        The calls, or why there are none.
    """
    node, in_module = -1, False
    while True:
        inside = calls.children.get(node, [])
        if not inside:
            return "no call recurs on the way to the device's work"
        chosen = _group(calls, inside, work.total, modules_only=in_module)
        if chosen:
            return _steps(calls, work, node, chosen)
        largest = max(inside, key=lambda index: int(calls.weight[index]))
        if calls.weight[largest] < MOST * work.total:
            return "the device's work comes from many different calls"
        node, in_module = largest, in_module or calls.name[largest].startswith(_MODULE)


def _thread(frame: pd.DataFrame) -> Calls:
    frame = frame.sort_values(["ts", "end"], ascending=[True, False], kind="stable")
    process = frame["pid"].iloc[0]
    names = frame["name"].astype(str).tolist()
    return Calls(
        ts=frame["ts"].to_numpy(np.int64),
        end=frame["end"].to_numpy(np.int64),
        name=names,
        label=[_label(name) for name in names],
        weight=frame["weight"].to_numpy(np.int64),
        parent=_parents(frame["ts"].tolist(), frame["end"].tolist()),
        thread=int(frame["utid"].iloc[0]),
        process=-1 if pd.isna(process) else int(process),
    )


def _label(name: str) -> str | None:
    if _COLLECTIVE.match(name):
        return None
    return name if name.startswith(_MODULE) else _NUMBERS.sub("#", name)


def _parents(ts: Sequence[int], end: Sequence[int]) -> Ints:
    parents, stack = [], [-1]
    for index, start in enumerate(ts):
        while len(stack) > 1 and end[stack[-1]] <= start:
            stack.pop()
        parents.append(stack[-1])
        stack.append(index)
    return np.array(parents, np.int64)


def _group(calls: Calls, inside: list[int], total: int, *, modules_only: bool) -> list[list[int]]:
    """Calls that recur and bear most of the work: those of one label, or of several in turn.

    Returns:
        The calls of each step, in order; empty if there are none.
    """
    labels = [
        label if label and (not modules_only or label.startswith(_MODULE)) else None
        for label in (calls.label[index] for index in inside)
    ]
    counts = Counter(label for label in labels if label)
    recurring = [label for label, count in counts.items() if count > 1]
    if not recurring:
        return []
    weight = {
        label: sum(
            int(calls.weight[i]) for i, own in zip(inside, labels, strict=True) if own == label
        )
        for label in recurring
    }
    heaviest = max(recurring, key=lambda label: weight[label])
    if weight[heaviest] >= MOST * total:
        return [[i] for i, own in zip(inside, labels, strict=True) if own == heaviest]
    return _in_turn(inside, labels, counts, weight, total)


def _in_turn(
    inside: list[int],
    labels: list[str | None],
    counts: Counter[str],
    weight: dict[str, int],
    total: int,
) -> list[list[int]]:
    for count in sorted({counts[label] for label in weight}):
        several = {label for label in weight if counts[label] == count}
        if sum(weight[label] for label in several) < MOST * total:
            continue
        picked = [i for i, own in zip(inside, labels, strict=True) if own in several]
        order = [own for own in labels if own in several]
        rows = [order[k : k + len(several)] for k in range(0, len(order), len(several))]
        if all(row == rows[0] for row in rows) and len(set(rows[0])) == len(several):
            return [picked[k : k + len(several)] for k in range(0, len(picked), len(several))]
    return []


def _steps(calls: Calls, work: Work, node: int, groups: list[list[int]]) -> Recurrence | str:
    spans = _spans(calls, work, groups)
    units = units_by_launch(work, spans)
    worked = units.worked
    if worked.stop - worked.start < len(groups):
        return _steps(calls, work, node, groups[worked])
    refused = units.refusal(framed=True)
    if refused is not None:
        return refused
    names = [calls.name[group[0]] for group in groups]
    around = node if node >= 0 and _does_more(calls, work, node, spans) else -1
    return Recurrence(calls, spans, names, around)


def _does_more(calls: Calls, work: Work, node: int, spans: list[tuple[int, int]]) -> bool:
    """Whether the call around the steps does enough before the first and after the last."""
    launch = work.launch_ts
    before = (launch >= calls.ts[node]) & (launch < spans[0][0])
    after = (launch >= spans[-1][1]) & (launch < calls.end[node])
    least = WORTH_A_LEVEL * work.total
    return bool(work.dur[before].sum() >= least and work.dur[after].sum() >= least)


def _spans(calls: Calls, work: Work, groups: list[list[int]]) -> list[tuple[int, int]]:
    starts = [int(calls.ts[group[0]]) for group in groups]
    ends = [int(calls.end[group[-1]]) for group in groups]
    own = sum(int(calls.weight[index]) for group in groups for index in group)
    between = (work.launch_ts >= starts[0]) & (work.launch_ts < ends[-1])
    if own >= COVERED * work.dur[between].sum():
        return list(zip(starts, ends, strict=True))
    pause = int(np.median(np.array(starts[1:]) - np.array(ends[:-1])))
    return list(zip(starts, [*starts[1:], ends[-1] + max(pause, 0)], strict=True))


def units_by_launch(work: Work, spans: Sequence[tuple[int, int]]) -> Units:
    """The activities launched in each span, in order of launch; spans don't overlap."""
    index = np.flatnonzero(work.launch_ts >= 0)
    order = index[np.lexsort((work.ts[index], work.launch_ts[index]))]
    starts = np.array([start for start, _ in spans], np.int64)
    ends = np.array([end for _, end in spans], np.int64)
    owner = np.searchsorted(starts, work.launch_ts[order], side="right") - 1
    owner[work.launch_ts[order] >= ends[np.maximum(owner, 0)]] = -1
    return Units(work, order, owner, len(spans))


def as_spans(found: Recurrence) -> list[Span]:
    """The steps as spans of the host."""
    calls = found.calls
    return [
        Span(start, end, name, None, calls.thread, calls.process, inferred="step")
        for (start, end), name in zip(found.spans, found.names, strict=True)
    ]
