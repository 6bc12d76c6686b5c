"""What the synthesiser knows of a model: its kernels in order, with durations and gaps.

The tables in ``models.json`` were measured on real captures: for every position of a layer
the kernel's name, its median duration and the median gap before it over all layers of one
step. Device properties and runtime versions are those of the same captures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from perfetto_autoviz.errors import UsageError

KernelClass = Literal[
    "gemm",
    "attention",
    "norm",
    "elementwise",
    "reduce",
    "moe_gemm",
    "moe_routing",
    "communication",
    "copy",
    "sampling",
]
Category = Literal["kernel", "gpu_memcpy", "gpu_memset"]
StreamRole = Literal["main", "communication", "copy", "side"]


@dataclass(frozen=True)
class Variant:
    """What stands at a position in layer 0, where it differs from the other layers."""

    name: str
    dur_ns: int


@dataclass(frozen=True)
class Slot:
    """One position of the kernel sequence.

    Attributes:
        name: kernel name as the profiler writes it.
        cls: class that decides noise and scaling.
        dur_ns: median duration in ns under the model's base load.
        gap_ns: median time from the predecessor's end on the stream to this start, in ns;
            negative where programmatic dependent launch lets kernels overlap.
        category: the event's category.
        stream: the role of the stream it runs on.
        rows: whether its work grows with the step's tokens or with its requests.
        op: the operator that launches it in eager mode, if any.
        dims: the operator's ``Input Dims``; ``T`` stands for tokens, ``R`` for requests.
        api: the runtime or driver call that launches it in eager mode.
        resources: grid, block, registers, shared memory, occupancy and bytes, as far as the
            profiler recorded them; ``T`` and ``R`` in a grid as in ``dims``.
        first: what stands here in layer 0, or None for the same as elsewhere.
        skip_first: whether layer 0 has nothing here.
        joins: whether it waits for the side stream, beside which the main one runs on.
    """

    name: str
    cls: KernelClass
    dur_ns: int
    gap_ns: int
    category: Category = "kernel"
    stream: StreamRole = "main"
    rows: Literal["tokens", "requests"] = "tokens"
    op: str | None = None
    dims: tuple[Any, ...] = ()
    api: str | None = None
    resources: Mapping[str, Any] = field(default_factory=dict)
    first: Variant | None = None
    skip_first: bool = False
    joins: bool = False


@dataclass(frozen=True)
class BaseLoad:
    """The load under which a model's durations were measured.

    Attributes:
        tokens: tokens of the step.
        requests: requests of the step.
        kv_tokens: cached tokens that decoding requests attend to, summed.
        context_work: sum over prefilled requests of new tokens times attended tokens.
    """

    tokens: int
    requests: int
    kv_tokens: int
    context_work: int


@dataclass(frozen=True)
class Gpu:
    """A device and the profiler that records it.

    Attributes:
        vendor: ``amd`` or ``nvidia``; decides API names and kernel arguments.
        properties: one entry of ``deviceProperties``, without its id.
        versions: runtime versions that the profiler writes at the top level.
        quantum_ns: resolution of the device timestamps in ns.
        streams: stream number by role.
        graph_gap_ns: gap between two kernels of a replayed graph without overlap, in ns.
    """

    vendor: Literal["amd", "nvidia"]
    properties: Mapping[str, Any]
    versions: Mapping[str, Any]
    quantum_ns: int
    streams: Mapping[StreamRole, int]
    graph_gap_ns: int


@dataclass(frozen=True)
class Model:
    """A model on a device: the kernels of one step in order.

    Attributes:
        name: e.g. ``qwen3-8b-mi300x``.
        gpu: what it runs on.
        architecture: class name of the model, as python frames show it.
        layer_module: class name of one layer.
        base: the load of the measured step.
        layers: number of layers.
        prologue: launched one by one before the model: copies and metadata.
        head: before the first layer, inside the graph.
        kinds: the positions of each kind of layer.
        pattern: kinds that layers take in turn.
        tail: after the last layer, inside the graph.
        epilogue: launched one by one after the model: logits and sampling.
    """

    name: str
    gpu: Gpu
    architecture: str
    layer_module: str
    base: BaseLoad
    layers: int
    prologue: tuple[Slot, ...]
    head: tuple[Slot, ...]
    kinds: Mapping[str, tuple[Slot, ...]]
    pattern: tuple[str, ...]
    tail: tuple[Slot, ...]
    epilogue: tuple[Slot, ...]

    def kind_of(self, layer: int) -> str:
        """The kind of a layer by its index."""
        return self.pattern[layer % len(self.pattern)]


_AMD_PROPERTIES = {
    "name": "AMD Instinct MI300X",
    "totalGlobalMem": 206141652992,
    "computeMajor": 9,
    "computeMinor": 4,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 131072,
    "warpSize": 64,
    "sharedMemPerBlock": 65536,
    "numSms": 304,
    "maxSharedMemoryPerMultiProcessor": 65536,
}
_NVIDIA_PROPERTIES = {
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "warpSize": 32,
    "sharedMemPerBlock": 49152,
    "numSms": 148,
    "regsPerMultiprocessor": 65536,
    "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
}

GPUS: Mapping[str, Gpu] = {
    "mi300x": Gpu(
        vendor="amd",
        properties=_AMD_PROPERTIES,
        versions={
            "roctracer_version": 4.1,
            "hip_runtime_version": 70253211,
            "hip_driver_version": 70253211,
        },
        quantum_ns=40,
        streams={"main": 0, "communication": 5, "copy": 2},
        graph_gap_ns=1,
    ),
    "b200": Gpu(
        vendor="nvidia",
        properties={
            "name": "NVIDIA B200",
            "totalGlobalMem": 191503138816,
            "computeMajor": 10,
            "computeMinor": 0,
            **_NVIDIA_PROPERTIES,
        },
        versions={
            "cupti_version": 28,
            "cuda_runtime_version": 12090,
            "cuda_driver_version": 13000,
        },
        quantum_ns=32,
        streams={"main": 7, "communication": 27, "copy": 31},
        graph_gap_ns=900,
    ),
    "b300": Gpu(
        vendor="nvidia",
        properties={
            "name": "NVIDIA B300 SXM6 AC",
            "totalGlobalMem": 287416123392,
            "computeMajor": 10,
            "computeMinor": 3,
            **_NVIDIA_PROPERTIES,
        },
        versions={
            "cupti_version": 130000,
            "cuda_runtime_version": 13000,
            "cuda_driver_version": 13000,
        },
        quantum_ns=32,
        streams={"main": 13, "communication": 29, "copy": 37},
        graph_gap_ns=900,
    ),
}
"""Devices by short name."""

_RESOURCES = ("grid", "block", "regs", "smem", "occupancy", "bytes")


@cache
def load_model(name: str) -> Model:
    """A measured model by name.

    Raises:
        UsageError: no such model.
    """
    table = _table()
    if name not in table:
        raise UsageError(f"no model {name!r} to synthesise; choose one of {', '.join(table)}")
    raw = table[name]
    return Model(
        name=name,
        gpu=GPUS[raw["gpu"]],
        architecture=raw["architecture"],
        layer_module=raw["layer_module"],
        base=BaseLoad(**raw["base"]),
        layers=raw["layers"],
        prologue=_slots(raw["prologue"]),
        head=_slots(raw["head"]),
        kinds={kind: _slots(slots) for kind, slots in raw["kinds"].items()},
        pattern=tuple(raw["pattern"]),
        tail=_slots(raw["tail"]),
        epilogue=_slots(raw["epilogue"]),
    )


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = files("perfetto_autoviz.synth").joinpath("models.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def _slots(raw: Sequence[Mapping[str, Any]]) -> tuple[Slot, ...]:
    return tuple(_slot(entry) for entry in raw)


def _slot(raw: Mapping[str, Any]) -> Slot:
    first = raw.get("first")
    return Slot(
        name=raw["name"],
        cls=raw["class"],
        dur_ns=round(raw["dur"] * 1000),
        gap_ns=round(raw["gap"] * 1000),
        category=raw.get("cat", "kernel"),
        rows=raw.get("rows", "tokens"),
        op=raw.get("op"),
        dims=tuple(raw.get("dims") or ()),
        api=raw.get("api"),
        resources={key: raw[key] for key in _RESOURCES if raw.get(key) is not None},
        first=Variant(first["name"], round(first["dur"] * 1000)) if first else None,
        skip_first="first" in raw and first is None,
    )
