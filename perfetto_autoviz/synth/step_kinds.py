"""What steps that prefill run instead of what decode steps run.

The measured tables hold one step each; serving builds choose other attention kernels and other
matrix products for many tokens than for few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from perfetto_autoviz.synth.model import Model, Slot
from perfetto_autoviz.synth.names import libraries
from perfetto_autoviz.synth.variants import map_slots


@dataclass(frozen=True)
class Attention:
    """The attention of one build: the measured kernel, and one for each kind of step."""

    measured: str
    decode: str
    prefill: str


ATTENTIONS = (
    Attention(
        "paged_attention_ll4mi_QKV",
        "",
        "aiter::fmha_fwd_hd128_bf16_causal_rtz_group",
    ),
    Attention("kernel_unified_attention_2d", "", ""),
    Attention("kernel_unified_attention_3d", "", "kernel_unified_attention_2d"),
    Attention(
        "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKv",
        "",
        "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128PersistentContext",
    ),
    Attention(
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16MultiCtasKvCgaVarSeqQ8Kv128"
        "StaticSwapsAbForGen",
        "",
    ),
    Attention(
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausal",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausalP16VarSeqQ8Kv128"
        "StaticSwapsAbForGen",
        "",
    ),
)
"""By the start of the measured kernel's name; an empty name is the measured one."""

UNIFIED = "kernel_unified_attention"
"""Start of the names of kernels that prefill and decode requests together."""

SPLIT_REDUCTIONS = ("paged_attention_ll4mi_reduce", "reduce_segments", "splitKreduce")
"""Parts of names of reductions that many tokens make needless."""

PREFILL_PRODUCTS = {"amd": 6, "nvidia": 3}
"""By vendor, which of the libraries of matrix products many tokens take."""


def decode_model(model: Model) -> Model:
    """The model as steps of few tokens run it."""
    return map_slots(model, lambda slots: tuple(_attention(s, decode=True) for s in slots))


def prefill_model(model: Model, *, mixed: bool) -> Model:
    """The model as steps of many tokens run it.

    Args:
        model: as measured.
        mixed: whether some requests decode, in a second attention kernel.
    """

    def change(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
        kept = (s for s in slots if not any(part in s.name for part in SPLIT_REDUCTIONS))
        return tuple(
            _product(new, model.gpu.vendor) for s in kept for new in _attentions(s, mixed=mixed)
        )

    return map_slots(model, change)


def _attentions(slot: Slot, *, mixed: bool) -> tuple[Slot, ...]:
    prefill, decode = _attention(slot, decode=False), _attention(slot, decode=True)
    several = mixed and prefill.name != decode.name and not prefill.name.startswith(UNIFIED)
    return (prefill, decode) if several else (prefill,)


def _attention(slot: Slot, *, decode: bool) -> Slot:
    measured = slot.name.removeprefix("void ")
    for attention in ATTENTIONS:
        if measured.startswith(attention.measured):
            name = attention.decode if decode else attention.prefill
            return replace(slot, name=name or slot.name)
    return slot


def _product(slot: Slot, vendor: str) -> Slot:
    if slot.cls != "gemm":
        return slot
    return replace(slot, name=libraries("gemm")[PREFILL_PRODUCTS[vendor]][0])
