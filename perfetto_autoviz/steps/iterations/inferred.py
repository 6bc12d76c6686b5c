"""Iterations where no known annotation marks them: one kind of evidence after another.

Each is tried only where those before it fail: annotations of any family that recur, the marks
of optimizers, calls of the host, replays of a graph, and last the sequence of the kernels
alone. What is found must look like steps (`units`) and cover most of the device time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.calls import (
    Recurrence,
    as_spans,
    recurring_calls,
    threads_of_calls,
    units_by_launch,
)
from perfetto_autoviz.steps.iterations.found import Attempt, Level, graded, refused
from perfetto_autoviz.steps.iterations.graphs import find_graph_cut
from perfetto_autoviz.steps.iterations.membership import Activities, adopt_unlaunched, by_launch
from perfetto_autoviz.steps.iterations.sequence import Cut, Line, find_cut
from perfetto_autoviz.steps.iterations.single import find_single_step
from perfetto_autoviz.steps.iterations.spans import Span
from perfetto_autoviz.steps.iterations.units import MOST
from perfetto_autoviz.steps.iterations.work import Work
from perfetto_autoviz.steps.step import Frames

FAMILY = "recurring annotations, activities by launch"
OPTIMIZER = "optimizer annotations, activities by launch"
CALLS = "recurring calls, activities by launch"
GRAPHS = "graph replays"
LAUNCHES = "sequence of launches"
KERNELS = "sequence of kernels"
SINGLE = "layers of a single step"

# Somebody named the steps, or a program's call frames them; the rest says that something
# recurs, and only what it consists of says that it is a step.
_CONFIDENCE = {
    FAMILY: 0.85,
    OPTIMIZER: 0.85,
    CALLS: 0.8,
    GRAPHS: 0.75,
    LAUNCHES: 0.7,
    KERNELS: 0.6,
    SINGLE: 0.5,
}

LAUNCHED = 0.9
"""Share of the device time whose launches must be recorded for their order to be read."""

# Optimizer.step#SGD.step closes a training step, wherever that starts.
_OPTIMIZER_STEP = re.compile(r"^Optimizer\.step#\w+\.step$")

Found = list[Level] | str


@dataclass(frozen=True)
class _Capture:
    frames: Frames
    activities: Activities
    work: Work

    def host_annotations(self) -> pd.DataFrame:
        frame = self.frames["_autoviz_annotation"]
        return frame[(frame["on_device"] == 0) & frame["name"].notna()]

    def line(self, *, launched: bool) -> Line:
        return Line.of(self.work, launched=launched)

    def launched_share(self) -> float:
        """Of the device time since each stream's first launch; the rest was launched before."""
        work, launched = self.work, self.work.launch_ts >= 0
        if not launched.any():
            return 0.0
        first = np.full(int(work.stream.max()) + 1, work.ts[launched].min())
        index = np.flatnonzero(launched)[::-1]
        first[work.stream[index]] = work.ts[index]
        since = work.ts >= first[work.stream]
        return float(work.dur[launched].sum() / max(int(work.dur[since].sum()), 1))


def infer_levels(frames: Frames, activities: Activities) -> tuple[list[Level], list[Attempt]]:
    """Levels of iterations, the outermost first, and what was tried to find them."""
    capture = _Capture(frames, activities, Work.of(frames["_autoviz_activity"]))
    attempts: list[Attempt] = []
    for evidence, search in _searches(capture):
        found = search(capture)
        if isinstance(found, str):
            attempts.append(refused(evidence, found))
            continue
        levels, attempt = _judged(capture, evidence, found)
        attempts.append(attempt)
        if attempt.holds:
            return levels, attempts
    return [], attempts


