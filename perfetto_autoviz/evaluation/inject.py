"""Injects anomalies into the device activities of one rank, before patterns are looked for.

What an anomaly delays or hastens moves everything after it, as on a device whose streams wait
for one another; nothing else changes. Activities stay in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.evaluation.plan import NONE, Plan, Work
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.synth.anomaly_kinds import DRIFT, SLOW_COLLECTIVE, SPIKE, STALL_NS, Kind

WORK_COLUMNS = ("kind", "name", "op", "family", "purpose")
"""Columns of ``_autoviz_activity`` that say what is computed; the others say where and when."""

ORDER = ("ts", "dur", "pid", "tid", "correlation")
"""Columns by which activities are numbered."""


@dataclass(frozen=True)
class Injected:
    """The activities of a rank with anomalies in them.

    Attributes:
        activities: the new frame, in the order of the new numbers.
        number: new number of each old activity, ``NONE`` for one that was taken away; shape
            ``(old activities,)``.
        extra: new number of the activity that each plan added, ``NONE`` for other kinds; shape
            ``(plans,)``.
        extra_after: old number of the activity that each of these follows, in that shape.
    """

    activities: pd.DataFrame
    number: Ints
    extra: Ints
    extra_after: Ints


def inject(activities: pd.DataFrame, plans: Sequence[Plan]) -> Injected:
    """Injects anomalies into runs of one rank, at most one into each.

    Args:
        activities: frame of ``_autoviz_activity``, sorted by ``seq``.
        plans: what to inject where, into this rank.
    """
    changed = _Changes(activities, Work.of(activities))
    for plan in plans:
        _INJECTIONS[plan.kind](changed, plan)
    return changed.result(plans)


class _Changes:
    """What all anomalies together do to the activities."""

    def __init__(self, activities: pd.DataFrame, work: Work) -> None:
        self.activities = activities
        self.work = work
        self.ts = activities["ts"].to_numpy(np.int64)
        self.dur = activities["dur"].to_numpy(np.int64).copy()
        self.before = self._idle_before()
        # How far what starts with an activity moves, beyond what starts before it.
        self.moved = np.zeros(len(activities) + 1, np.int64)
        # Whose work each activity does.
        self.does = np.arange(len(activities))
        self.gone = np.zeros(len(activities), bool)
        self.added: dict[int, tuple[int, int]] = {}

    def spike(self, plan: Plan) -> None:
        self._grow(np.array([plan.at]), SPIKE)

    def slow_collective(self, plan: Plan) -> None:
        self._grow(np.array([plan.at]), SLOW_COLLECTIVE)

    def drift(self, plan: Plan) -> None:
        self._grow(plan.target.kernels, DRIFT)

    def stall(self, plan: Plan) -> None:
        self.moved[plan.at] += STALL_NS

    def swap(self, plan: Plan) -> None:
        pair = np.array([plan.at, plan.other])
        self.does[pair] = pair[::-1]
        self._last(pair, self.dur[pair[::-1]])

    def missing(self, plan: Plan) -> None:
        first = plan.at == plan.target.kernels[0]
        took = self.dur[plan.at] + (0 if first else self.before[plan.at])
        self.gone[plan.at] = True
        self.moved[plan.at + 1] -= max(int(took), 0)

    def extra(self, plan: Plan) -> None:
        following = self._next(plan.at)
        gap = int(self.before[following])
        self.added[plan.at] = (plan.other, gap)
        self.moved[following] += max(int(self.dur[plan.other]) + gap, 1)

    def result(self, plans: Sequence[Plan]) -> Injected:
        # Where less time passes, nothing overtakes what started before it.
        ts = np.maximum.accumulate(self.ts + np.cumsum(self.moved[:-1]))
        frame = self._frame(ts)
        kept = np.flatnonzero(~self.gone)
        order = np.lexsort([frame[name].fillna(-1).to_numpy(np.int64) for name in ORDER[::-1]])
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        number = np.full(len(self.ts), NONE, np.int64)
        number[kept] = place[: len(kept)]
        new = dict(zip(self.added, place[len(kept) :].tolist(), strict=True))
        after = [plan.at if plan.kind == "extra" else NONE for plan in plans]
        extra = [new.get(at, NONE) for at in after]
        frame = frame.iloc[order].reset_index(drop=True)
        if "seq" in frame:
            frame["seq"] = np.arange(len(frame))
        return Injected(frame, number, np.array(extra, np.int64), np.array(after, np.int64))

    def _frame(self, ts: Ints) -> pd.DataFrame:
        """What is left of the old activities, then the extra ones."""
        after = np.array([*self.added], np.int64)
        copied = np.array([what for what, _ in self.added.values()], np.int64)
        gaps = np.array([gap for _, gap in self.added.values()], np.int64)
        kept = np.flatnonzero(~self.gone)
        frame = self.activities.iloc[np.concatenate((kept, after))].reset_index(drop=True)
        does = np.concatenate((self.does[kept], copied))
        for name in WORK_COLUMNS:
            if name in frame:
                frame[name] = self.activities[name].array[does]
        starts = np.maximum(ts[after] + self.dur[after] + gaps, ts[after])
        frame["ts"] = np.concatenate((ts[kept], starts))
        frame["dur"] = np.concatenate((self.dur[kept], self.dur[copied]))
        return frame

    def _grow(self, kernels: Ints, factor: float) -> None:
        self._last(kernels, np.rint(self.dur[kernels] * factor).astype(np.int64))

    def _last(self, kernels: Ints, dur: Ints) -> None:
        """Gives activities other durations; what starts after them moves.

        Streams wait for one another, so that what comes next moves as far as the stream that
        is delayed most.
        """
        longer = dur - self.dur[kernels]
        self.dur[kernels] = dur
        streams = np.unique(self.work.stream[kernels])
        own = self.work.stream[kernels][None, :] == streams[:, None]
        delay = np.max(np.cumsum(np.where(own, longer, 0), axis=1), axis=0)
        np.add.at(self.moved, kernels + 1, np.diff(delay, prepend=0))

    def _idle_before(self) -> Ints:
        """Time from the latest end on the stream to each start; negative where they overlap."""
        before = np.zeros(len(self.ts), np.int64)
        for stream in np.unique(self.work.stream).tolist():
            own = np.flatnonzero(self.work.stream == stream)
            end = np.maximum.accumulate(self.ts[own] + self.dur[own])
            before[own[1:]] = self.ts[own[1:]] - end[:-1]
        return before

    def _next(self, at: int) -> int:
        """The next activity on the same stream."""
        stream = self.work.stream
        return at + 1 + int(np.argmax(stream[at + 1 :] == stream[at]))


_INJECTIONS: Mapping[Kind, Callable[[_Changes, Plan], None]] = {
    "spike": _Changes.spike,
    "stall": _Changes.stall,
    "swap": _Changes.swap,
    "drift": _Changes.drift,
    "missing": _Changes.missing,
    "extra": _Changes.extra,
    "slow_collective": _Changes.slow_collective,
}
