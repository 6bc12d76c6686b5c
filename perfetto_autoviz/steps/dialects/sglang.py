"""How SGLang annotates its steps: the forward mode, and counts."""

from __future__ import annotations

import re

from perfetto_autoviz.steps.dialects.annotation import Annotation, Detail, Phase
from perfetto_autoviz.steps.dialects.form import (
    FIELD,
    Pattern,
    compiled,
    drafted,
)

_SGLANG_PHASES: dict[str, Phase] = {
    "EXTEND": "prefill",
    "PREFILL": "prefill",
    "SPLIT_PREFILL": "prefill",
    "DECODE": "decode",
    "MIXED": "mixed",
    "IDLE": "idle",
    "TARGET_VERIFY": "verify",
    "VERIFY": "verify",
    "DRAFT": "draft",
    "DRAFT_DECODE": "draft",
    "DRAFT_EXTEND": "draft",
    "DRAFT_EXTEND_V2": "draft",
    "DUMMY_FIRST": "dummy",
}


def _sglang(text: str, match: re.Match[str]) -> Annotation:
    """Forward mode, requests and tokens; some builds add sums like vLLM's detailed ones."""
    mode = match[1].upper()
    phase = _SGLANG_PHASES.get(mode, "unknown")
    fields = {key.lower(): int(value) for key, value in FIELD.findall(match[2] + " " + match[3])}
    size, tokens = fields.pop("bs", None), fields.pop("toks", None)
    context, generation = _groups(phase, size, fields)
    context_tokens, generation_tokens = _tokens(phase, tokens, generation, fields)
    detail: dict[str, Detail] = {"mode": mode, **fields}
    if tokens is not None:
        detail["toks"] = tokens
    return Annotation(
        text=text,
        dialect="sglang",
        kind="dummy" if phase == "dummy" else "step",
        phase=phase,
        batch_size=size,
        context_requests=context,
        generation_requests=generation,
        context_tokens=context_tokens,
        generation_tokens=generation_tokens,
        speculative_tokens=(
            drafted(generation_tokens, generation or 0) if phase == "verify" else None
        ),
        detail=detail,
    )


def _groups(
    phase: Phase, size: int | None, fields: dict[str, int]
) -> tuple[int | None, int | None]:
    """Context and generation requests: one group is the whole batch, unless mixed."""
    if phase == "mixed":  # bs counts both groups, and only some builds say how many of each
        context, generation = fields.get("c"), fields.get("g")
        if size is not None and context is not None and generation is None:
            generation = size - context
        return context, generation
    if phase == "prefill":
        return size, 0
    if phase in ("decode", "verify", "draft"):
        return 0, size
    return (0, 0) if phase == "idle" else (None, None)


def _tokens(
    phase: Phase, tokens: int | None, generation: int | None, fields: dict[str, int]
) -> tuple[int | None, int | None]:
    """Context and generation tokens; the sums of the longer form are exact and win."""
    context_sum, generation_sum = fields.get("c_sq"), fields.get("g_sq")
    if phase == "prefill":
        return (tokens if context_sum is None else context_sum), 0
    if phase == "decode":  # this mode runs one token a request
        stated = tokens if generation_sum is None else generation_sum
        return 0, generation if stated is None else stated
    if phase in ("verify", "draft"):
        return 0, (tokens if generation_sum is None else generation_sum)
    if phase == "mixed":
        return context_sum, generation_sum
    return (0, 0) if phase == "idle" else (None, None)


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "sglang step",
        ("step[",),
        compiled(
            r"step\[([A-Z][A-Z0-9_]{0,40})((?: +\w{1,40}=[^\s\]=]{1,40})*) *\]"
            r"((?: +\w{1,40}=[^\s\]=]{1,40})*)",
            re.IGNORECASE,
        ),
        _sglang,
        (
            "step[EXTEND bs=2 toks=14721]",
            "step[DECODE bs=64]",
            "step[MIXED bs=62]",
            "step[TARGET_VERIFY bs=8]",
            "step[DRAFT_EXTEND_V2 bs=8]",
            "step[IDLE bs=0]",
            "step[decode bs=16]",
        ),
    ),
)
