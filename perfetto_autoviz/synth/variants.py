"""Models made of measured ones: sharded, on several streams, with other layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from perfetto_autoviz.synth.model import KernelClass, Model, Slot, StreamRole

SHARED_NS = (6_000, 2_500, 4_500)
"""The kernels of a shared expert of a decode batch: half the width of a layer's other products."""

MIN_SHARDED_NS = 4_000
"""Below this a kernel is bound by its launch, so tensor parallelism does not shorten it."""


def with_layers(model: Model, layers: int) -> Model:
    """The same model with another number of layers."""
    return replace(model, layers=layers)


def without_overlap(model: Model) -> Model:
    """The model without programmatic dependent launch: negative gaps become ordinary ones."""

    def apart(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
        gap = model.gpu.graph_gap_ns
        return tuple(replace(s, gap_ns=gap) if s.gap_ns < 0 else s for s in slots)

    return map_slots(model, apart)


def on_streams(model: Model, roles: Mapping[KernelClass, StreamRole]) -> Model:
    """The model with whole classes of kernels moved to another stream, e.g. all collectives."""

    def move(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
        return tuple(replace(s, stream=roles.get(s.cls, s.stream)) for s in slots)

    return map_slots(model, move)


def with_shared_expert(model: Model, gated: str, dense: str) -> Model:
    """The model with an expert for all tokens, which runs beside the chosen ones.

    It starts on a stream of its own with the routing, and the last kernel of the chosen experts
    waits for it. Kinds of layers without experts stay as they are.

    Args:
        model: the model; one that has a side stream comes back unchanged.
        gated: name of the kernel between its two products.
        dense: name of both products.
    """
    if "side" in model.gpu.streams:
        return model
    streams = {**model.gpu.streams, "side": max(model.gpu.streams.values()) + 8}
    expert = (
        Slot(dense, "gemm", SHARED_NS[0], model.gpu.graph_gap_ns, stream="side"),
        Slot(gated, "elementwise", SHARED_NS[1], model.gpu.graph_gap_ns, stream="side"),
        Slot(dense, "gemm", SHARED_NS[2], model.gpu.graph_gap_ns, stream="side"),
    )
    kinds = {kind: _beside_experts(slots, expert) for kind, slots in model.kinds.items()}
    return replace(model, gpu=replace(model.gpu, streams=streams), kinds=kinds)


def _beside_experts(slots: tuple[Slot, ...], expert: tuple[Slot, ...]) -> tuple[Slot, ...]:
    at = next((i for i, slot in enumerate(slots) if slot.cls == "moe_routing"), None)
    if at is None:
        return slots
    last = max(i for i, slot in enumerate(slots) if slot.cls in ("moe_routing", "moe_gemm"))
    joined = replace(slots[last], joins=True)
    return (*slots[:at], *expert, *slots[at:last], joined, *slots[last + 1 :])


def on_main_stream(model: Model, number: int | None = None) -> Model:
    """The model with what runs on the side moved to the main stream.

    Args:
        model: the model.
        number: which kernel of those of a layer to move; None moves all.
    """

    def move(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
        beside = [i for i, slot in enumerate(slots) if slot.stream == "side"]
        if number is not None:
            beside = beside[number : number + 1]
        return tuple(
            replace(slot, stream="main") if i in beside else slot for i, slot in enumerate(slots)
        )

    return map_slots(model, move)


def side_kernels(model: Model) -> int:
    """The most kernels that a layer has on the side stream."""
    return max(sum(slot.stream == "side" for slot in slots) for slots in model.kinds.values())


def tensor_parallel(model: Model, ranks: int, collective: Slot) -> Model:
    """The model sharded over ranks: heavy kernels shrink, a collective follows each half layer.

    A layer's attention half ends with its output projection, the last gemm before the second
    norm; its other half ends with the layer. Models that were measured sharded already have
    their collectives and come back unchanged.
    """
    if ranks == 1 or any(s.cls == "communication" for k in model.kinds.values() for s in k):
        return model

    def shard(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
        heavy = ("gemm", "moe_gemm", "attention")
        return tuple(
            replace(s, dur_ns=max(MIN_SHARDED_NS, s.dur_ns // ranks)) if s.cls in heavy else s
            for s in slots
        )

    sharded = map_slots(model, shard)
    kinds = {kind: _with_collectives(slots, collective) for kind, slots in sharded.kinds.items()}
    return replace(sharded, kinds=kinds)


def _with_collectives(slots: tuple[Slot, ...], collective: Slot) -> tuple[Slot, ...]:
    attention = next(i for i, s in enumerate(slots) if s.cls == "attention")
    output = next(i for i in range(attention, len(slots)) if slots[i].cls == "gemm")
    end = output + 1
    while slots[end].cls == "reduce":
        end += 1
    return (*slots[:end], collective, *slots[end:], collective)


def map_slots(model: Model, change: Callable[[tuple[Slot, ...]], tuple[Slot, ...]]) -> Model:
    """The model with ``change`` applied to every part and every kind of layer."""
    return replace(
        model,
        prologue=change(model.prologue),
        head=change(model.head),
        kinds={kind: change(slots) for kind, slots in model.kinds.items()},
        tail=change(model.tail),
        epilogue=change(model.epilogue),
    )
