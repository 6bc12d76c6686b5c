"""Annotations of one form each: graph captures, diffusion, TensorRT-LLM, torch.profiler."""

from __future__ import annotations

import re

from perfetto_autoviz.steps.dialects.annotation import Annotation, Detail
from perfetto_autoviz.steps.dialects.form import (
    N,
    Pattern,
    by_requests,
    compiled,
    number,
)

_SGLANG_MODES = frozenset({"DECODE", "EXTEND", "MIXED", "IDLE", "TARGET_VERIFY", "DRAFT_EXTEND"})


def _capture(text: str, match: re.Match[str]) -> Annotation:
    """The recording of a graph for one batch size; vLLM names the graph, SGLang the mode."""
    mode = match[3].upper()
    detail: dict[str, Detail] = {"mode": mode}
    if match[2]:
        detail["draft"] = 1
    return Annotation(
        text=text,
        dialect="sglang" if mode.startswith(tuple(_SGLANG_MODES)) else "vllm",
        kind="capture",
        graph_batch_size=int(match[1]),
        detail=detail,
    )


def _diffusion(text: str, match: re.Match[str]) -> Annotation:
    """One image or more, generated whole."""
    return Annotation(
        text=text,
        dialect="diffusion",
        kind="generation",
        batch_size=int(match[1]),
        detail={"width": int(match[2]), "height": int(match[3])},
    )


def _tensorrt_llm(text: str, match: re.Match[str]) -> Annotation:
    return by_requests(
        text,
        "tensorrt_llm",
        (int(match[2]), int(match[4])),
        (number(match[3]), None),
        step_number=number(match[1]),
    )


def _profiler_step(text: str, match: re.Match[str]) -> Annotation:
    return Annotation(text, "torch_profiler", step_number=int(match[1]))


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "diffusion",
        ("execute_diffusion_",),
        compiled(rf"execute_diffusion_{N}_{N}x{N}"),
        _diffusion,
        ("execute_diffusion_1_1024x1024", "execute_diffusion_1_0x0"),
    ),
    Pattern(
        "graph capture",
        ("capture_",),
        compiled(rf"capture_{N}(_draft)?_([A-Z][A-Z0-9_]{{0,40}})"),
        _capture,
        ("capture_32_FULL", "capture_8_draft_FULL", "capture_32_DECODE", "capture_16_PIECEWISE"),
    ),
    Pattern(
        "tensorrt-llm step",
        ("[executor] _forward_step", "_forward_step"),
        compiled(
            rf"(?:\[Executor\] )?_forward_step(?: {N})?: {N} ctx reqs,"
            rf"(?: {N} ctx tokens,)? {N} gen reqs"
        ),
        _tensorrt_llm,
        (
            "[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs",
            "[Executor] _forward_step: 3 ctx reqs, 5 gen reqs",
            "_forward_step 12: 3 ctx reqs, 5 gen reqs",
            "[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs",
        ),
    ),
    Pattern(
        "torch profiler step",
        ("profilerstep#",),
        compiled(rf"ProfilerStep#{N}"),
        _profiler_step,
        ("ProfilerStep#134",),
    ),
)
