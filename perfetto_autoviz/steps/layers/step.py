"""The step that finds the layers of each iteration."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import LAYER
from perfetto_autoviz.steps.intervals import Ints, span_by_group, union_by_group
from perfetto_autoviz.steps.layers.boundaries import (
    Extent,
    Kernel,
    attention_anchors,
    layer_extents,
)
from perfetto_autoviz.steps.layers.kinds import LayerOps, composition, kinds
from perfetto_autoviz.steps.layers.members import Members
from perfetto_autoviz.steps.layers.modules import (
    ModuleClass,
    layer_calls,
    module_classes,
    module_extents,
)
from perfetto_autoviz.steps.step import Frames, Read, Step

ATTENTION_ANCHOR = "attention anchor"
SOFTMAX_ANCHOR = "softmax anchor"
CHOSEN_ANCHOR = "chosen anchor"
MODULE = "nn.Module"

Anchors = Callable[[list[Kernel]], list[int]]


@dataclass(frozen=True)
class _Layer:
    """One layer: indices of its activities in the members, and what located it."""

    inside: Ints
    anchor: int
    index: int
    first_of_iteration: int
    module: str | None
    by_module: bool


def find_layers(frames: Frames, options: Options) -> dict[str, pd.DataFrame]:
    """Layers of all innermost iterations that are real.

    Method: see `boundaries`; the boundaries are found once for each distinct sequence of
    ops, as a replayed graph repeats it exactly. Where the layers are calls of nn.Module
    objects, what those launched decides.

    Returns:
        The frame of the relation ``layer``; no rows where nothing repeats in an
        iteration around an anchor.

    Raises:
        UsageError: the chosen anchor is no regular expression.
    """
    anchors = _chosen_anchors(frames, options.anchor) if options.anchor else attention_anchors
    members = Members.of(
        frames["_autoviz_src_iteration"],
        frames["autoviz_iteration_kernel"],
        frames["_autoviz_activity"],
    )
    modules = module_classes(frames["_autoviz_module_call"])
    layers = _Finder(members, anchors, modules).layers()
    if not layers:
        return {LAYER.name: relation_frame(LAYER, {})}
    columns = _columns(members, layers, frames["_autoviz_src_phase"])
    columns["evidence"] = [_evidence(members, layer, options) for layer in layers]
    return {LAYER.name: relation_frame(LAYER, columns)}


def _evidence(members: Members, layer: _Layer, options: Options) -> str:
    if options.anchor:
        anchor = CHOSEN_ANCHOR
    elif members.vocabulary[members.code[layer.anchor]].is_plain_softmax:
        anchor = SOFTMAX_ANCHOR
    else:
        anchor = ATTENTION_ANCHOR
    return f"{anchor}, {MODULE}" if layer.by_module else anchor


def _chosen_anchors(frames: Frames, pattern: str) -> Anchors:
    try:
        chosen = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--anchor {pattern!r} is no regular expression: {error}") from error
    names = frames["_autoviz_src_kernel_name"]
    ops = {
        op
        for name, op in zip(names["name"], names["op"], strict=True)
        if chosen.search(name) or (op and chosen.search(op))
    }
    return lambda kernels: [i for i, kernel in enumerate(kernels) if kernel.op in ops]


class _Finder:
    """Finds layers sequence by sequence, remembering what it found for equal ones."""

    def __init__(self, members: Members, anchors: Anchors, modules: list[ModuleClass]) -> None:
        self._members = members
        self._anchors = anchors
        self._modules = modules
        self._known: dict[bytes, list[Extent]] = {}

    def layers(self) -> list[_Layer]:
        return [layer for sequence in self._members.sequences() for layer in self._in(sequence)]

    def _in(self, sequence: Ints) -> list[_Layer]:
        rough = self._extents(sequence)
        taking_part = self._members.of_layer_streams(sequence, len(rough))
        extents = rough if len(taking_part) == len(sequence) else self._extents(taking_part)
        if not extents:
            return []
        anchors = np.array([extent.anchor for extent in extents])
        launch_ts = self._members.launch_ts[taking_part]
        launch_thread = self._members.launch_thread[taking_part]
        calls = layer_calls(self._modules, launch_ts[anchors], launch_thread[anchors])
        by_module = module_extents(calls, anchors, launch_ts, launch_thread)
        return [
            _Layer(
                taking_part[extent.start : extent.end],
                int(taking_part[extent.anchor]),
                index,
                int(sequence[0]),
                call.name if call else None,
                by_module is not None,
            )
            for index, (extent, call) in enumerate(zip(by_module or extents, calls, strict=True))
        ]

    def _extents(self, sequence: Ints) -> list[Extent]:
        key = self._members.code[sequence].tobytes()
        if key not in self._known:
            kernels = self._members.kernels(sequence)
            self._known[key] = layer_extents(kernels, self._anchors(kernels))
        return self._known[key]


def _columns(members: Members, layers: list[_Layer], phases: pd.DataFrame) -> dict[str, Any]:
    lengths = np.array([len(layer.inside) for layer in layers])
    group = np.repeat(np.arange(len(layers)), lengths)
    inside = np.concatenate([layer.inside for layer in layers])
    ts, dur = members.ts[inside], members.dur[inside]
    first, last, _ = span_by_group(group, ts, dur, len(layers))
    start = np.array([layer.inside[0] for layer in layers])
    end = np.array([layer.inside[-1] for layer in layers])
    origin = np.array([layer.first_of_iteration for layer in layers])
    iteration = members.iteration[start]
    return {
        "ts": first,
        "dur": last - first,
        "id": np.arange(len(layers)),
        "iteration_id": iteration,
        "device": members.device[start],
        "layer": [layer.index for layer in layers],
        "kind": _kinds(members, layers, iteration, phases),
        "anchor": [members.vocabulary[members.code[layer.anchor]].op for layer in layers],
        "module": [layer.module for layer in layers],
        "first_position": start - origin,
        "last_position": end - origin,
        "skipped": [_skipped(layer) for layer in layers],
        "activity_count": lengths,
        "kernel_count": np.bincount(group[members.is_kernel[inside]], minlength=len(layers)),
        "busy_dur": union_by_group(group, ts, dur, len(layers)),
    }


def _skipped(layer: _Layer) -> str | None:
    """Positions in the layer's stretch that are not part of it, as ``,41,42,``."""
    stretch = np.arange(layer.inside[0], layer.inside[-1] + 1)
    if len(stretch) == len(layer.inside):
        return None
    others = np.setdiff1d(stretch, layer.inside, assume_unique=True)
    return "," + "".join(f"{position}," for position in others - layer.first_of_iteration)


