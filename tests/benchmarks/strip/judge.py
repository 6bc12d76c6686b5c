"""What a stripped capture gives, judged by the truth of the synthesiser."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import Truth
from perfetto_autoviz.synth.truth import TrueIteration

Ints = NDArray[np.int64]

TOLERANCE = 1
"""Kernels by which each boundary of a step may be off."""

PREFILLING = ("prefill", "mixed")

_STEPS = """
SELECT iteration.id, iteration.evidence, min(member.seq) AS first, phase.phase AS phase
FROM autoviz_iteration AS iteration
JOIN autoviz_iteration_kernel AS member ON member.iteration_id = iteration.id
LEFT JOIN autoviz_phase AS phase ON phase.iteration_id = iteration.id
WHERE iteration.is_real
  AND iteration.id NOT IN (
    SELECT parent_id FROM autoviz_iteration WHERE parent_id IS NOT NULL)
GROUP BY iteration.id ORDER BY first
"""

_MEMBERS = "SELECT iteration_id, seq FROM autoviz_iteration_kernel"

_WINDOWS = "SELECT mode, ts, ts + dur AS ends FROM autoviz_steady_window"

Span = tuple[int, int]


def steady_windows(session: Session) -> dict[str, Span]:
    """Start and end in ns of the windows of steady state by mode."""
    rows = session.query(_WINDOWS).itertuples(index=False)
    return {str(mode): (int(ts), int(ends)) for mode, ts, ends in rows}


def overlap(one: Span, other: Span | None) -> float:
    """Common part of two spans, of all that one of them covers."""
    if other is None:
        return 0.0
    common = max(min(one[1], other[1]) - max(one[0], other[0]), 0)
    return common / (max(one[1], other[1]) - min(one[0], other[0]))


def innermost_steps(session: Session) -> pd.DataFrame:
    """The real steps that hold no others: id, evidence, first activity and phase, in order."""
    return session.query(_STEPS)


def at_one_rotation(first: Ints, true: Ints) -> int:
    """Steps that start as many kernels late as most do; arrays have shape (steps,)."""
    off = first - true
    return int((np.abs(off - int(np.median(off))) <= TOLERANCE).sum())


@dataclass(frozen=True)
class Verdict:
    """How one capture came out.

    Attributes:
        evidence: what its iterations were derived from; empty without any.
        true_steps: steps that run kernels.
        found_steps: steps that were found.
        right_steps: of the true ones, those whose boundaries were found.
        right_phases: steps whose phase was told and is right in two classes: prefill-bearing
            or not.
        wrong_phases: steps whose phase was told and is wrong.
        window: overlap of the mixed window of steady state with that of the annotated
            capture; None if that has none.
        phases: what was found of each step, in order.
    """

    evidence: str
    true_steps: int
    found_steps: int
    right_steps: int
    right_phases: int
    wrong_phases: int
    window: float | None
    phases: tuple[str, ...] = field(repr=False)


def judge(session: Session, truth: Truth, *, rotated: bool, window: Span | None = None) -> Verdict:
    """Compare an open capture with its truth.

    Args:
        session: the stripped capture.
        truth: what was synthesised; steps of dummy batches run as real ones do.
        rotated: whether all boundaries may be off by one number of kernels.
        window: the mixed window of the annotated capture.
    """
    found = innermost_steps(session)
    owner, steps = _true_steps(truth)
    right, told, wrong = 0, 0, 0
    if len(found) == len(steps):
        true = [np.flatnonzero(owner == step.index) for step in steps]
        if rotated:
            first = np.array([kernels[0] for kernels in true])
            right = at_one_rotation(found["first"].to_numpy(np.int64), first)
        else:
            members = session.query(_MEMBERS).groupby("iteration_id")["seq"]
            right = _of_the_same_kernels([members.get_group(i) for i in found["id"]], true)
        told, wrong = _phases(found["phase"], [step.phase for step in steps])
    return Verdict(
        evidence=str(found["evidence"].iloc[0]) if len(found) else "",
        true_steps=len(steps),
        found_steps=len(found),
        right_steps=right,
        right_phases=told - wrong,
        wrong_phases=wrong,
        window=window and overlap(window, steady_windows(session).get("mixed")),
        phases=tuple(map(str, found["phase"])),
    )


def _true_steps(truth: Truth) -> tuple[Ints, list[TrueIteration]]:
    """The step of each kernel, numbered by start, and all steps that run kernels, in order."""
    columns = [truth.kernels[name] for name in ("stream", "dur", "ts")]
    owner = truth.kernels["iteration"][np.lexsort(columns)]
    steps = [
        step
        for step in truth.iterations
        if step.kind in ("step", "dummy") and (owner == step.index).any()
    ]
    return owner, sorted(steps, key=lambda step: int(np.argmax(owner == step.index)))


def _of_the_same_kernels(found: list[pd.Series[int]], true: list[Ints]) -> int:
    """Steps of the same kernels, but for the last one or the first one."""
    return sum(
        len(np.setxor1d(mine.to_numpy(np.int64), kernels)) <= 2 * TOLERANCE
        for mine, kernels in zip(found, true, strict=True)
    )


def _phases(found: pd.Series[str], true: list[str]) -> tuple[int, int]:
    """Steps whose phase was told, and of those the wrong ones, in two classes."""
    pairs = [
        (str(one) in PREFILLING, other in PREFILLING)
        for one, other in zip(found, true, strict=True)
        if isinstance(one, str) and one != "unknown"
    ]
    return len(pairs), sum(one != other for one, other in pairs)
