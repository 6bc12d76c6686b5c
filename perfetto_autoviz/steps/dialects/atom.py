"""How ATOM annotates its steps, drafts and graph captures."""

from __future__ import annotations

import re

from perfetto_autoviz.steps.dialects.annotation import Annotation, Detail, Phase
from perfetto_autoviz.steps.dialects.form import (
    FIELD,
    N,
    Pattern,
    compiled,
    number,
)


def _atom_capture(text: str, match: re.Match[str]) -> Annotation:
    return Annotation(text, "atom", kind="capture", graph_batch_size=int(match[1]))


_ATOM_BATCH = re.compile(r"\bbs=(\d{1,18})(?:/(\d{1,18}))?", re.ASCII)  # bs=117/128
_ATOM_CONTEXTS = re.compile(  # ctx=[7803, 6918] and ctx=[1, 2, 3]...+4 and ctx=7803
    r"\bctx=(?:\[([\d, ]*)\](?:\.\.\.\+(\d{1,18}))?|(\d{1,18}))", re.ASCII
)


def _atom_fields(body: str) -> tuple[int | None, int | None, dict[str, int]]:
    """Real batch size, graph batch size, and the other numbers."""
    batch = _ATOM_BATCH.search(body)
    fields = {key: int(value) for key, value in FIELD.findall(_ATOM_CONTEXTS.sub("", body))}
    fields.pop("bs", None)
    if batch is None:
        return None, None, fields
    return int(batch[1]), number(batch[2]), fields


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
    context, generation = _atom_requests(word, size or 0, fields)
    phase: Phase = "mixed" if context and generation else ("prefill" if context else "decode")
    if word == "decode" and graph is None and not eager:
        graph = size  # a graph that fits exactly is not written as real/graph
    detail: dict[str, Detail] = {**fields, **_atom_contexts(match[4])}
    if tokens is not None:
        detail["tok"] = tokens
    if eager:
        detail["eager"] = 1
    whole = {"prefill": (tokens, 0), "decode": (0, tokens), "mixed": (None, None)}[phase]
    return Annotation(
        text=text,
        dialect="atom",
        kind="dummy" if dummy else "step",
        phase="dummy" if dummy else phase,
        batch_size=size,
        context_requests=context,
        generation_requests=generation,
        context_tokens=fields.get("c_sq", whole[0]),
        generation_tokens=fields.get("g_sq", whole[1]),
        graph_batch_size=graph,
        speculative_tokens=fields.get("spec"),
        detail=detail,
    )


def _atom_requests(word: str, size: int, fields: dict[str, int]) -> tuple[int, int]:
    """Requests in prefill and in decode; a graph may run both, and then says so."""
    if word == "prefill":
        return size, 0
    context = fields.pop("p", 0)
    return context, fields.pop("d", size - context)


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


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "atom graph capture",
        ("capture_graph_bs_",),
        compiled(rf"capture_graph_bs_{N}"),
        _atom_capture,
        ("capture_graph_bs_128",),
    ),
    Pattern(
        "atom step",
        tuple(
            f"{dummy}{word}["
            for dummy in ("", "dummy_")
            for word in ("prefill", "decode", "eager_decode")
        ),
        compiled(r"(dummy_)?(eager_)?(prefill|decode)\[(bs=[^\n]*)\]"),
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
        compiled(
            rf"(draft|draft_kv|dspark|dspark_sched|propose_\w{{1,40}})\[(?:{N}/{N}\b)?([^\n]*)\]"
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
)
