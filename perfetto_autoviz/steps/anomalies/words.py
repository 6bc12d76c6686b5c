"""What is abnormal, in words."""

from __future__ import annotations

from collections.abc import Sequence

from perfetto_autoviz.steps.anomalies.culprits import IDLE_TIME, Culprit

_OP_SHOWN = 60


def microseconds(ns: float, *, signed: bool = False) -> str:
    """A time in µs as short as it may be: ``5.2``, ``0.04``, ``1204``."""
    us = ns / 1_000
    digits = 0 if abs(us) >= 1_000 else 1 if abs(us) >= 1 else 2
    return f"{us:+.{digits}f}" if signed else f"{us:.{digits}f}"


def of_culprit(one: Culprit) -> str:
    """For instance ``idle before fused_moe +5.2 µs, normal 0.4 ± 0.2 µs``."""
    op = short(one.op)
    where = f" at position {one.position}" if one.position >= 0 else ""
    if one.kind == "missing":
        return f"{op} is missing{where}"
    if one.kind == "extra":
        return f"{op} is extra{where}, {microseconds(one.excess)} µs"
    if one.kind == "swapped":
        return f"{op} runs{where} instead of {short(one.instead or '')}"
    more = f"{microseconds(one.excess, signed=True)} µs"
    middle, spread = one.normal or 0.0, microseconds(one.spread or 0.0)
    if one.channel != IDLE_TIME:
        return f"{op} {more}, normal {microseconds(middle)} ± {spread} µs"
    if middle < 0:
        return (
            f"start of {op} {more}, normally {microseconds(-middle)} ± {spread} µs before the"
            " end of its predecessor"
        )
    return f"idle before {op} {more}, normal {microseconds(middle)} ± {spread} µs"


def of_run(
    what: str, dur: float, normal: float, group: str, odd: str, culprits: Sequence[Culprit]
) -> str:
    """A run in words: what was found, how long it took, and the first to blame.

    Args:
        what: what the test found, e.g. ``2.4 σ slow``.
        dur: duration in ns.
        normal: median duration of normal runs in ns.
        group: what it was compared with.
        odd: what deviates from the pattern; empty if nothing does.
        culprits: what is to blame, the most first.
    """
    excess = microseconds(dur - normal, signed=True)
    took = f"{what}: {microseconds(dur)} µs, {excess} µs to normal ({group})"
    return "; ".join([took, *([odd] if odd else []), *map(of_culprit, culprits[:1])])


def short(op: str) -> str:
    """A long operation cut in the middle, where its arguments are."""
    if len(op) <= _OP_SHOWN:
        return op
    half = (_OP_SHOWN - 1) // 2
    return f"{op[:half]}…{op[-half:]}"
