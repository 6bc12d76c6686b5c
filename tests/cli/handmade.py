"""A small capture by hand, with known numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.events import slice_event

LAYERS = 4
BATCH_SIZES = (8, 8, 16)
_NORM = "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)"
_GEMM = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_MT64x16x64"
# The kernels of a layer, and µs of each in the first step; every later step's take 1 µs more.
LAYER_KERNELS = (
    (_NORM, 2),
    (_GEMM, 10),
    ("kernel_unified_attention_2d", 5),
    (_GEMM, 8),
    (_NORM, 3),
    (_GEMM, 20),
    ("void vllm::act_and_mul_kernel<c10::BFloat16>(c10::BFloat16*)", 4),
    (_GEMM, 16),
)
_GAP = 1
_STEP_EVERY = 1000


def capture_events() -> list[dict[str, Any]]:
    """Decode steps, each one graph launch of identical layers, without overlaps."""
    events: list[dict[str, Any]] = []
    for step, size in enumerate(BATCH_SIZES):
        start, correlation = 10_000 + step * _STEP_EVERY, 100 + step
        name = f"execute_context_0(0)_generation_{size}({size})"
        events += [
            slice_event("user_annotation", name, 1, 1, start, 50),
            slice_event("cuda_runtime", "cudaGraphLaunch", 1, 1, start + 5, 20, correlation),
        ]
        at = start + 100
        for _ in range(LAYERS):
            for kernel, dur in LAYER_KERNELS:
                events.append(slice_event("kernel", kernel, 0, 7, at, dur + step, correlation))
                at += dur + step + _GAP
    return events


def write_capture(path: Path, **top_level: object) -> Path:
    """Writes the capture, with top-level members such as ``distributedInfo``."""
    path.write_text(json.dumps({**top_level, "traceEvents": capture_events()}))
    return path
