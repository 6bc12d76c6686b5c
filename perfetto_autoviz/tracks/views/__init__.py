"""What an enriched trace shows: names, colours and counters of the stored relations."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perfetto_autoviz.tracks.specs import TrackSpec
from perfetto_autoviz.tracks.views.anomalies import kernel_anomaly_track, run_anomaly_track
from perfetto_autoviz.tracks.views.compare import comparison_track
from perfetto_autoviz.tracks.views.counters import counter_specs
from perfetto_autoviz.tracks.views.patterns import pattern_track
from perfetto_autoviz.tracks.views.steady import steady_track
from perfetto_autoviz.tracks.views.steps import iteration_track, layer_track, phase_track

_TRACKS = (
    iteration_track,
    phase_track,
    steady_track,
    layer_track,
    pattern_track,
    run_anomaly_track,
    kernel_anomaly_track,
    comparison_track,
)

__all__ = ["counter_specs", "track_specs"]


def track_specs(relations: Mapping[str, pd.DataFrame]) -> list[TrackSpec]:
    """The visible tracks, in the order in which they are shown."""
    return [track(relations) for track in _TRACKS]
