"""The forms of annotations: one table of patterns, each beside texts it was made for.

A form that no pattern here accepts is no step annotation: compiled-graph calls,
collectives, optimizer and Python names all give None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfetto_autoviz.steps.dialects.annotation import (
    Annotation,
    Detail,
    Dialect,
    Phase,
    phase_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_N = r"(\d{1,18})"
"""A count. Bounded so that every one fits a 64-bit column."""

_SUMS = r"((?:(?:sqsq|sqsk|sq|sk)\d{1,18})*)"
"""The sums of vLLM's longer form, e.g. ``sq32sk55086sqsq32sqsk55086``."""

_LONGEST = 4096
"""No framework writes a longer annotation; anything longer is not looked at."""


@dataclass(frozen=True)
class Pattern:
    """One form of annotation.

    Attributes:
        name: what the form is called here.
        prefixes: lower-case beginnings; every accepted text has one of them, whatever
            its case.
        expression: matches the whole text.
        build: makes the annotation of a match, or None where it lacks what all of its form have.
        examples: real texts of this form.
    """

    name: str
    prefixes: tuple[str, ...]
    expression: re.Pattern[str]
    build: Callable[[str, re.Match[str]], Annotation | None]
    examples: tuple[str, ...]


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _drafted(tokens: int | None, requests: int) -> int | None:
    """Draft tokens per request, where every request has the same number of them."""
    if not requests or tokens is None or tokens <= requests or tokens % requests:
        return None
    return tokens // requests - 1


def _requests(
    text: str,
    dialect: Dialect,
    requests: tuple[int, int],
    tokens: tuple[int | None, int | None],
    *,
    step_number: int | None = None,
    detail: dict[str, Detail] | None = None,
) -> Annotation:
    """A step told by its (context, generation) requests and tokens."""
    context, generation = requests
    return Annotation(
        text=text,
        dialect=dialect,
        phase=phase_of(context, generation),
        batch_size=context + generation,
        context_requests=context,
        generation_requests=generation,
        context_tokens=tokens[0],
        generation_tokens=tokens[1],
        speculative_tokens=_drafted(tokens[1], generation),
        step_number=step_number,
        detail=detail or {},
    )


# --- vLLM ------------------------------------------------------------------------------


def _vllm_new_cached(text: str, match: re.Match[str]) -> Annotation:
    """New requests are prefilled, cached ones generate."""
    return _requests(text, "vllm", (int(match[1]), int(match[2])), (None, None))


def _vllm_context(text: str, match: re.Match[str]) -> Annotation:
    """Requests and tokens; the second number in the parentheses sums squared lengths."""
    sums = {"context_sqsq": match[3], "generation_sqsq": match[6]}
    return _requests(
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
    return _requests(
        text,
        "vllm",
        (int(match[2]), int(match[4])),
        (context.get("sq"), generation.get("sq")),
        detail=detail,
    )


_SUM = re.compile(r"(sqsq|sqsk|sq|sk)(\d{1,18})", re.ASCII)  # sq32sk55086sqsq32sqsk55086


def _sums(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in _SUM.findall(text)}


def _diffusion(text: str, match: re.Match[str]) -> Annotation:
    """One image or more, generated whole."""
    return Annotation(
        text=text,
        dialect="diffusion",
        kind="generation",
        batch_size=int(match[1]),
        detail={"width": int(match[2]), "height": int(match[3])},
    )


# --- graph captures --------------------------------------------------------------------

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


def _atom_capture(text: str, match: re.Match[str]) -> Annotation:
    return Annotation(text, "atom", kind="capture", graph_batch_size=int(match[1]))


# --- SGLang ----------------------------------------------------------------------------

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

_FIELD = re.compile(r"(\w+)=(\d{1,18})(?![\w/])", re.ASCII)  # bs=2 toks=14721 c_sq=14721


def _sglang(text: str, match: re.Match[str]) -> Annotation:
    """Forward mode, requests and tokens; some builds add sums like vLLM's detailed ones."""
    mode = match[1].upper()
    phase = _SGLANG_PHASES.get(mode, "unknown")
    fields = {key.lower(): int(value) for key, value in _FIELD.findall(match[2] + " " + match[3])}
    size, tokens = fields.pop("bs", None), fields.pop("toks", None)
    context, generation = _sglang_requests(phase, size, fields)
    context_tokens, generation_tokens = _sglang_tokens(phase, tokens, generation, fields)
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
            _drafted(generation_tokens, generation or 0) if phase == "verify" else None
        ),
        detail=detail,
    )


