"""The step that finds windows of steady state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import STEADY_WINDOW
from perfetto_autoviz.steps.steady_state.region import Floats
from perfetto_autoviz.steps.steady_state.series import Series, series
from perfetto_autoviz.steps.steady_state.tiers import Steady, find_steady
from perfetto_autoviz.steps.steady_state.windows import (
    Mode,
    Window,
    central_window,
    longest_window,
    mixed_window,
)
from perfetto_autoviz.steps.step import Frames, Read, Step

# A stretch of prefill that lies outside the region was not steady by the load around it.
_OUTSIDE_CONFIDENCE = 0.3


def find_steady_windows(frames: Frames, options: Options) -> dict[str, pd.DataFrame]:
    """Windows of steady state, at most one of each mode.

    Returns:
        The frame of the relation ``steady_window``; no rows where the capture has too few
        iterations.
    """
    steps = series(frames["_autoviz_src_iteration"], frames["_autoviz_src_phase"])
    steady = find_steady(steps, options.num_steps)
    windows = _windows(steps, steady, options.num_steps) if steady else []
    rows = [
        {"id": number, **row}
        for number, row in enumerate(_row(steps, steady, *found) for found in windows if steady)
    ]
    columns = {name: [row[name] for row in rows] for name in STEADY_WINDOW.types} if rows else {}
    return {STEADY_WINDOW.name: relation_frame(STEADY_WINDOW, columns)}


def _windows(steps: Series, steady: Steady, length: int) -> list[tuple[Mode, Window, float]]:
    """Mode, window and confidence of each window there is."""
    prefill, decode = steps.prefill_bearing, steps.generating
    if not (prefill | decode)[slice(*steady.region)].any():
        return [("any", central_window(steady.region, length), steady.confidence)]
    found: list[tuple[Mode, Window | None]] = [
        ("mixed", mixed_window(prefill, steady.region, length)),
        ("decode", longest_window(decode, steady.region, length, "decode-only")),
        ("prefill", longest_window(prefill, steady.region, length, "prefill-bearing")),
    ]
    windows = [
        (mode, window, _confidence(steps, steady, window)) for mode, window in found if window
    ]
    if not prefill[slice(*steady.region)].any():
        windows += _outside(steps, length)
    return windows


def _outside(steps: Series, length: int) -> Iterator[tuple[Mode, Window, float]]:
    """The longest stretch of prefill of a capture whose steady region has none."""
    whole = (0, len(steps))
    window = longest_window(steps.prefill_bearing, whole, length, "prefill-bearing")
    if window:
        why = f"{window.why}; the steady region has none"
        yield "prefill", Window(window.first, window.stop, why), _OUTSIDE_CONFIDENCE


def _confidence(steps: Series, steady: Steady, window: Window) -> float:
    """A window by phases is no surer than the phases are."""
    phases = float(steps.phase_confidence[window.first : window.stop].mean())
    return round(min(steady.confidence, phases), 3)


def _row(
    steps: Series, steady: Steady, mode: Mode, window: Window, confidence: float
) -> dict[str, Any]:
    inside = slice(window.first, window.stop)
    dur = steps.dur[inside]
    worked = ~np.isnan(dur)
    starts = steps.ts[inside][worked]
    ends = starts + dur[worked].astype(np.int64)
    mean = float(dur[worked].mean()) if worked.any() else None
    region = steady.region
    return {
        "ts": int(starts.min()) if worked.any() else None,
        "dur": int(ends.max() - starts.min()) if worked.any() else None,
        "mode": mode,
        "tier": steady.tier,
        "level": steps.level,
        "first_id": int(steps.ids[window.first]),
        "last_id": int(steps.ids[window.stop - 1]),
        "first_number": int(steps.numbers[window.first]),
        "last_number": int(steps.numbers[window.stop - 1]),
        "iteration_count": len(window),
        "region_first_number": int(steps.numbers[region[0]]),
        "region_last_number": int(steps.numbers[region[1] - 1]),
        "batch_size": _median(steps.concurrency[inside]),
        "context_tokens": _sum(steps.context_tokens[inside]),
        "generation_tokens": _sum(steps.generation_tokens[inside]),
        "prefill_share": _prefill_share(steps, mode, inside),
        "mean_dur": mean,
        "variation": float(dur[worked].std() / mean) if mean else None,
        "why": f"{window.why}; {steady.why}",
        "confidence": confidence,
    }


def _prefill_share(steps: Series, mode: Mode, inside: slice) -> float | None:
    return None if mode == "any" else float(steps.prefill_bearing[inside].mean())


def _median(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def _sum(values: Floats) -> int | None:
    known = values[~np.isnan(values)]
    return int(known.sum()) if len(known) else None


STEADY_STATE_STEP = Step(
    name="steady state",
    reads=(
        Read("_autoviz_src_iteration", ("ts", "dur", "id", "level", "number")),
        Read(
            "_autoviz_src_phase",
            (
                "iteration_id",
                "phase",
                "batch_size",
                "context_tokens",
                "generation_tokens",
                "evidence",
                "confidence",
            ),
        ),
    ),
    makes=(STEADY_WINDOW,),
    run=find_steady_windows,
)
