"""The step that finds the layers of each iteration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import LAYER
from perfetto_autoviz.steps.intervals import Ints, span_by_group, union_by_group
from perfetto_autoviz.steps.layers.boundaries import (
    Extent,
    Kernel,
    attention_anchors,
    layer_extents,
)
from perfetto_autoviz.steps.layers.kinds import LayerOps, composition, kinds
from perfetto_autoviz.steps.layers.modules import ModuleClass, layer_modules, module_classes
from perfetto_autoviz.steps.step import Frames, Options, Read, Step

ATTENTION_ANCHOR = "attention anchor"
CHOSEN_ANCHOR = "chosen anchor"

_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class _Members:
    """Activities of the innermost iterations, sorted by (iteration, device, position).

    All arrays have shape (n,).
    """

    iteration: Ints
    device: Ints
    ts: Ints
    dur: Ints
    is_kernel: NDArray[np.bool_]
    launch_ts: Ints
    launch_thread: Ints
    code: Ints
    vocabulary: list[Kernel]

    def sequences(self) -> Iterator[slice]:
        """One stretch per iteration and device."""
        key = np.stack([self.iteration, self.device])
        change = np.flatnonzero((key[:, 1:] != key[:, :-1]).any(axis=0)) + 1
        bounds = [0, *change.tolist(), key.shape[1]]
        for start, end in zip(bounds, bounds[1:], strict=False):
            if end > start:
                yield slice(start, end)


@dataclass(frozen=True)
class _Layer:
    first: int
    end: int
    anchor: int
    index: int
    sequence_start: int
    module: str | None


Anchors = Callable[[list[Kernel]], list[int]]


def find_layers(frames: Frames, options: Options) -> dict[str, pd.DataFrame]:
    """Layers of all innermost iterations that are real.

    Method: see `boundaries`; the boundaries are found once for each distinct sequence of
    ops, as a replayed graph repeats it exactly.

    Returns:
        The frame of the relation ``layer``; no rows where nothing repeats in an
        iteration around an anchor.

    Raises:
        UsageError: the chosen anchor is no regular expression.
    """
    anchors = _chosen_anchors(frames, options.anchor) if options.anchor else attention_anchors
    members = _members(frames)
    modules = module_classes(frames["_autoviz_module_call"])
    layers = _layers(members, anchors, modules)
    if not layers:
        return {LAYER.name: relation_frame(LAYER, {})}
    evidence = CHOSEN_ANCHOR if options.anchor else ATTENTION_ANCHOR
    columns = _columns(members, layers, frames["_autoviz_src_phase"])
    columns["evidence"] = [
        f"{evidence}, nn.Module" if layer.module else evidence for layer in layers
    ]
    return {LAYER.name: relation_frame(LAYER, columns)}


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


def _members(frames: Frames) -> _Members:
    iterations = frames["_autoviz_src_iteration"]
    outer = set(iterations["parent_id"].dropna())
    chosen = iterations[
        ~iterations["id"].isin(outer) & ~iterations["kind"].isin(["dummy", "capture"])
    ]
    member = frames["autoviz_iteration_kernel"]
    member = member[member["iteration_id"].isin(chosen["id"])]
    kernels = frames["_autoviz_kernel"].iloc[member["seq"].to_numpy(np.int64)]
    ops = kernels["op"].fillna("") + _SEPARATOR + kernels["family"].fillna("")
    code, distinct = pd.factorize(ops)
    vocabulary = [Kernel(*str(text).rsplit(_SEPARATOR, 1)) for text in distinct]
    return _Members(
        member["iteration_id"].to_numpy(np.int64),
        member["device"].to_numpy(np.int64),
        kernels["ts"].to_numpy(np.int64),
        kernels["dur"].to_numpy(np.int64),
        (kernels["kind"] == "kernel").to_numpy(bool),
        kernels["launch_ts"].fillna(-1).to_numpy(np.int64),
        kernels["launch_utid"].fillna(-1).to_numpy(np.int64),
        code.astype(np.int64),
        vocabulary,
    )


def _layers(members: _Members, anchors: Anchors, modules: list[ModuleClass]) -> list[_Layer]:
    known: dict[bytes, list[Extent]] = {}
    found = []
    for sequence in members.sequences():
        code = members.code[sequence]
        key = code.tobytes()
        if key not in known:
            kernels = [members.vocabulary[c] for c in code]
            known[key] = layer_extents(kernels, anchors(kernels))
        extents = known[key]
        at = np.array([sequence.start + extent.anchor for extent in extents], np.int64)
        names = layer_modules(modules, members.launch_ts[at], members.launch_thread[at])
        found += [
            _Layer(
                sequence.start + extent.start,
                sequence.start + extent.end,
                sequence.start + extent.anchor,
                index,
                sequence.start,
                name,
            )
            for index, (extent, name) in enumerate(zip(extents, names, strict=True))
        ]
    return found


def _columns(members: _Members, layers: list[_Layer], phases: pd.DataFrame) -> dict[str, Any]:
    lengths = np.array([layer.end - layer.first for layer in layers])
    group = np.repeat(np.arange(len(layers)), lengths)
    inside = np.concatenate([np.arange(layer.first, layer.end) for layer in layers])
    ts, dur = members.ts[inside], members.dur[inside]
    first, last, _ = span_by_group(group, ts, dur, len(layers))
    start = np.array([layer.first for layer in layers])
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
        "first_position": [layer.first - layer.sequence_start for layer in layers],
        "activity_count": lengths,
        "kernel_count": np.bincount(group[members.is_kernel[inside]], minlength=len(layers)),
        "busy_dur": union_by_group(group, ts, dur, len(layers)),
    }


def _kinds(
    members: _Members, layers: list[_Layer], iteration: Ints, phases: pd.DataFrame
) -> list[str]:
    rows = zip(phases["iteration_id"], phases["phase"], phases["batch_size"], strict=True)
    phase_of = {int(number): (phase, str(size)) for number, phase, size in rows}
    names: dict[bytes, str] = {}
    described = []
    for layer, number in zip(layers, iteration, strict=True):
        code = members.code[layer.first : layer.end]
        ops = code.tobytes()
        if ops not in names:
            names[ops] = composition([members.vocabulary[c] for c in code])
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
            "_autoviz_kernel",
            ("ts", "dur", "kind", "op", "family", "launch_ts", "launch_utid"),
        ),
        Read("_autoviz_module_call", ("ts", "dur", "name", "utid")),
    ),
    makes=(LAYER,),
    run=find_layers,
)
