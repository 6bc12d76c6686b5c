"""Runs of patterns as tracks."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perfetto_autoviz.relations import PATTERN, PATTERN_RUN
from perfetto_autoviz.tracks.specs import TrackSpec


def pattern_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``P1 #3``, coloured by pattern."""
    runs, patterns = relations[PATTERN_RUN.name], relations[PATTERN.name]
    name_of = dict(zip(patterns["id"], patterns["name"], strict=True))
    names = [name_of[number] for number in runs["pattern_id"]]
    return TrackSpec(
        PATTERN_RUN.name,
        "patterns",
        [f"{name} #{number}" for name, number in zip(names, runs["number"], strict=True)],
        names,
        level="level",
        description="Runs of the sequences of kernels that repeat, the outermost loops first.",
    )
