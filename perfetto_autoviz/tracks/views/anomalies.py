"""Abnormal runs, and the kernels to blame for them, as tracks."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perfetto_autoviz.relations import KERNEL_ANOMALY, PATTERN, PATTERN_RUN, RUN_ANOMALY
from perfetto_autoviz.steps.anomalies.words import microseconds, short
from perfetto_autoviz.tracks.specs import TrackSpec


def run_anomaly_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``slow P1.1 #17 +12.3 µs``, coloured by test."""
    anomalies, runs = relations[RUN_ANOMALY.name], relations[PATTERN_RUN.name]
    patterns = relations[PATTERN.name]
    name_of = dict(zip(patterns["id"], patterns["name"], strict=True))
    number_of = dict(zip(runs["id"], runs["number"], strict=True))
    return TrackSpec(
        RUN_ANOMALY.name,
        "anomalies",
        [
            f"{side} {name_of[pattern]} #{number_of[run]} {microseconds(excess, signed=True)} µs"
            for side, pattern, run, excess in zip(
                *(anomalies[name] for name in ("side", "pattern_id", "run_id", "excess")),
                strict=True,
            )
        ],
        anomalies["test"].tolist(),
        level="level",
        description="Runs of patterns that take unusually long or short, or run otherwise.",
    )


def kernel_anomaly_track(relations: Mapping[str, pd.DataFrame]) -> TrackSpec:
    """Slices like ``fused_moe: idle time +5.2 µs``, coloured by test, exactly over kernels."""
    blamed = relations[KERNEL_ANOMALY.name]
    return TrackSpec(
        KERNEL_ANOMALY.name,
        "blamed kernels",
        [
            f"{short(op)}: {_said(kind, channel)} {microseconds(excess, signed=True)} µs"
            for op, kind, channel, excess in zip(
                *(blamed[name] for name in ("op", "kind", "channel", "excess")), strict=True
            )
        ],
        blamed["test"].tolist(),
        description="Kernels that are to blame for abnormal runs, exactly over them.",
    )


def _said(kind: str, channel: str) -> str:
    return channel if kind == "plain" else kind
