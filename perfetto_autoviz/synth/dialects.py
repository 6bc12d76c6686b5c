"""How serving frameworks write an engine step into a capture.

Each function turns one planned step into the texts of its annotations, outermost first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from perfetto_autoviz.synth.arrivals import StepPlan, Work

Dialect = Literal[
    "vllm-old",
    "vllm",
    "vllm-detailed",
    "vllm-squares",
    "sglang",
    "sglang-nested",
    "sglang-suffixed",
    "sglang-lower",
    "atom",
    "trtllm",
    "trtllm-old",
    "profiler-step",
    "none",
]

CONTEXTS_SHOWN = 3
"""Contexts that ATOM writes out before it counts the rest."""


def annotation_texts(plan: StepPlan, dialect: Dialect, graph_batch: int | None) -> tuple[str, ...]:
    """The annotations of a step, outermost first; none where the dialect writes none.

    Args:
        plan: the step.
        dialect: whose annotations.
        graph_batch: batch size of the replayed or captured graph, None without a graph.
    """
    if plan.kind == "capture":
        return _capture(dialect, graph_batch or plan.requests)
    return _WRITERS[dialect](plan, graph_batch)


def _capture(dialect: Dialect, batch: int) -> tuple[str, ...]:
    if dialect.startswith("vllm"):
        return (f"capture_{batch}_FULL",)  # capture_32_FULL
    if dialect.startswith("sglang"):
        return (f"capture_{batch}_DECODE",)  # capture_32_DECODE
    if dialect == "atom":
        return (f"capture_graph_bs_{batch}",)
    return ()


def _vllm_old(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``execute_new_1_cached_7``."""
    if plan.kind == "dummy":
        return ()
    return (f"execute_new_{plan.context.requests}_cached_{plan.generation.requests}",)


