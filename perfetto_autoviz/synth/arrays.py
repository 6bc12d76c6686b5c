"""Kernels of a scenario as arrays, without writing a capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.columns import ProgramColumns
from perfetto_autoviz.synth.scenario import ScenarioSpec
from perfetto_autoviz.synth.simulate import scenario_model, simulate

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SynthArrays:
    """The kernels of all ranks of a scenario.

    Attributes:
        names: kernel names.
        parts: what kernels can be a part of.
        patterns: loops that they run in.
        ranks: by rank the columns ``ts, dur, stream, name, iteration, layer, position, part,
            pattern, place`` as in a truth file, each int64 of shape ``(kernels,)``, by time.
    """

    names: Sequence[str]
    parts: Sequence[str]
    patterns: Sequence[str]
    ranks: tuple[Mapping[str, Ints], ...]


def synth_arrays(spec: ScenarioSpec, kernels: int = 0) -> SynthArrays:
    """Runs a scenario; copies between steps are left out.

    Args:
        spec: the scenario.
        kernels: stop after the step in which a rank reaches so many kernels; 0 for never.
    """
    model = scenario_model(spec)
    names: dict[str, int] = {}

    def name_ids(wanted: Sequence[str]) -> Ints:
        return np.array([names.setdefault(name, len(names)) for name in wanted], dtype=np.int64)

    columns = ProgramColumns(model, name_ids)
    steps: list[list[dict[str, Ints]]] = [[] for _ in range(spec.ranks)]
    made = 0
    for step in simulate(spec, model):
        iteration = np.full(len(step.program), step.plan.index, dtype=np.int64)
        constant = {**columns.of(step.program), "iteration": iteration}
        for rank, chunks in enumerate(steps):
            chunks.append({"ts": step.times.ts[rank], "dur": step.times.dur[rank], **constant})
        made += len(step.program)
        if kernels and made >= kernels:
            break
    return SynthArrays([*names], columns.parts, columns.patterns, tuple(map(_joined, steps)))


def _joined(chunks: Sequence[Mapping[str, Ints]]) -> dict[str, Ints]:
    """All steps of a rank, by time."""
    joined = {column: np.concatenate([one[column] for one in chunks]) for column in chunks[0]}
    order = np.lexsort((joined["dur"], joined["ts"]))
    return {column: values[order] for column, values in joined.items()}