def _sglang_requests(
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


def _sglang_tokens(
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


# --- ATOM ------------------------------------------------------------------------------

_ATOM_BATCH = re.compile(r"\bbs=(\d{1,18})(?:/(\d{1,18}))?", re.ASCII)  # bs=117/128
_ATOM_CONTEXTS = re.compile(  # ctx=[7803, 6918] and ctx=[1, 2, 3]...+4 and ctx=7803
    r"\bctx=(?:\[([\d, ]*)\](?:\.\.\.\+(\d{1,18}))?|(\d{1,18}))", re.ASCII
)


def _atom_fields(body: str) -> tuple[int | None, int | None, dict[str, int]]:
    """Real batch size, graph batch size, and the other numbers."""
    batch = _ATOM_BATCH.search(body)
    fields = {key: int(value) for key, value in _FIELD.findall(_ATOM_CONTEXTS.sub("", body))}
    fields.pop("bs", None)
    if batch is None:
        return None, None, fields
    return int(batch[1]), _number(batch[2]), fields


def _atom_contexts(body: str) -> dict[str, Detail]:
    """Context lengths; of many, only the first few are written, and how many are not."""
    match = _ATOM_CONTEXTS.search(body)
    if match is None:
        return {}
    lengths = tuple(int(n) for n in re.findall(r"\d{1,18}", match[1] or match[3] or ""))
    detail: dict[str, Detail] = {"ctx": lengths}
    if match[2]:
        detail["ctx_left_out"] = int(match[2])
    return detail


def _atom_step(text: str, match: re.Match[str]) -> Annotation:
    """A forward pass; ``p`` and ``d`` count requests in prefill and decode."""
    dummy, eager, word = bool(match[1]), bool(match[2]), match[3].lower()
    size, graph, fields = _atom_fields(match[4])
    tokens = fields.pop("tok", None)
    if word == "prefill":
        context, generation = size, (None if size is None else 0)
    else:
        context = fields.pop("p", 0)
        generation = fields.pop("d", None if size is None else size - context)
    detail: dict[str, Detail] = {**fields, **_atom_contexts(match[4])}
    if tokens is not None:
        detail["tok"] = tokens
    if eager:
        detail["eager"] = 1
    phase: Phase = "prefill" if word == "prefill" else ("mixed" if context else "decode")
    if word == "decode" and graph is None and not eager:
        graph = size  # a graph that fits exactly is not written as real/graph
    return Annotation(
        text=text,
        dialect="atom",
        kind="dummy" if dummy else "step",
        phase="dummy" if dummy else phase,
        batch_size=size,
        context_requests=context,
        generation_requests=generation,
        context_tokens=tokens if phase == "prefill" else (0 if phase == "decode" else None),
        generation_tokens=tokens if phase == "decode" else (0 if phase == "prefill" else None),
        graph_batch_size=graph,
        speculative_tokens=fields.get("spec"),
        detail=detail,
    )


def _atom_draft(text: str, match: re.Match[str]) -> Annotation | None:
    """One pass of the drafter: pass i of k where it takes several."""
    size, graph, fields = _atom_fields(match[4])
    if size is None:
        return None
    detail: dict[str, Detail] = {"drafter": match[1].lower(), **fields}
    if match[2] is not None:
        detail |= {"pass": int(match[2]), "passes": int(match[3])}
    return Annotation(
        text=text,
        dialect="atom",
        phase="draft",
        batch_size=size,
        context_requests=0,
        generation_requests=size,
        generation_tokens=fields.get("tok"),
        graph_batch_size=graph,
        detail=detail,
    )


# --- TensorRT-LLM and torch.profiler ---------------------------------------------------


def _tensorrt_llm(text: str, match: re.Match[str]) -> Annotation:
    return _requests(
        text,
        "tensorrt_llm",
        (int(match[2]), int(match[4])),
        (_number(match[3]), None),
        step_number=_number(match[1]),
    )


def _profiler_step(text: str, match: re.Match[str]) -> Annotation:
    return Annotation(text, "torch_profiler", step_number=int(match[1]))


def _compile(expression: str, flags: re.RegexFlag = re.ASCII) -> re.Pattern[str]:
    return re.compile(expression, flags | re.ASCII)


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "vllm new and cached",
        ("execute_new_",),
        _compile(rf"execute_new_{_N}_cached_{_N}"),
        _vllm_new_cached,
        ("execute_new_1_cached_7",),
    ),
    Pattern(
        "vllm context and generation",
        ("execute_context_",),
        _compile(rf"execute_context_{_N}\({_N}(?:_{_N})?\)_generation_{_N}\({_N}(?:_{_N})?\)"),
        _vllm_context,
        (
            "execute_context_2(6144)_generation_3(3)",
            "execute_context_1(888_788544)_generation_0(0)",
        ),
    ),
    Pattern(
        "vllm detailed",
        ("execute_",),
        _compile(rf"execute_{_N}_context_{_N}\({_SUMS}\)_generation_{_N}\({_SUMS}\)"),
        _vllm_detailed,
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
            "execute_6147_context_2(sq6144sk7144sqsq18874368sqsk21946368)"
            "_generation_3(sq3sk3000sqsq3sqsk3000)",
        ),
    ),
    Pattern(
        "diffusion",
        ("execute_diffusion_",),
        _compile(rf"execute_diffusion_{_N}_{_N}x{_N}"),
        _diffusion,
        ("execute_diffusion_1_1024x1024", "execute_diffusion_1_0x0"),
    ),
    Pattern(
        "atom graph capture",
        ("capture_graph_bs_",),
        _compile(rf"capture_graph_bs_{_N}"),
        _atom_capture,
        ("capture_graph_bs_128",),
    ),
    Pattern(
        "graph capture",
        ("capture_",),
        _compile(rf"capture_{_N}(_draft)?_([A-Z][A-Z0-9_]{{0,40}})"),
        _capture,
        ("capture_32_FULL", "capture_8_draft_FULL", "capture_32_DECODE", "capture_16_PIECEWISE"),
    ),
    Pattern(
        "sglang step",
        ("step[",),
        _compile(
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
    Pattern(
        "atom step",
        tuple(
            f"{dummy}{word}["
            for dummy in ("", "dummy_")
            for word in ("prefill", "decode", "eager_decode")
        ),
        _compile(r"(dummy_)?(eager_)?(prefill|decode)\[(bs=[^\n]*)\]"),
        _atom_step,
        (
            "prefill[bs=2 tok=14721 ctx=[7803, 6918]]",
            "prefill[bs=7 tok=20000 ctx=[7803, 6918, 100]...+4]",
            "decode[bs=117/128 tok=117 p=2 d=115 spec=3 tbo=1]",
            "eager_decode[bs=300 tok=300 ctx=[1024, 1024, 1024]...+297]",
            "dummy_decode[bs=1 tok=1 d=1]",
            "dummy_eager_decode[bs=1 tok=1 ctx=1]",
            "dummy_prefill[bs=1 tok=8192 ctx=8192]",
        ),
    ),
    Pattern(
        "atom draft",
        ("draft[", "draft_kv[", "dspark[", "dspark_sched[", "propose_"),
        _compile(
            rf"(draft|draft_kv|dspark|dspark_sched|propose_\w{{1,40}})\[(?:{_N}/{_N}\b)?([^\n]*)\]"
        ),
        _atom_draft,
        (
            "draft[0/3 bs=32]",
            "dspark[bs=32 T=4]",
            "propose_eagle[0/3 tok=4 bs=1]",
            "propose_dspark[bs=44/44 T=8 graph]",
            "draft_kv[bs=32 tok=128]",
        ),
    ),
    Pattern(
        "tensorrt-llm step",
        ("[executor] _forward_step", "_forward_step"),
        _compile(
            rf"(?:\[Executor\] )?_forward_step(?: {_N})?: {_N} ctx reqs,"
            rf"(?: {_N} ctx tokens,)? {_N} gen reqs"
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
        _compile(rf"ProfilerStep#{_N}"),
        _profiler_step,
        ("ProfilerStep#134",),
    ),
)

candidate_prefixes: tuple[str, ...] = tuple(
    dict.fromkeys(prefix for pattern in PATTERNS for prefix in pattern.prefixes)
)
"""Lower-case beginnings: what :func:`parse_annotation` accepts begins with one of them,
whatever its case. They select the few texts worth parsing among a capture's many."""

_LONGEST_PREFIX = max(map(len, candidate_prefixes))


def parse_annotation(text: str) -> Annotation | None:
    """Reads one annotation.

    Args:
        text: the annotation as recorded.

    Returns:
        The annotation, or None for a text that is no step annotation.
    """
    if len(text) > _LONGEST:
        return None
    start = text[:_LONGEST_PREFIX].lower()
    if not start.startswith(candidate_prefixes):
        return None
    for pattern in PATTERNS:
        if start.startswith(pattern.prefixes):
            match = pattern.expression.fullmatch(text)
            if match is not None:
                return pattern.build(text, match)
    return None
