"""What a reader of a summary should not take for granted, one sentence each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perfetto_autoviz.reports.text import duration, listed, plural, share

SURE = 0.9
"""Confidence below which an iteration or a phase is mentioned: what annotations state plainly
has 0.9 or more."""

NOTABLE_SHARE = 0.01
"""Share of the device time from which unclassified operations are mentioned."""

NOTABLE_GAP = 0.5
"""Share of the wall time from which a single idle gap is mentioned: it says more about what
was recorded than about the work."""

_NAMES = 3


@dataclass(frozen=True)
class Doubt:
    """One thing that is doubtful.

    Attributes:
        kind: short name, for machines.
        text: one sentence.
    """

    kind: str
    text: str


def find_doubts(
    *,
    capture: Mapping[str, Any],
    iterations: pd.DataFrame,
    phases: pd.DataFrame,
    layers: pd.DataFrame,
    outside: Mapping[str, int],
    total: Mapping[str, int],
    gaps: Mapping[int, tuple[int, int]],
    unclassified: Mapping[str, float],
    annotations: Sequence[str],
    duplicates: int,
    timeless_kernels: int,
    evidence: pd.DataFrame,
) -> tuple[Doubt, ...]:
    """Everything doubtful about a capture.

    Args:
        capture: the row of ``autoviz_capture``.
        iterations: the relation ``iteration``.
        phases: the relation ``phase``.
        layers: the relation ``layer``.
        outside: count and total duration in ns of the activities outside iterations.
        total: count and total duration in ns of all activities.
        gaps: longest gap and wall time in ns by device.
        unclassified: share in the time of each operation in no family, the longest first.
        annotations: the most frequent annotations; only read where there are no iterations.
        duplicates: activities that repeat another one exactly.
        timeless_kernels: kernels, if the duration of each is 0.
        evidence: the relation ``iteration_evidence``.
    """
    return (
        *_file(capture),
        *_recording(duplicates, timeless_kernels, total["count"]),
        *_iterations(iterations, annotations, evidence),
        *(_outside(outside, total) if len(iterations) else ()),
        *_unsure(iterations, phases),
        *_layers(layers, iterations),
        *_unclassified(unclassified),
        *_gaps(gaps),
    )


def why_no_layers(iterations: pd.DataFrame) -> str:
    """Why a capture has no layers, in one sentence."""
    if not len(iterations):
        return "no layers, as there are no iterations to look for them in"
    if not iterations["kind"].isin(["step", "generation"]).any():
        kinds = listed(sorted(set(iterations["kind"])), _NAMES)
        return f"no layers, as no iteration is a real step: there are only {kinds} steps"
    if not iterations["activity_count"].any():
        return (
            "no layers, as no kernel can be joined to a step: the capture records no launches,"
            " or no correlation of kernels with them"
        )
    return (
        "no layers: nothing repeats around an attention kernel; choose a kernel that occurs"
        " once per layer with --anchor"
    )


def _file(capture: Mapping[str, Any]) -> Iterator[Doubt]:
    if capture.get("warning"):
        yield Doubt("missing", str(capture["warning"]))
    for repair in json.loads(capture.get("repairs") or "[]"):
        times = plural(int(repair["count"]), "time")
        yield Doubt("repair", f"repaired: {repair['kind']}, {times}: {repair['detail']}")
    if capture.get("left_out"):
        yield Doubt("left_out", f"left out to save memory: {capture['left_out']}")


def _recording(duplicates: int, timeless_kernels: int, count: int) -> Iterator[Doubt]:
    if duplicates:
        yield Doubt(
            "duplicates",
            f"{duplicates:,} of {count:,} kernels, copies and fills repeat another one exactly,"
            " in time, thread, correlation and name: they are counted as often as they are written",
        )
    if timeless_kernels:
        yield Doubt(
            "no_durations",
            f"the duration of all {plural(timeless_kernels, 'kernel')} is 0, as if none had been"
            " recorded: busy and idle times, and shares of them, say nothing",
        )


def _iterations(
    iterations: pd.DataFrame, annotations: Sequence[str], evidence: pd.DataFrame
) -> Iterator[Doubt]:
    last = evidence.iloc[-1] if len(evidence) else None
    if len(iterations):
        if last is not None and last["grade"] == "degraded":
            yield Doubt("degraded_iterations", f"the iterations are incomplete: {last['reason']}")
        for row in iterations[iterations["distorted"].notna()].to_dict("records"):
            yield Doubt(
                "distorted_iteration",
                f"recording began in iteration {row['number']}: {row['distorted']}",
            )
        return
    if not annotations:
        why = "the capture has no annotations"
    else:
        names = listed((_shortened(name) for name in annotations), _NAMES)
        why = f"no annotation names an engine step; the most frequent are {names}"
    tried = f"; not splittable otherwise: {last['reason']}" if last is not None else ""
    yield Doubt("no_iterations", f"no iterations: {why}{tried}")


def _outside(outside: Mapping[str, int], total: Mapping[str, int]) -> Iterator[Doubt]:
    if outside["count"]:
        part = share(outside["total"] / total["total"]) if total["total"] else share(0.0)
        yield Doubt(
            "outside_iterations",
            f"{outside['count']:,} of {total['count']:,} kernels, copies and fills belong to no"
            f" iteration ({part} of the device time)",
        )


def _unsure(iterations: pd.DataFrame, phases: pd.DataFrame) -> Iterator[Doubt]:
    for thing, frame in (("iteration", iterations), ("phase", phases)):
        unsure = frame[frame["confidence"] < SURE]
        if len(unsure):
            lowest, evidence = (
                unsure["confidence"].min(),
                listed(sorted(set(unsure["evidence"])), _NAMES),
            )
            yield Doubt(
                f"unsure_{thing}s",
                f"{plural(len(unsure), thing)} with a confidence as low as {lowest:.2f}, from"
                f" {evidence}",
            )
    real = iterations[iterations["kind"].isin(["step", "generation"])]
    without = int((~real["id"].isin(phases["iteration_id"])).sum())
    if without:
        yield Doubt(
            "no_phase",
            f"{plural(without, 'iteration')} without a phase: no annotation tells one, and no"
            " kernel is one of a language model alone (--llm-inference judges them all the same)",
        )


def _layers(layers: pd.DataFrame, iterations: pd.DataFrame) -> Iterator[Doubt]:
    if not len(layers):
        yield Doubt("no_layers", why_no_layers(iterations))
        return
    outer = set(iterations["parent_id"].dropna())
    steps = iterations[
        iterations["kind"].isin(["step", "generation"])
        & ~iterations["id"].isin(outer)
        & (iterations["kernel_count"] > 0)
    ]
    without = int((~steps["id"].isin(layers["iteration_id"])).sum())
    if without:
        yield Doubt(
            "steps_without_layers",
            f"no layers in {without:,} of {plural(len(steps), 'step')} that run kernels",
        )
    irregular = int(layers["kind"].str.endswith("irregular").sum())
    if irregular:
        yield Doubt(
            "irregular_layers",
            f"irregular: {irregular:,} of {len(layers):,} layers, which run other operations than"
            " the rest of their kind",
        )


def _unclassified(shares: Mapping[str, float]) -> Iterator[Doubt]:
    whole = sum(shares.values())
    if whole >= NOTABLE_SHARE:
        names = ", ".join(_shortened(op) for op in list(shares)[:_NAMES])
        yield Doubt(
            "unclassified",
            f"{share(whole)} of the device time is in no family, most of it {names}",
        )


def _gaps(gaps: Mapping[int, tuple[int, int]]) -> Iterator[Doubt]:
    for device, (gap, wall) in gaps.items():
        if wall and gap / wall >= NOTABLE_GAP:
            yield Doubt(
                "long_gap",
                f"device {device} is idle for {duration(gap)} at a stretch, {share(gap / wall)} of"
                " the time from its first activity to its last, so shares of that time say little",
            )


_LONGEST_NAME = 60


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
