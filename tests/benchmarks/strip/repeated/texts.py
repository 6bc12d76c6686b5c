"""What annotations and operators say of a step of other work."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.strip.repeated.plans import Plan
from tests.benchmarks.strip.repeated.template import RealStep

WIDE = 1_000
"""Columns from which a matrix of one row is one of hidden states, of one request."""

_OF_TOKENS = frozenset({"aten::copy_", "aten::add", "aten::index_select", "aten::slice"})


def retitled(text: str, plan: Plan) -> str:
    """The annotation of a step in the form of the real one's."""
    prompts, tokens = len(plan.prompts), sum(plan.prompts)
    squares = sum(length**2 for length in plan.prompts)
    one = plan.generating
    if text.startswith("step["):
        if not plan.prompts:
            return f"step[DECODE bs={one}]"
        kind = "MIXED" if one else "EXTEND"
        return f"step[{kind} bs={plan.requests} toks={plan.tokens}]"
    if text.startswith("execute_context_"):
        context = f"({tokens}_{squares})" if prompts else "(0)"
        return f"execute_context_{prompts}{context}_generation_{one}({one})"
    before = one * plan.context
    return (
        f"execute_{plan.tokens}"
        f"_context_{prompts}(sq{tokens}sk{tokens}sqsq{squares}sqsk{squares})"
        f"_generation_{one}(sq{one}sk{before}sqsq{one}sqsk{before})"
    )


def shaped(dims: list[Any], operator: str, real: RealStep, plan: Plan) -> list[Any]:
    """The shapes of an operator's inputs, where these state tokens or requests."""
    return [_shaped(one, operator, real, plan) for one in dims]


def _shaped(dims: Any, operator: str, real: RealStep, plan: Plan) -> Any:
    if not dims or not all(isinstance(size, int) for size in dims):
        return dims
    first, *rest = dims
    if real.tokens == real.requests:
        # In a step of decode, either may be meant.
        meant = plan.tokens if operator in _OF_TOKENS else plan.requests
        return [{real.tokens: meant, real.tokens + 1: plan.requests + 1}.get(first, first), *rest]
    if first == real.requests and rest and rest[0] >= WIDE:
        return [plan.requests, *rest]
    return [plan.tokens if first == real.tokens else first, *rest]