def _vllm(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``execute_context_2(6144)_generation_3(3)``."""
    if plan.kind == "dummy":
        return ()
    c, g = plan.context, plan.generation
    return (f"execute_context_{c.requests}({c.queries})_generation_{g.requests}({g.queries})",)


def _sums(work: Work) -> str:
    return f"sq{work.queries}sk{work.keys}sqsq{work.queries_squared}sqsk{work.queries_keys}"


def _vllm_detailed(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)``."""
    if plan.kind == "dummy":
        return ()
    c, g = plan.context, plan.generation
    text = f"context_{c.requests}({_sums(c)})_generation_{g.requests}({_sums(g)})"
    return (f"execute_{plan.tokens}_{text}",)


def _vllm_squares(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``execute_context_1(888_788544)_generation_0(0)``."""
    if plan.kind == "dummy":
        return ()
    c, g = plan.context, plan.generation
    squares = f"{c.queries}_{c.queries_squared}" if c.requests else "0"
    return (f"execute_context_{c.requests}({squares})_generation_{g.requests}({g.queries})",)


_SGLANG_MODES = {
    "prefill": "EXTEND",
    "decode": "DECODE",
    "mixed": "MIXED",
    "draft": "DRAFT_EXTEND_V2",
    "verify": "TARGET_VERIFY",
    "idle": "IDLE",
    "dummy": "IDLE",
}


def _sglang(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``step[EXTEND bs=2 toks=14721]``, ``step[DECODE bs=64]``, ``step[TARGET_VERIFY bs=4]``."""
    mode = _SGLANG_MODES[plan.phase]
    tokens = f" toks={plan.tokens}" if mode == "EXTEND" else ""
    requests = 0 if mode == "IDLE" else plan.requests
    return (f"step[{mode} bs={requests}{tokens}]",)


def _sglang_nested(plan: StepPlan, batch: int | None) -> tuple[str, ...]:
    """A patched build: ``step[DECODE bs=32]`` inside the detailed ``execute_32_…``."""
    return (*_vllm_detailed(plan, batch), *_sglang(plan, batch))


def _sglang_suffixed(plan: StepPlan, batch: int | None) -> tuple[str, ...]:
    """``step[DECODE bs=2 c_sq=0 c_sk=0 c_sqsq=0 c_sqsk=0 g_sq=2 g_sk=9 g_sqsq=2 g_sqsk=9]``.

    A mixed step also counts its requests: ``step[MIXED bs=3 c=1 g=2 c_sq=…]``.
    """
    c, g = plan.context, plan.generation
    counts = f" c={c.requests} g={g.requests}" if plan.phase == "mixed" else ""
    sums = "".join(
        f" {side}_sq={w.queries} {side}_sk={w.keys}"
        f" {side}_sqsq={w.queries_squared} {side}_sqsk={w.queries_keys}"
        for side, w in (("c", c), ("g", g))
    )
    return (f"{_sglang(plan, batch)[0][:-1]}{counts}{sums}]",)


def _sglang_lower(plan: StepPlan, batch: int | None) -> tuple[str, ...]:
    """``step[decode bs=64]``."""
    return (_sglang(plan, batch)[0].lower(),)


def _atom(plan: StepPlan, batch: int | None) -> tuple[str, ...]:
    """``prefill[bs=2 tok=14721 ctx=[7803, 6918]]``, ``decode[bs=117/128 tok=117 p=2 d=115]``.

    Without a graph the step is an ``eager_decode[…]``, a batch of nothing a ``dummy_…[…]``.
    """
    if plan.phase == "prefill":
        return (_atom_prefill(plan),)
    if plan.phase == "draft":
        return (f"draft[{plan.draft_index}/1 bs={plan.requests}]",)
    name = "decode" if batch else "eager_decode"
    if plan.kind == "dummy":
        name = f"dummy_{name}"
    sizes = f"bs={plan.requests}/{batch}" if batch else f"bs={plan.requests}"
    spec = f" spec={plan.tokens // plan.requests - 1}" if plan.phase == "verify" else ""
    return (f"{name}[{sizes} tok={plan.tokens} p=0 d={plan.requests}{spec}]",)


def _atom_prefill(plan: StepPlan) -> str:
    """``prefill[bs=9 tok=4096 ctx=[512, 384, 448]...+6]``."""
    lengths = plan.context.lengths
    shown = ", ".join(map(str, lengths[:CONTEXTS_SHOWN]))
    more = f"...+{len(lengths) - CONTEXTS_SHOWN}" if len(lengths) > CONTEXTS_SHOWN else ""
    return f"prefill[bs={plan.requests} tok={plan.tokens} ctx=[{shown}]{more}]"


def _trtllm(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs``."""
    return (f"[Executor] _forward_step {plan.index}: {_reqs(plan)}",)


def _trtllm_old(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``[Executor] _forward_step: 3 ctx reqs, 5 gen reqs``, before steps were numbered."""
    return (f"[Executor] _forward_step: {_reqs(plan)}",)


def _reqs(plan: StepPlan) -> str:
    return f"{plan.context.requests} ctx reqs, {plan.generation.requests} gen reqs"


def _profiler_step(plan: StepPlan, _: int | None) -> tuple[str, ...]:
    """``ProfilerStep#12``."""
    return (f"ProfilerStep#{plan.index}",)


def _nothing(_plan: StepPlan, _: int | None) -> tuple[str, ...]:
    return ()


_WRITERS: Mapping[Dialect, Callable[[StepPlan, int | None], tuple[str, ...]]] = {
    "vllm-old": _vllm_old,
    "vllm": _vllm,
    "vllm-detailed": _vllm_detailed,
    "vllm-squares": _vllm_squares,
    "sglang": _sglang,
    "sglang-nested": _sglang_nested,
    "sglang-suffixed": _sglang_suffixed,
    "sglang-lower": _sglang_lower,
    "atom": _atom,
    "trtllm": _trtllm,
    "trtllm-old": _trtllm_old,
    "profiler-step": _profiler_step,
    "none": _nothing,
}