def _searches(capture: _Capture) -> Iterator[tuple[str, Callable[[_Capture], Found]]]:
    """What to try, in order; what a capture has no records for is left out."""
    launched = capture.launched_share() >= LAUNCHED
    if launched and len(capture.host_annotations()):
        yield FAMILY, _by_family
        yield OPTIMIZER, _by_optimizer
    if launched and len(capture.frames["_autoviz_host_call"]):
        yield CALLS, _by_calls
    yield GRAPHS, lambda one: _by_cut(one, find_graph_cut, GRAPHS, launched=launched)
    if launched:
        yield LAUNCHES, lambda one: _by_cut(one, find_cut, LAUNCHES, launched=True)
    yield KERNELS, lambda one: _by_cut(one, find_cut, KERNELS, launched=False)
    yield SINGLE, lambda one: _by_cut(one, find_single_step, SINGLE, launched=False)


def _by_family(capture: _Capture) -> Found:
    frame = capture.host_annotations()
    others = frame[~frame["name"].str.match(_OPTIMIZER_STEP)]
    return _by_recurrence(capture, others, FAMILY)


def _by_calls(capture: _Capture) -> Found:
    return _by_recurrence(capture, capture.frames["_autoviz_host_call"], CALLS)


def _by_recurrence(capture: _Capture, frame: pd.DataFrame, evidence: str) -> Found:
    refusal = "nothing launches work in them"
    for number, calls in enumerate(threads_of_calls(frame, capture.work)):
        found = recurring_calls(calls, capture.work)
        if isinstance(found, Recurrence):
            return _levels(capture, found, evidence)
        refusal = refusal if number else found
    return refusal


def _levels(capture: _Capture, found: Recurrence, evidence: str) -> list[Level]:
    spans = as_spans(found)
    steps = _host_level(capture, spans, [None] * len(spans), evidence)
    if found.inside < 0:
        return [steps]
    calls, around = found.calls, found.inside
    outer = Span(
        int(calls.ts[around]),
        int(calls.end[around]),
        calls.name[around],
        None,
        calls.thread,
        calls.process,
        inferred="generation",
    )
    whole = _host_level(capture, [outer], [None], evidence)
    return [whole, replace(steps, parents=[outer] * len(spans))]


def _by_optimizer(capture: _Capture) -> Found:
    frame = capture.host_annotations()
    marks = frame[frame["name"].str.match(_OPTIMIZER_STEP)].sort_values("ts")
    if len(marks) < 2:
        return "no optimizer steps twice"
    ends = (marks["ts"] + marks["dur"]).to_numpy(np.int64)
    launches = capture.work.launch_ts[capture.work.launch_ts >= 0]
    starts = np.concatenate([[launches.min()], ends[:-1]])
    spans = [
        Span(int(start), int(end), name, None, thread, -1, inferred="step")
        for start, end, name, thread in zip(
            starts, ends, marks["name"].tolist(), marks["utid"].tolist(), strict=True
        )
    ]
    units = units_by_launch(capture.work, [(span.ts, span.end) for span in spans])
    refusal = None if units.recur() else "optimizers' steps never do the same twice"
    return refusal or [_host_level(capture, spans, [None] * len(spans), OPTIMIZER)]


def _host_level(
    capture: _Capture, spans: list[Span], parents: list[Span | None], evidence: str
) -> Level:
    owner = by_launch(capture.activities, spans)
    owner = adopt_unlaunched(capture.activities, owner, len(spans))
    return _level(spans, parents, evidence, owner, on_host=True)


def _by_cut(
    capture: _Capture, search: Callable[[Line], Cut | str], evidence: str, *, launched: bool
) -> Found:
    line = capture.line(launched=launched)
    cut = search(line)
    if isinstance(cut, str):
        return cut
    owner = np.full(len(capture.work), -1)
    owner[line.order] = cut.owner(len(line.order))
    if launched:
        owner[_strays(capture.work, owner, len(cut.starts))] = -1
    owner = _with_the_rest(capture, line, owner, len(cut.starts))
    times = capture.work.launch_ts if launched else capture.work.ts
    spans = [
        Span(int(times[mine].min()), int(times[mine].max()), "", None, -1, -1, inferred="step")
        for mine in _members(owner, len(cut.starts))
    ]
    level = _level(spans, [None] * len(spans), evidence, owner, on_host=launched)
    return [level]


