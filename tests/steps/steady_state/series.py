"""Frames of iterations and phases for tests, from lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import ITERATION, PHASE, STEADY_WINDOW
from perfetto_autoviz.steps.steady_state.step import find_steady_windows

GAP = 10


def iterations(durations: Sequence[int]) -> pd.DataFrame:
    """One iteration after the other, 10 ns apart, the first at 1000 ns."""
    starts, at = [], 1000
    for duration in durations:
        starts.append(at)
        at += duration + GAP
    count = range(len(durations))
    columns = {
        "ts": starts,
        "dur": durations,
        "id": count,
        "number": count,
        "level": [0] * len(durations),
    }
    return relation_frame(ITERATION, columns)


def phases(
    names: Sequence[str],
    sizes: Sequence[int | None],
    evidence: str = "annotation counts",
    **columns: Sequence[Any],
) -> pd.DataFrame:
    """The phase of each iteration, and its number of requests."""
    count = len(names)
    given = {
        "iteration_id": range(count),
        "phase": names,
        "batch_size": sizes,
        "evidence": [evidence] * count,
        "confidence": [1.0] * count,
        **columns,
    }
    return relation_frame(PHASE, given)


def steady_windows(
    iterations: pd.DataFrame, phases: pd.DataFrame | None = None, num_steps: int = 32
) -> dict[str, dict[str, Any]]:
    """The steady windows by mode."""
    none = relation_frame(PHASE, {})
    frames = {
        "_autoviz_src_iteration": iterations,
        "_autoviz_src_phase": none if phases is None else phases,
    }
    found = find_steady_windows(frames, Options(num_steps=num_steps))[STEADY_WINDOW.name]
    return {str(row["mode"]): row for row in found.to_dict("records")}
