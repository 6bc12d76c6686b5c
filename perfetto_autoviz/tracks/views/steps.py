"""Engine steps, their phases and their layers as tracks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from perfetto_autoviz.relations import ITERATION, LAYER, PHASE
from perfetto_autoviz.tracks.specs import TrackSpec


def iteration_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``decode bs=32 #17``, coloured by phase."""
    iterations, phases = relations[ITERATION.name], relations[PHASE.name]
    words = _iteration_words(iterations, phases)
    return TrackSpec(
        ITERATION.name,
        "iterations",
        [_iteration_title(*row) for row in zip(words, *_counts(iterations, phases), strict=True)],
        words,
        level="level",
        description="Engine steps, from the first start to the last end of their kernels.",
    )


def phase_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``decode``."""
    phases = relations[PHASE.name]["phase"].tolist()
    return TrackSpec(
        PHASE.name,
        "phases",
        phases,
        phases,
        description="What each engine step does, by its counts of requests and tokens.",
    )


def layer_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``L12 attention+moe``, coloured by kind."""
    layers = relations[LAYER.name]
    return TrackSpec(
        LAYER.name,
        "layers",
        [f"L{layer} {kind}" for layer, kind in zip(layers["layer"], layers["kind"], strict=True)],
        layers["kind"].tolist(),
        description="Executions of model layers, exactly over their kernels.",
    )


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