def _strays(work: Work, owner: Ints, count: int) -> Ints:
    """What a few steps launch last, and the device runs before all the rest of them.

    Another part of the program copies something between two steps, which waits for neither.
    """
    found: list[int] = []
    for mine in _members(owner, count):
        *rest, last = mine[np.argsort(work.launch_ts[mine], kind="stable")].tolist()
        if rest and work.ts[last] < work.ts[rest].min():
            found.append(last)
    return np.array(found if len(found) < MOST * count else [], np.int64)


def _members(owner: Ints, count: int) -> list[Ints]:
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(count + 1))
    return [order[bounds[i] : bounds[i + 1]] for i in range(count)]


def _with_the_rest(capture: _Capture, line: Line, owner: Ints, count: int) -> Ints:
    """Gives what the line lacks, other devices or what has no launch, to the step it ran in."""
    if line.launched:
        return adopt_unlaunched(capture.activities, owner, count)
    work = capture.work
    rest = np.setdiff1d(np.arange(len(work)), line.order, assume_unique=True)
    mine = [work.ts[members].min() for members in _members(owner, count)]
    ended = max(int(work.ts[owner >= 0].max()), 0)
    index = np.searchsorted(np.array(mine), work.ts[rest], side="right") - 1
    owner[rest] = np.where(work.ts[rest] <= ended, index, -1)
    return owner


def _level(
    spans: list[Span], parents: list[Span | None], evidence: str, owner: Ints, *, on_host: bool
) -> Level:
    count = len(spans)
    confidence = [_CONFIDENCE[evidence]] * count
    return Level(spans, parents, [evidence] * count, confidence, owner, [on_host] * count)


def _judged(capture: _Capture, evidence: str, found: list[Level]) -> tuple[list[Level], Attempt]:
    """The levels with what lies before and after the steps, and how good they are."""
    work = capture.work
    innermost, count = found[-1], len(found[0].spans)
    own = float(work.dur[innermost.owner >= 0].sum() / max(work.total, 1))
    if own < MOST:
        return found, refused(
            evidence, f"its iterations cover {100 * own:.1f} % of the device time", own, count
        )
    inside = found[0].owner >= 0 if len(found) > 1 else np.ones(len(work), bool)
    levels = [*found[:-1], _with_bookends(innermost, work, inside)]
    if len(found) > 1:
        levels[0] = _with_bookends(found[0], work, np.ones(len(work), bool))
    coverage = float(work.dur[levels[0].owner >= 0].sum() / max(work.total, 1))
    sure = [replace(level, confidence=[c * coverage for c in level.confidence]) for level in levels]
    return sure, graded(evidence, count, coverage)


def _with_bookends(level: Level, work: Work, inside: np.ndarray) -> Level:
    """Adds what ran before the first step and after the last, where that has kernels."""
    mine = np.flatnonzero(level.owner >= 0)
    free = (level.owner < 0) & inside
    spans, parents, owner = list(level.spans), list(level.parents), level.owner.copy()
    for kind, chosen in (
        ("warm-up", free & (work.ts < work.ts[mine].min())),
        ("wrap-up", free & (work.ts > work.ts[mine].max())),
    ):
        if not (chosen & work.is_kernel).any():
            continue
        owner[chosen] = len(spans)
        times = work.launch_ts if level.on_host[0] else work.ts
        known = times[chosen][times[chosen] >= 0]
        start, end = (int(known.min()), int(known.max())) if len(known) else (0, 0)
        spans.append(Span(start, end, "", None, -1, -1, inferred=kind))
        parents.append(level.parents[0])
    more = len(spans) - len(level.spans)
    return Level(
        spans,
        parents,
        [*level.evidence, *level.evidence[:1] * more],
        [*level.confidence, *level.confidence[:1] * more],
        owner,
        [*level.on_host, *level.on_host[:1] * more],
    )
