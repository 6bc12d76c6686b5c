"""A comparison as tracks over the runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from perfetto_autoviz.relations import COMPARISON, RUN_MATCH
from perfetto_autoviz.tracks.specs import TrackSpec


def comparison_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``P1 → B P3 +4.1 %``, coloured by pattern."""
    runs, build = relations[RUN_MATCH.name], relations[COMPARISON.name]["build"]
    own = str(build.iloc[0]) if len(build) else ""
    return TrackSpec(
        RUN_MATCH.name,
        "comparison",
        [
            _title(own, *row)
            for row in zip(runs["pattern"], runs["partner"], runs["ratio"], strict=True)
        ],
        runs["pattern"].tolist(),
        level="level",
        description="Runs beside the patterns of the other build that they were matched with:"
        " how much longer B takes than A, this run against the median of the other's in steps of"
        " the same phase.",
    )


def _title(own: str, pattern: str, partner: Any, ratio: Any) -> str:
    if pd.isna(partner):
        return f"{pattern} without partner"
    change = "" if pd.isna(ratio) else f" {100 * ratio:+.1f} %"
    return f"{pattern} → B {partner}{change}" if own == "A" else f"A {partner} → {pattern}{change}"
