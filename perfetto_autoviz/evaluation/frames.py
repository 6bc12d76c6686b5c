"""What the analysis of a capture starts from, with or without anomalies in it.

From there on a copy with anomalies goes the way of any capture: layers, patterns, runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from perfetto_autoviz.evaluation.inject import Injected, inject
from perfetto_autoviz.evaluation.plan import NONE, Plan
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import RELATIONS
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import STEPS, Frames, SetStep, Step
from perfetto_autoviz.steps.layers import LAYERS_STEP
from perfetto_autoviz.steps.patterns.step import PATTERNS_STEP

ACTIVITY = "_autoviz_activity"
MEMBERS = "autoviz_iteration_kernel"

_ANALYSIS: tuple[Step | SetStep, ...] = (LAYERS_STEP, PATTERNS_STEP)
_MADE = {relation.source for step in _ANALYSIS for relation in step.makes}


def base_frames(session: Session) -> Frames:
    """What is known of a rank before its layers and patterns are looked for.

    Returns:
        Frames by SQL name, with all columns that any step reads, of stored relations all.
    """
    columns: dict[str, dict[str, None]] = {}
    for step in STEPS:
        for read in step.reads:
            columns.setdefault(read.relation, {}).update(dict.fromkeys(read.columns))
    columns.update({relation.source: dict.fromkeys(relation.types) for relation in RELATIONS})
    needed = {read.relation for step in _ANALYSIS for read in step.reads} - _MADE
    return {name: session.fetch(name, tuple(columns[name])) for name in sorted(needed)}


def with_anomalies(base: Frames, plans: Sequence[Plan]) -> tuple[Frames, Injected]:
    """The same with anomalies injected into a rank's activities, and which those are.

    What runs more belongs to the iterations of the activity that it follows.
    """
    injected = inject(base[ACTIVITY], plans)
    members = _members(base[MEMBERS], injected)
    return {**base, ACTIVITY: injected.activities, MEMBERS: members}, injected


def analysed(bases: Mapping[int, Frames], options: Options) -> dict[int, Frames]:
    """Adds layers and patterns of all ranks, as a session makes them."""
    ranks = {rank: dict(frames) for rank, frames in bases.items()}
    for frames in ranks.values():
        _add(frames, LAYERS_STEP.run(frames, options), LAYERS_STEP)
    for rank, made in PATTERNS_STEP.run(ranks, options).items():
        _add(ranks[rank], made, PATTERNS_STEP)
    return dict(ranks)


def _add(
    frames: dict[str, pd.DataFrame], made: Mapping[str, pd.DataFrame], step: Step | SetStep
) -> None:
    frames.update({relation.source: made[relation.name] for relation in step.makes})


def _members(members: pd.DataFrame, injected: Injected) -> pd.DataFrame:
    """Which activities belong to which iteration by their new numbers, and where in it."""
    added = injected.extra != NONE
    follows = pd.DataFrame(
        {"seq": injected.extra_after[added], "new": injected.extra[added]}, dtype=np.int64
    )
    extra = members.merge(follows, on="seq")
    kept = members.assign(new=injected.number[members["seq"].to_numpy(np.int64)])
    both = pd.concat([kept[kept["new"] != NONE], extra], ignore_index=True)
    both = both.sort_values(["iteration_id", "device", "new"], kind="stable", ignore_index=True)
    position = both.groupby(["iteration_id", "device"]).cumcount()
    return both.assign(seq=both["new"], position=position)[members.columns]