def _kinds(
    members: Members, layers: list[_Layer], iteration: Ints, phases: pd.DataFrame
) -> list[str]:
    rows = zip(phases["iteration_id"], phases["phase"], phases["batch_size"], strict=True)
    phase_of = {int(number): (phase, str(size)) for number, phase, size in rows}
    names: dict[bytes, str] = {}
    described = []
    for layer, number in zip(layers, iteration, strict=True):
        ops = members.code[layer.inside].tobytes()
        if ops not in names:
            names[ops] = composition(members.kernels(layer.inside))
        group = phase_of.get(int(number), (None, ""))
        described.append(LayerOps(group, names[ops], layer.index, ops))
    return kinds(described)


LAYERS_STEP = Step(
    name="layers",
    reads=(
        Read("_autoviz_src_iteration", ("id", "parent_id", "kind")),
        Read("_autoviz_src_phase", ("iteration_id", "phase", "batch_size")),
        Read("_autoviz_src_kernel_name", ("name", "op")),
        Read("autoviz_iteration_kernel", ("iteration_id", "device", "position", "seq")),
        Read(
            "_autoviz_activity",
            ("ts", "dur", "kind", "op", "family", "stream", "launch_ts", "launch_utid"),
        ),
        Read("_autoviz_module_call", ("ts", "dur", "name", "utid")),
    ),
    makes=(LAYER,),
    run=find_layers,
)
