"""What an enriched trace shows: names, colours and counters of the stored relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.relations import ITERATION, LAYER, PATTERN, PATTERN_RUN, PHASE
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.tracks.specs import CounterSpec, TrackSpec


def track_specs(relations: Mapping[str, pd.DataFrame]) -> list[TrackSpec]:
    """The visible tracks, in their order: iterations, phases, layers, patterns."""
    iterations, phases, layers, runs = (
        relations[relation.name] for relation in (ITERATION, PHASE, LAYER, PATTERN_RUN)
    )
    patterns = _pattern_names(runs, relations[PATTERN.name])
    words = _iteration_words(iterations, phases)
    return [
        TrackSpec(
            ITERATION.name,
            "iterations",
            [
                _iteration_title(*row)
                for row in zip(words, *_counts(iterations, phases), strict=True)
            ],
            words,
            level="level",
            description="Engine steps, from the first start to the last end of their kernels.",
        ),
        TrackSpec(
            PHASE.name,
            "phases",
            phases["phase"].tolist(),
            phases["phase"].tolist(),
            description="What each engine step does, by its counts of requests and tokens.",
        ),
        TrackSpec(
            LAYER.name,
            "layers",
            [
                f"L{layer} {kind}"
                for layer, kind in zip(layers["layer"], layers["kind"], strict=True)
            ],
            layers["kind"].tolist(),
            description="Executions of model layers, exactly over their kernels.",
        ),
        TrackSpec(
            PATTERN_RUN.name,
            "patterns",
            [f"{name} #{number}" for name, number in zip(patterns, runs["number"], strict=True)],
            patterns,
            level="level",
            description="Runs of the sequences of kernels that repeat, the outermost loops first.",
        ),
    ]


def _pattern_names(runs: pd.DataFrame, patterns: pd.DataFrame) -> list[str]:
    names = dict(zip(patterns["id"], patterns["name"], strict=True))
    return [names[number] for number in runs["pattern_id"]]


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


def _iteration_words(iterations: pd.DataFrame, phases: pd.DataFrame) -> list[str]:
    phase_of = dict(zip(phases["iteration_id"], phases["phase"], strict=True))
    return [
        _word(phase_of.get(number), kind)
        for number, kind in zip(iterations["id"], iterations["kind"], strict=True)
    ]


def _word(phase: str | None, kind: str) -> str:
    return kind if phase in (None, "unknown") else phase


def _counts(iterations: pd.DataFrame, phases: pd.DataFrame) -> tuple[list[Any], list[Any]]:
    size_of = dict(zip(phases["iteration_id"], phases["batch_size"], strict=True))
    return [size_of.get(number) for number in iterations["id"]], iterations["number"].tolist()


def _iteration_title(word: str, batch_size: Any, number: Any) -> str:
    """For instance ``decode bs=32 #17``."""
    size = "" if pd.isna(batch_size) else f" bs={batch_size}"
    return f"{word}{size}" + ("" if pd.isna(number) else f" #{number}")


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
