"""What a stripped capture gives, judged by the truth of the synthesiser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import Truth

Ints = NDArray[np.int64]

TOLERANCE = 1
"""Kernels by which a boundary may be off."""

PREFILLING = ("prefill", "mixed")

_STEPS = """
SELECT iteration.id, iteration.evidence, min(member.seq) AS first, max(member.seq) AS last,
  phase.phase AS phase
FROM autoviz_iteration AS iteration
JOIN autoviz_iteration_kernel AS member ON member.iteration_id = iteration.id
LEFT JOIN autoviz_phase AS phase ON phase.iteration_id = iteration.id
WHERE iteration.is_real
  AND iteration.id NOT IN (
    SELECT parent_id FROM autoviz_iteration WHERE parent_id IS NOT NULL)
GROUP BY iteration.id ORDER BY first
"""

_LAYERS = "SELECT count() AS layers FROM autoviz_layer"


@dataclass(frozen=True)
class Verdict:
    """How one capture came out.

    Attributes:
        evidence: what its iterations were derived from; empty without any.
        true_steps: steps that run kernels.
        found_steps: steps that were found.
        right_steps: of the true ones, those whose boundaries were found.
        phases: steps whose phase was told and is right in two classes: prefill-bearing or not.
        wrong_phases: steps whose phase was told and is wrong.
        layers: layers that were found.
    """

    evidence: str
    true_steps: int
    found_steps: int
    right_steps: int
    phases: int
    wrong_phases: int
    layers: int


def judge(session: Session, truth: Truth, *, rotated: bool) -> Verdict:
    """Compare an open capture with its truth.

    Args:
        session: the stripped capture.
        truth: what was synthesised; steps of dummy batches run as real ones do.
        rotated: whether all boundaries may be off by one number of kernels.
    """
    found = session.query(_STEPS)
    first, last, phases = _true_steps(truth)
    right, told, wrong = 0, 0, 0
    if len(found) == len(first):
        ends = None if rotated else last
        at = _boundaries_found(found, first, ends)
        right = int(at.sum())
        told, wrong = _phases(found["phase"], phases)
    return Verdict(
        evidence=str(found["evidence"].iloc[0]) if len(found) else "",
        true_steps=len(first),
        found_steps=len(found),
        right_steps=right,
        phases=told - wrong,
        wrong_phases=wrong,
        layers=int(session.query(_LAYERS)["layers"].iloc[0]),
    )


def _true_steps(truth: Truth) -> tuple[Ints, Ints, list[str]]:
    """First and last kernel of each step, numbered by start, and its phase."""
    columns = [truth.kernels[name] for name in ("stream", "dur", "ts")]
    owner = truth.kernels["iteration"][np.lexsort(columns)]
    steps = [
        step
        for step in truth.iterations
        if step.kind in ("step", "dummy") and step.kernels and (owner == step.index).any()
    ]
    places = [np.flatnonzero(owner == step.index) for step in steps]
    first = np.array([place[0] for place in places], np.int64)
    last = np.array([place[-1] for place in places], np.int64)
    order = np.argsort(first, kind="stable")
    return first[order], last[order], [steps[i].phase for i in order]


def _boundaries_found(found: pd.DataFrame, first: Ints, last: Ints | None) -> NDArray[np.bool_]:
    off = found["first"].to_numpy(np.int64) - first
    if last is None:
        usual = int(np.median(off))
        near: NDArray[np.bool_] = np.abs(off - usual) <= TOLERANCE
        return near
    ends = found["last"].to_numpy(np.int64) - last
    exact: NDArray[np.bool_] = (np.abs(off) <= TOLERANCE) & (np.abs(ends) <= TOLERANCE)
    return exact


def _phases(found: pd.Series[str], true: list[str]) -> tuple[int, int]:
    """Steps whose phase was told, and of those the wrong ones, in two classes."""
    pairs = [
        (str(one) in PREFILLING, other in PREFILLING)
        for one, other in zip(found, true, strict=True)
        if isinstance(one, str) and one != "unknown"
    ]
    return len(pairs), sum(one != other for one, other in pairs)
