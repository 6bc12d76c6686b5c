"""Pairs of builds: the same requests served by one build and by its successor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from perfetto_autoviz.synth.edits import EditPlan, TrueEdit, edit_layer
from perfetto_autoviz.synth.model import Slot
from perfetto_autoviz.synth.scenario import ScenarioSpec
from perfetto_autoviz.synth.simulate import scenario_model

SECOND = 1
"""Number of the second build: it has noise of its own, though its requests are the same."""


@dataclass(frozen=True)
class BuildPair:
    """Two builds and what became of each kernel of a layer.

    Attributes:
        a: the scenario of the first build.
        b: the scenario of the second.
        edits: every position of every kind of layer of both builds, each once.
    """

    a: ScenarioSpec
    b: ScenarioSpec
    edits: tuple[TrueEdit, ...]


def second_build(spec: ScenarioSpec, plan: EditPlan, seed: int) -> BuildPair:
    """A pair of builds of which the second has edited layers.

    Args:
        spec: the first build.
        plan: how much to change.
        seed: of the choice of edits.
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 4])))
    model = scenario_model(spec)
    kinds: dict[str, tuple[Slot, ...]] = {}
    edits: list[TrueEdit] = []
    for kind, slots in model.kinds.items():
        kinds[kind], found = edit_layer(slots, kind, plan, model.gpu.graph_gap_ns, rng)
        edits += found
    changed = replace(model, kinds=kinds)
    after = replace(spec, model=changed, shared_expert=False, build=SECOND, edits=tuple(edits))
    return BuildPair(spec, after, tuple(edits))


def build_folders(folder: Path) -> tuple[Path, Path]:
    """Where the captures of both builds of a pair go."""
    return folder / "a", folder / "b"
