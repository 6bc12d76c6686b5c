"""Values over time beside the tracks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.relations import ITERATION, PHASE
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.tracks.specs import CounterSpec


def counter_specs(relations: Mapping[str, pd.DataFrame]) -> list[CounterSpec]:
    """The counters: batch size, and how busy the device is within each iteration."""
    iterations = relations[ITERATION.name]
    outer = iterations[(iterations["level"] == 0) & iterations["ts"].notna()]
    share = 100 * outer["busy_dur"].astype(float) / outer["dur"].astype(float).clip(lower=1)
    phases = relations[PHASE.name]
    sized = phases[
        phases["ts"].notna()
        & phases["batch_size"].notna()
        & phases["iteration_id"].isin(outer["id"])
    ]
    found = [
        _counter("batch size", "requests", sized, sized["batch_size"], "Requests in the step."),
        _counter("busy share", "%", outer, share, "Part of a step in which the device works."),
    ]
    return [counter for counter in found if counter.times]


def _counter(
    title: str, unit: str, spans: pd.DataFrame, values: pd.Series[Any], description: str
) -> CounterSpec:
    """A value that holds during each span and is 0 between spans."""
    order = np.argsort(spans["ts"].to_numpy(np.int64), kind="stable")
    start: Ints = spans["ts"].to_numpy(np.int64)[order]
    end = start + spans["dur"].to_numpy(np.int64)[order]
    value = values.to_numpy(float)[order]
    followed = np.concatenate((end[:-1] >= start[1:], [False])) if len(start) else end > end
    times = np.concatenate((start, end[~followed]))
    levels = np.concatenate((value, np.zeros(int((~followed).sum()))))
    by_time: Sequence[int] = np.argsort(times, kind="stable").tolist()
    return CounterSpec(
        title,
        unit,
        [int(times[i]) for i in by_time],
        [float(levels[i]) for i in by_time],
        description,
    )
