"""Two builds of a small model by hand, with known numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.events import slice_event

NORM = "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)"
GEMM = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_MT64x16x64"
ATTENTION = "kernel_unified_attention_2d"
ACTIVATION = "void vllm::act_and_mul_kernel<c10::BFloat16>(c10::BFloat16*)"
GATHER = "void vectorized_gather_kernel<16, long>(char*, char*, long*, int)"
SAMPLE = "void at::native::reduce_kernel<512, 1, ArgMaxOps<float> >(float)"

Layer = Sequence[tuple[str, int]]
"""Kernels of a layer and the µs that each takes."""

LAYER_A: Layer = (
    (NORM, 3), (GEMM, 10), (ATTENTION, 6), (GEMM, 8), (NORM, 3), (GEMM, 20), (ACTIVATION, 4),
    (GEMM, 16),
)  # fmt: skip
LAYER_B: Layer = (
    (NORM, 3), (GEMM, 10), ("flash_attn_fwd", 5), (GEMM, 8), (NORM, 3), (GEMM, 20),
    (ACTIVATION, 9), (GEMM, 16),
)  # fmt: skip
"""Another attention, 1 µs faster, and an activation that takes 5 µs more."""

LAYERS, STEPS, GAP = 4, 6, 1
_STEP_EVERY = 1000


def events(layer: Layer, *, steps: int = STEPS, slower: int = 0) -> list[dict[str, Any]]:
    """Decode steps, each one graph launch: a gather, the layers, an argmax; 1 µs between all.

    Args:
        layer: the kernels of each layer.
        steps: number of steps.
        slower: µs that each kernel takes longer.
    """
    found: list[dict[str, Any]] = []
    for step in range(steps):
        start, correlation = 10_000 + step * _STEP_EVERY, 100 + step
        name = "execute_context_0(0)_generation_8(8)"
        found.append(slice_event("user_annotation", name, 1, 1, start, 50))
        found.append(
            slice_event("cuda_runtime", "cudaGraphLaunch", 1, 1, start + 5, 20, correlation)
        )
        at = start + 100
        for kernel, dur in ((GATHER, 2), *layer * LAYERS, (SAMPLE, 7)):
            found.append(slice_event("kernel", kernel, 0, 7, at, dur + slower, correlation))
            at += dur + slower + GAP
    return found


def wall(layer: Layer) -> int:
    """The µs of a layer from its first start to its last end."""
    return sum(dur for _, dur in layer) + GAP * (len(layer) - 1)


def write(path: Path, layer: Layer, *, rank: int | None = None, **how: int) -> Path:
    """Writes a capture of one rank."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": 2}}
    path.write_text(json.dumps({**about, "traceEvents": events(layer, **how)}))
    return path
