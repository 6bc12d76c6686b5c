"""Phases that annotations state."""

from __future__ import annotations

from typing import Any

from perfetto_autoviz.steps.dialects import parse_annotation

ANNOTATION_COUNTS = "annotation counts"
ANNOTATION_MODE = "annotation mode"

# Stated counts leave nothing open; a mode's name without counts is the framework's word
# for its own step, which some builds use for more than one kind of work.
_CONFIDENCE = {ANNOTATION_COUNTS: 1.0, ANNOTATION_MODE: 0.9}


def stated_phase(text: str) -> dict[str, Any] | None:
    """Phase, counts, evidence and confidence by the text of an annotation.

    Returns:
        Columns of the relation ``phase``; None if it never says what the step does
        (``ProfilerStep#7``, one generation of a diffusion model, the capture of a graph).
    """
    annotation = parse_annotation(text)
    if annotation is None or annotation.phase is None or annotation.kind == "capture":
        return None
    counted = annotation.context_requests is not None or annotation.generation_requests is not None
    evidence = ANNOTATION_COUNTS if counted else ANNOTATION_MODE
    return {
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
