"""What the kernels of a real step are in a step of other work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tests.benchmarks.strip.repeated.plans import Plan
from tests.benchmarks.strip.repeated.template import Activity, RealStep

# Kernels of decode, and what the same builds run for prompts; None where that is one kernel.
_PREFILLS = (
    ("kernel_unified_attention_3d", "kernel_unified_attention_2d"),
    ("reduce_segments", None),
    ("paged_attention_ll4mi_QKV", "_ZN5aiter35fmha_fwd_hd128_bf16_causal_rtz_groupE"),
    ("paged_attention_ll4mi_reduce", None),
    (
        "fmhaSm100f",
        "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128PersistentContext",
    ),
)
_DECODES = (
    (
        "fmhaSm100aKernel_",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ8Kv128PersistentSwapsMmaAb"
        "ForGeneration",
    ),
)
_EXPERTS = ("matmul_ogs", "moe_gemm", "bmm_")
_PRODUCTS = ("Cijk", "nvjet")
_MOVED = ("rotary", "rope", "topk", "routingIndicesHistogramScores")
_PER_REQUEST = ("kv_indices", "page_indices", "ArgMax", "alloc_decode")
_TILES = (
    (re.compile(r"_MT\d+x\d+x\d+_"), "_MT256x128x64_"),
    (re.compile(r"^(nvjet_\w*?_)\d+x\d+_"), r"\g<1>128x256_"),
)

MANY = 8
"""Times as many tokens from which matrix products take larger tiles."""

TOKENS_AT_ONCE = 12
"""Times as many tokens up to which a product takes no longer, as it reads the weights."""

LEAST_DUR = 300
"""Shortest kernel in ns."""


def step_of(real: RealStep, plan: Plan, *, second_stream: bool) -> list[Activity]:
    """The activities of a step, in the order of the real one's."""
    found = list(_activities(real, plan))
    if second_stream:
        found = [_moved(one) if one.part == 1 else one for one in found]
    return found


def _activities(real: RealStep, plan: Plan) -> Iterator[Activity]:
    prefills = real.tokens > real.requests
    renames = {(False, True): _PREFILLS, (True, False): _DECODES}
    table = renames.get((prefills, bool(plan.prompts)), ())
    ratio = plan.tokens / real.tokens
    for one in real.device:
        name = next((new for part, new in table if part in one.name), one.name)
        if name is None:
            continue
        if ratio >= MANY and plan.prompts:
            for pattern, larger in _TILES:
                name = pattern.sub(larger, name)
        factor = _factor(one, real, plan, ratio) if one.part == 1 else 1.0
        args = dict(one.event["args"])
        if "grid" in args:
            args["grid"] = _grid(one, real, plan)
        event = {**one.event, "name": name, "args": args}
        yield replace(one, event=event, dur=max(int(one.dur * factor), LEAST_DUR))


def _factor(one: Activity, real: RealStep, plan: Plan, ratio: float) -> float:
    """How many times as long a kernel of the layers takes."""
    if one.attends:
        longer = plan.generating * (plan.context / 1000) / real.requests
        return max(0.5 + 0.5 * longer if plan.generating else 0.0, ratio**0.8)
    if real.tokens > real.requests:
        return 0.25 + 0.75 * ratio
    if any(part in one.name for part in _EXPERTS):
        return min(0.25 + 0.75 * ratio, 0.88 + 0.12 * ratio)
    return max(0.94 + 0.06 * ratio, ratio / TOKENS_AT_ONCE)


def _grid(one: Activity, real: RealStep, plan: Plan) -> list[int]:
    first, *rest = one.event["args"]["grid"]
    if one.part == 2 or any(part in one.name for part in _PER_REQUEST):
        return [plan.requests if first == real.requests else first, *rest]
    if one.attends or any(part in one.name for part in (*_PRODUCTS, *_EXPERTS)) or first <= 1:
        return [first, *rest]
    return [max(1, round(first * plan.tokens / real.tokens)), *rest]


def _moved(one: Activity) -> Activity:
    if not any(part in one.name for part in _MOVED):
        return one
    process, thread = one.stream
    stream = (process, thread + SECOND)
    args = {**one.event["args"], "stream": thread + SECOND}
    return replace(one, stream=stream, event={**one.event, "tid": thread + SECOND, "args": args})


SECOND = 60
"""Number of the second stream above that of the first."""
