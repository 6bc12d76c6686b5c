"""Which run each device activity belongs to, and at which position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.relations import PATTERN_RUN, PATTERN_SEGMENT
from perfetto_autoviz.steps.anomalies.kernels import ACTIVITY, Kernels, ints
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.keys import DurableKeys
from perfetto_autoviz.steps.step import Frames

PLAIN, EXTRA, SWAPPED = 0, 1, 2
"""Kinds of an activity in its run."""

_RUN_COLUMNS = (
    *("pattern_id", "rank", "number", "parent_id", "device", "ts", "dur"),
    *("missing", "extra", "swapped"),
)

_KINDS = {"plain": PLAIN, "extra": EXTRA, "swapped": SWAPPED}


@dataclass(frozen=True)
class RunTable:
    """All runs of all ranks by their id; arrays have shape ``(runs,)``.

    Attributes:
        pattern: the pattern.
        rank: the rank.
        number: number among the runs of its pattern on its rank.
        parent: the run that it lies in, -1 for an outermost one.
        device: the device.
        ts: start in ns.
        dur: duration in ns.
        missing: positions that did not run.
        extra: activities that are not in the pattern.
        swapped: positions at which something else ran.
    """

    pattern: Ints
    rank: Ints
    number: Ints
    parent: Ints
    device: Ints
    ts: Ints
    dur: Ints
    missing: Ints
    extra: Ints
    swapped: Ints


@dataclass(frozen=True)
class Stretches:
    """Neighbours that belong to one run; arrays have shape ``(stretches,)``, by run and place.

    Attributes:
        run: the run.
        place: of the first activity, in the order in which loops were looked for.
        position: of the first activity in the run's pattern, -1 for extra ones.
        count: number of activities.
        kind: ``PLAIN``, ``EXTRA`` or ``SWAPPED``.
        order: activities by place, shape ``(kernels,)``; not per stretch.
    """

    run: Ints
    place: Ints
    position: Ints
    count: Ints
    kind: Ints
    order: Ints

    def members(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Activity, run, position and kind of every activity that is in a run."""
        each = _counted(self.count)
        activity = self.order[np.repeat(self.place, self.count) + each]
        position = np.repeat(self.position, self.count)
        position = np.where(position < 0, -1, position + each)
        return activity, np.repeat(self.run, self.count), position, np.repeat(self.kind, self.count)


def read_run_table(ranks: Mapping[int, Frames]) -> RunTable:
    """The runs of all ranks from the frames of ``pattern_run``."""
    frames = [
        ranks[rank][PATTERN_RUN.source].assign(rank=rank).set_index("id") for rank in sorted(ranks)
    ]
    table = pd.concat(frames).sort_index()
    return RunTable(*(ints(table[name]) for name in _RUN_COLUMNS))


def read_stretches(ranks: Mapping[int, Frames], kernels: Kernels) -> Stretches:
    """The stretches of all ranks from the frames of ``pattern_segment``."""
    found = [
        _of_rank(ranks[rank][ACTIVITY], ranks[rank][PATTERN_SEGMENT.source], kernels.start[rank])
        for rank in sorted(ranks)
    ]
    joined = [np.concatenate(columns) for columns in zip(*found, strict=True)]
    run, place, position, count, kind, order = joined
    sort = np.lexsort((place, run))
    return Stretches(run[sort], place[sort], position[sort], count[sort], kind[sort], order)


def activities_in_runs(activities: pd.DataFrame, segments: pd.DataFrame) -> Ints:
    """Numbers of a rank's activities that belong to any run.

    Args:
        activities: frame of ``_autoviz_activity``.
        segments: frame of ``pattern_segment``.
    """
    if segments.empty:
        return np.empty(0, np.int64)
    _, place, _, count, _, order = _of_rank(activities, segments, 0)
    return np.asarray(order[np.repeat(place, count) + _counted(count)], np.int64)


def _of_rank(activities: pd.DataFrame, segments: pd.DataFrame, start: int) -> tuple[Ints, ...]:
    by_stream = bool(segments["by_stream"].fillna(0).astype(bool).any())
    order = _order(activities, by_stream=by_stream)
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    first = DurableKeys.of(activities).numbers(segments)
    return (
        ints(segments["run_id"]),
        place_of[first] + start,
        ints(segments["position"]),
        ints(segments["activity_count"]),
        ints(segments["kind"].map(_KINDS)),
        order + start,
    )


def _order(activities: pd.DataFrame, *, by_stream: bool) -> Ints:
    """Activities in the order in which loops were looked for."""
    device, stream, ts = (ints(activities[name]) for name in ("device", "stream", "ts"))
    keys = (ts, stream, device) if by_stream else (stream, ts, device)
    return np.asarray(np.lexsort(keys), np.int64)


def _counted(counts: Ints) -> Ints:
    """0, 1, … for each count, one after the other."""
    starts = np.cumsum(counts) - counts
    counted: Ints = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(starts, counts)
    return counted
