"""What is known of the runs into which anomalies were injected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.evaluation.inject import Injected
from perfetto_autoviz.evaluation.plan import NONE, Plan
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.synth.anomaly_kinds import CHANNELS

ALL = "all"
"""Stands for the family of an anomaly that concerns all kernels of a run."""


@dataclass(frozen=True)
class Label:
    """An abnormal run.

    Attributes:
        kind: what is wrong with it.
        rank: its rank.
        ts: its start in ns.
        dur: its duration in ns.
        family: coarse class of the kernel to blame; ``all`` without one.
        channel: what is wrong with that kernel; None without one, or if unknown.
        culprits: numbers of the activities to blame, any of which is right; empty where none
            is, or where the one to blame did not run.
        op: operation to blame where it did not run, else None.
    """

    kind: str
    rank: int
    ts: int
    dur: int
    family: str
    channel: str | None
    culprits: tuple[int, ...]
    op: str | None

    @property
    def blames(self) -> bool:
        """Whether there is a kernel to blame."""
        return bool(self.culprits) or self.op is not None


def injected_labels(
    activities: pd.DataFrame, plans: Sequence[Plan], injected: Injected
) -> list[Label]:
    """Labels of the runs of one rank into which anomalies were injected.

    Args:
        activities: the activities before that.
        plans: what was injected.
        injected: the result.
    """
    ts = injected.activities["ts"].to_numpy(np.int64)
    end = ts + injected.activities["dur"].to_numpy(np.int64)
    family, op = (activities[name].array for name in ("family", "op"))
    labels = []
    for plan, extra in zip(plans, injected.extra.tolist(), strict=True):
        run = _kernels(plan, injected, extra)
        start = int(ts[run].min())
        concerned = plan.other if plan.kind == "extra" else plan.at
        labels.append(
            Label(
                kind=plan.kind,
                rank=plan.target.rank,
                ts=start,
                dur=int(end[run].max()) - start,
                family=ALL if plan.kind == "drift" else str(family[concerned]),
                channel=CHANNELS[plan.kind],
                culprits=_culprits(plan, injected, extra),
                op=str(op[plan.at]) if plan.kind == "missing" else None,
            )
        )
    return labels


def _kernels(plan: Plan, injected: Injected, extra: int) -> Ints:
    run = injected.number[plan.target.kernels]
    run = run[run != NONE]
    return run if extra == NONE else np.append(run, extra)


def _culprits(plan: Plan, injected: Injected, extra: int) -> tuple[int, ...]:
    if plan.kind in ("drift", "missing"):
        return ()
    if plan.kind == "extra":
        return (extra,)
    concerned = [plan.at] if plan.other == NONE else [plan.at, plan.other]
    return tuple(injected.number[concerned].tolist())
