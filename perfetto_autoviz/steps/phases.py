"""The step that says what phase each iteration is in, from its annotation's counts."""

from __future__ import annotations

import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import PHASE
from perfetto_autoviz.steps.dialects import parse_annotation
from perfetto_autoviz.steps.step import Frames, Options, Read, Step

ANNOTATION_COUNTS = "annotation counts"
ANNOTATION_MODE = "annotation mode"

# Stated counts leave nothing open; a mode's name without counts is the framework's word
# for its own step, which some builds use for more than one kind of work.
_CONFIDENCE = {ANNOTATION_COUNTS: 1.0, ANNOTATION_MODE: 0.9}


def find_phases(frames: Frames, _options: Options) -> dict[str, pd.DataFrame]:
    """The phase of each iteration whose annotation states one.

    Returns:
        The frame of the relation ``phase``. An iteration whose annotation never says
        what the step does (``ProfilerStep#7``, one generation of a diffusion model, the
        capture of a graph) has no row.
    """
    rows = [row for row in map(_row, frames["_autoviz_src_iteration"].itertuples()) if row]
    columns = {name: [row.get(name) for row in rows] for name in PHASE.types}
    return {PHASE.name: relation_frame(PHASE, columns if rows else {})}


def _row(iteration: object) -> dict[str, object] | None:
    annotation = parse_annotation(str(getattr(iteration, "name", "")))
    if annotation is None or annotation.phase is None or annotation.kind == "capture":
        return None
    counted = annotation.context_requests is not None or annotation.generation_requests is not None
    evidence = ANNOTATION_COUNTS if counted else ANNOTATION_MODE
    return {
        "ts": getattr(iteration, "ts", None),
        "dur": getattr(iteration, "dur", None),
        "iteration_id": getattr(iteration, "id", None),
        "phase": annotation.phase,
        "batch_size": annotation.batch_size,
        "context_requests": annotation.context_requests,
        "generation_requests": annotation.generation_requests,
        "context_tokens": annotation.context_tokens,
        "generation_tokens": annotation.generation_tokens,
        "graph_batch_size": annotation.graph_batch_size,
        "evidence": evidence,
        "confidence": 0.0 if annotation.phase == "unknown" else _CONFIDENCE[evidence],
    }


PHASES_STEP = Step(
    name="phases",
    reads=(Read("_autoviz_src_iteration", ("ts", "dur", "id", "name")),),
    makes=(PHASE,),
    run=find_phases,
)
