"""The step that finds iterations, by annotations or by whatever else a capture holds."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import ITERATION, ITERATION_EVIDENCE, ITERATION_SEGMENT
from perfetto_autoviz.relations.iterations import REAL_KINDS
from perfetto_autoviz.steps.iterations.annotated import annotated_levels
from perfetto_autoviz.steps.iterations.distortion import distortions
from perfetto_autoviz.steps.iterations.found import Attempt, Level, graded
from perfetto_autoviz.steps.iterations.inferred import infer_levels
from perfetto_autoviz.steps.iterations.membership import Activities
from perfetto_autoviz.steps.iterations.rows import iteration_frames
from perfetto_autoviz.steps.keys import KEY_COLUMNS, DurableKeys
from perfetto_autoviz.steps.step import Frames, Read, Step


def find_iterations(frames: Frames, _options: Options) -> dict[str, pd.DataFrame]:
    """Iterations and the device activities of each.

    Known annotations decide, wherever there are any that own work; otherwise see `inferred`.

    Returns:
        Frames of the relations ``iteration``, ``iteration_segment`` and
        ``iteration_evidence``; no iterations where nothing tells them.
    """
    kernels = frames["_autoviz_activity"]
    activities = Activities.of(kernels)
    levels = annotated_levels(frames["_autoviz_annotation"], activities)
    attempts: list[Attempt] = []
    if levels and any(span.kind in REAL_KINDS for span in levels[0].spans):
        attempts = [_annotated(levels[0], activities)]
    # Steps of capturing graphs may be all that is annotated, or no launch be recorded.
    if not attempts or (len(kernels) and not attempts[0].coverage):
        inferred, tried = infer_levels(frames, activities)
        levels, attempts = inferred or levels, [*attempts, *tried]
    distorted = distortions(levels[0], kernels) if levels else []
    return {
        **iteration_frames(activities, DurableKeys.of(kernels), levels, distorted),
        ITERATION_EVIDENCE.name: relation_frame(ITERATION_EVIDENCE, _rows(attempts)),
    }


def _annotated(outermost: Level, activities: Activities) -> Attempt:
    total = max(int(activities.dur.sum()), 1)
    real = np.array([span.kind in REAL_KINDS for span in outermost.spans])
    coverage = float(activities.dur[outermost.owner >= 0].sum() / total)
    return graded("annotation", int(real.sum()), coverage)


def _rows(attempts: list[Attempt]) -> dict[str, list[object]]:
    fields = [asdict(attempt) for attempt in attempts]
    return {
        "number": list(range(len(attempts))),
        **{name: [row[name] for row in fields] for name in fields[0]},
    }


ITERATIONS_STEP = Step(
    name="iterations",
    reads=(
        Read("_autoviz_annotation", ("ts", "dur", "name", "on_device", "pid", "utid")),
        Read(
            "_autoviz_activity",
            (
                *KEY_COLUMNS,
                "kind",
                "op",
                "family",
                "device",
                "stream",
                "launch_ts",
                "launch_utid",
            ),
        ),
        Read("_autoviz_host_call", ("ts", "dur", "name", "pid", "utid")),
    ),
    makes=(ITERATION, ITERATION_SEGMENT, ITERATION_EVIDENCE),
    run=find_iterations,
)
