"""How vLLM annotates its steps: four forms, the newest with sums of lengths."""

from __future__ import annotations

import re

from perfetto_autoviz.steps.dialects.annotation import Annotation, Detail
from perfetto_autoviz.steps.dialects.form import (
    N,
    Pattern,
    by_requests,
    compiled,
)

_SUMS = r"((?:(?:sqsq|sqsk|sq|sk)\d{1,18})*)"
"""The sums of vLLM's longer form, e.g. ``sq32sk55086sqsq32sqsk55086``."""


def _vllm_new_cached(text: str, match: re.Match[str]) -> Annotation:
    """New requests are prefilled, cached ones generate."""
    return by_requests(text, "vllm", (int(match[1]), int(match[2])), (None, None))


def _vllm_context(text: str, match: re.Match[str]) -> Annotation:
    """Requests and tokens; the second number in the parentheses sums squared lengths."""
    sums = {"context_sqsq": match[3], "generation_sqsq": match[6]}
    return by_requests(
        text,
        "vllm",
        (int(match[1]), int(match[4])),
        (int(match[2]), int(match[5])),
        detail={key: int(value) for key, value in sums.items() if value is not None},
    )


def _vllm_detailed(text: str, match: re.Match[str]) -> Annotation:
    """Query lengths (sq), context lengths (sk), sums of sq*sq and sq*sk, per group."""
    context, generation = _sums(match[3]), _sums(match[5])
    detail: dict[str, Detail] = {"tokens": int(match[1])}
    detail |= {f"context_{key}": value for key, value in context.items()}
    detail |= {f"generation_{key}": value for key, value in generation.items()}
    return by_requests(
        text,
        "vllm",
        (int(match[2]), int(match[4])),
        (context.get("sq"), generation.get("sq")),
        detail=detail,
    )


_SUM = re.compile(r"(sqsq|sqsk|sq|sk)(\d{1,18})", re.ASCII)  # sq32sk55086sqsq32sqsk55086


def _sums(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in _SUM.findall(text)}


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "vllm new and cached",
        ("execute_new_",),
        compiled(rf"execute_new_{N}_cached_{N}"),
        _vllm_new_cached,
        ("execute_new_1_cached_7",),
    ),
    Pattern(
        "vllm context and generation",
        ("execute_context_",),
        compiled(rf"execute_context_{N}\({N}(?:_{N})?\)_generation_{N}\({N}(?:_{N})?\)"),
        _vllm_context,
        (
            "execute_context_2(6144)_generation_3(3)",
            "execute_context_1(888_788544)_generation_0(0)",
        ),
    ),
    Pattern(
        "vllm detailed",
        ("execute_",),
        compiled(rf"execute_{N}_context_{N}\({_SUMS}\)_generation_{N}\({_SUMS}\)"),
        _vllm_detailed,
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
            "execute_6147_context_2(sq6144sk7144sqsq18874368sqsk21946368)"
            "_generation_3(sq3sk3000sqsq3sqsk3000)",
        ),
    ),
)
