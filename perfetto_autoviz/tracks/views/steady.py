"""Windows of steady state as a track."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perfetto_autoviz.relations import STEADY_WINDOW
from perfetto_autoviz.tracks.specs import TrackSpec


def steady_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``steady mixed (32 steps)``, coloured by mode; they overlap."""
    windows = relations[STEADY_WINDOW.name]
    modes = windows["mode"].tolist()
    return TrackSpec(
        STEADY_WINDOW.name,
        "steady state",
        [
            f"steady{'' if mode == 'any' else f' {mode}'} ({count} steps)"
            for mode, count in zip(modes, windows["iteration_count"], strict=True)
        ],
        modes,
        description="Windows of iterations with a steady load, to measure or compare in.",
    )
