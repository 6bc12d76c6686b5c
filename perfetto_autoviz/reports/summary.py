"""What an open capture holds, gathered in one place: plain values, ready for JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from perfetto_autoviz.reports import times
from perfetto_autoviz.reports.doubts import Doubt, find_doubts
from perfetto_autoviz.reports.frames import integer, text
from perfetto_autoviz.reports.summary_runs import (
    AbnormalRuns,
    PatternGroup,
    abnormal_runs,
    pattern_groups,
)
from perfetto_autoviz.reports.text import share
from perfetto_autoviz.session import Session

_COUNTED = ("kernel", "memcpy", "memset", "launch", "annotation", "event")

# Without the span over the whole recording, e.g. "PyTorch Profiler (0)", which nobody named.
_ANNOTATIONS = """
SELECT annotation.name FROM _autoviz_annotation AS annotation
JOIN slice USING (id)
WHERE annotation.name IS NOT NULL AND coalesce(slice.category, '') != 'Trace'
GROUP BY annotation.name ORDER BY count() DESC, annotation.name LIMIT 3
"""

_DUPLICATES = """
SELECT coalesce(sum(copies - 1), 0) AS duplicates
FROM (
  SELECT count() AS copies FROM _autoviz_device_slice
  GROUP BY ts, dur, pid, tid, correlation, name
)
"""


@dataclass(frozen=True)
class IterationGroup:
    """Iterations of one level that do the same.

    Attributes:
        level: 0 for outermost iterations.
        what: the phase, or the kind where no phase is known.
        count: how many.
        batch_sizes: smallest and largest number of requests, None if unknown.
    """

    level: int
    what: str
    count: int
    batch_sizes: tuple[int, int] | None


@dataclass(frozen=True)
class SteadyWindow:
    """A window of steady state.

    Attributes:
        mode: mixed, decode, prefill or any.
        tier: what steadiness was judged by.
        first: number of its first iteration.
        last: number of its last iteration.
        batch_size: median number of requests, None if unknown.
        why: why this window.
        confidence: from 0 to 1.
    """

    mode: str
    tier: str
    first: int
    last: int
    batch_size: float | None
    why: str
    confidence: float


@dataclass(frozen=True)
class LayerGroup:
    """Layers of one kind.

    Attributes:
        kind: what they consist of.
        executions: how many in the capture.
        per_step: fewest and most in a step that has any layers.
        kernels: fewest and most kernels in one.
    """

    kind: str
    executions: int
    per_step: tuple[int, int]
    kernels: tuple[int, int]


@dataclass(frozen=True)
class DeviceTime:
    """Where the time of one device goes, in ns, from its first activity to its last.

    Attributes:
        device: its number.
        activities: kernels, copies and fills.
        wall: from the first start to the last end.
        busy: in which at least one activity ran.
        idle: in which none ran.
        exposed_communication: in which nothing but communication ran.
        longest_gap: the longest time without any.
    """

    device: int
    activities: int
    wall: int
    busy: int
    idle: int
    exposed_communication: int
    longest_gap: int


@dataclass(frozen=True)
class PhaseTime:
    """Where the time of the outermost iterations of a phase goes on one device, in ns."""

    phase: str | None
    device: int
    iterations: int
    wall: int
    busy: int
    idle: int
    exposed_communication: int


@dataclass(frozen=True)
class FamilyTime:
    """Summed durations of one family of operations, in ns, and their share of all."""

    family: str
    count: int
    total: int
    share: float


@dataclass(frozen=True)
class OperationTime:
    """Summed durations of one operation, in ns, and their share of all."""

    op: str
    count: int
    total: int
    share: float


@dataclass(frozen=True)
class CaptureSummary:
    """What a capture holds, from which evidence, and what is doubtful.

    Attributes:
        file: name of the capture file.
        capture: what it says about itself: rank, framework, device, versions.
        engine: kind and version of the trace processor.
        counts: kernels, copies, fills, launches, annotations and events in the file.
        iterations: by level and phase.
        iteration_evidence: iterations by what they were derived from.
        iteration_grade: how good inferred iterations are, None for annotated ones.
        steady_windows: windows of steady state.
        layers: by kind.
        layers_per_step: fewest and most layers in a step that has any; None without layers.
        layer_evidence: layers by what they were derived from.
        patterns: loops of kernels.
        pattern_share: share of the summed device time that is in them.
        anomalies: how many of their runs are abnormal.
        devices: where the time goes.
        phases: where the time of the iterations goes.
        families: which operations take the time, the longest first.
        unclassified: operations in no family, the longest first.
        doubts: what is doubtful.
    """

    file: str
    capture: dict[str, Any]
    engine: dict[str, str]
    counts: dict[str, int]
    iterations: tuple[IterationGroup, ...]
    iteration_evidence: dict[str, int]
    iteration_grade: str | None
    steady_windows: tuple[SteadyWindow, ...]
    layers: tuple[LayerGroup, ...]
    layers_per_step: tuple[int, int] | None
    layer_evidence: dict[str, int]
    patterns: tuple[PatternGroup, ...]
    pattern_share: float
    anomalies: AbnormalRuns
    devices: tuple[DeviceTime, ...]
    phases: tuple[PhaseTime, ...]
    families: tuple[FamilyTime, ...]
    unclassified: tuple[OperationTime, ...]
    doubts: tuple[Doubt, ...]

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain values; times in ns."""
        return asdict(self)


def summarise(session: Session) -> CaptureSummary:
    """Gathers the summary of an open capture; the steps run if they have not."""
    capture = session.metadata
    iterations, phases = session.relation("iteration"), session.relation("phase")
    layers, evidence = session.relation("layer"), session.relation("iteration_evidence")
    patterns, runs = session.relation("pattern"), session.relation("pattern_run")
    activities = session.fetch("_autoviz_activity", times.COLUMNS)
    members = session.fetch("autoviz_iteration_kernel", ("iteration_id", "device", "seq"))
    devices = _devices(times.device_times(activities))
    families = _families(times.family_times(activities))
    unclassified = _operations(times.unclassified(activities))
    return CaptureSummary(
        file=str(capture.get("file_name") or session.capture.path.name),
        capture=_about(capture),
        engine={"kind": session.engine.kind, "version": session.engine.version},
        counts={name: int(capture.get(f"{name}_count") or 0) for name in _COUNTED},
        iterations=_iterations(iterations, phases),
        iteration_evidence=_evidence(iterations),
        iteration_grade=_grade(iterations, evidence),
        steady_windows=_steady(session.relation("steady_window")),
        layers=_layers(layers),
        layers_per_step=_span(layers.groupby(["iteration_id", "device"]).size()),
        layer_evidence=_evidence(layers),
        patterns=pattern_groups(patterns, runs),
        pattern_share=times.share_in_runs(activities, session.relation("pattern_segment")),
        anomalies=abnormal_runs(
            session.relation("anomaly_group"), session.relation("run_anomaly"), runs, patterns
        ),
        devices=devices,
        phases=_phases(times.phase_times(activities, members, iterations, phases)),
        families=families,
        unclassified=unclassified,
        doubts=find_doubts(
            capture=capture,
            iterations=iterations,
            phases=phases,
            layers=layers,
            outside=times.outside(activities, members),
            total={
                "count": sum(family.count for family in families),
                "total": sum(family.total for family in families),
            },
            gaps={device.device: (device.longest_gap, device.wall) for device in devices},
            unclassified={each.op: each.share for each in unclassified},
            annotations=_annotations(session) if iterations.empty else (),
            duplicates=_duplicates(session) if times.keys_repeat(activities) else 0,
            timeless_kernels=times.timeless_kernels(activities),
            evidence=evidence,
        ),
    )


def _grade(iterations: pd.DataFrame, evidence: pd.DataFrame) -> str | None:
    """For instance ``good, 99.8 % of the device time``."""
    if iterations.empty or iterations["dialect"].notna().any() or evidence.empty:
        return None
    last = evidence.iloc[-1]
    return f"{last['grade']}, {share(last['coverage'])} of the device time"


def _annotations(session: Session) -> list[str]:
    return session.query(_ANNOTATIONS)["name"].tolist()


def _duplicates(session: Session) -> int:
    return int(session.query(_DUPLICATES)["duplicates"].iloc[0])


def _about(capture: Any) -> dict[str, Any]:
    """The capture's row without its counts; nested JSON as values."""
    nested = ("repairs", "metadata")
    found = {
        name: value.item() if hasattr(value, "item") else value
        for name, value in capture.items()
        if name not in (*nested, *(f"{counted}_count" for counted in _COUNTED))
    }
    return {**found, **{name: json.loads(capture.get(name) or "null") for name in nested}}


def _iterations(iterations: pd.DataFrame, phases: pd.DataFrame) -> tuple[IterationGroup, ...]:
    known = phases[phases["phase"] != "unknown"]
    phase_of = dict(zip(known["iteration_id"], known["phase"], strict=True))
    size_of = dict(zip(phases["iteration_id"], phases["batch_size"], strict=True))
    rows = iterations[["level"]].copy()
    rows["what"] = [
        phase_of.get(number, kind)
        for number, kind in zip(iterations["id"], iterations["kind"], strict=True)
    ]
    rows["size"] = iterations["id"].map(size_of)
    found = []
    for level, of_level in rows.groupby("level", sort=True):
        for what, group in of_level.groupby("what", sort=True):
            sizes = _span(group["size"])
            found.append(IterationGroup(int(str(level)), str(what), len(group), sizes))
    return tuple(sorted(found, key=lambda group: (group.level, -group.count, group.what)))


def _steady(windows: pd.DataFrame) -> tuple[SteadyWindow, ...]:
    return tuple(
        SteadyWindow(
            str(row["mode"]),
            str(row["tier"]),
            int(row["first_number"]),
            int(row["last_number"]),
            None if pd.isna(row["batch_size"]) else float(row["batch_size"]),
            str(row["why"]),
            float(row["confidence"]),
        )
        for row in windows.to_dict("records")
    )


def _layers(layers: pd.DataFrame) -> tuple[LayerGroup, ...]:
    steps = layers[["iteration_id", "device"]].drop_duplicates()
    found = []
    for kind, group in layers.groupby("kind", sort=True):
        sizes = group.groupby(["iteration_id", "device"]).size()
        fewest = int(sizes.min()) if len(sizes) == len(steps) else 0
        kernels = group["kernel_count"]
        found.append(
            LayerGroup(
                str(kind),
                len(group),
                (fewest, int(sizes.max())),
                (int(kernels.min()), int(kernels.max())),
            )
        )
    return tuple(sorted(found, key=lambda group: (-group.executions, group.kind)))


def _devices(frame: pd.DataFrame) -> tuple[DeviceTime, ...]:
    return tuple(
        DeviceTime(
            device=int(row["device"]),
            activities=int(row["activities"]),
            wall=int(row["wall"]),
            busy=int(row["busy"]),
            idle=int(row["wall"]) - int(row["busy"]),
            exposed_communication=int(row["busy"]) - int(row["other_busy"]),
            longest_gap=integer(row["longest_gap"]) or 0,
        )
        for row in frame.to_dict("records")
    )


def _phases(frame: pd.DataFrame) -> tuple[PhaseTime, ...]:
    return tuple(
        PhaseTime(
            phase=text(row["phase"]),
            device=int(row["device"]),
            iterations=int(row["iteration_count"]),
            wall=int(row["wall_dur"]),
            busy=int(row["busy_dur"]),
            idle=int(row["idle_dur"]),
            exposed_communication=int(row["exposed_communication_dur"]),
        )
        for row in frame.to_dict("records")
    )


def _families(frame: pd.DataFrame) -> tuple[FamilyTime, ...]:
    whole = int(frame["total"].sum()) if len(frame) else 0
    return tuple(
        FamilyTime(
            str(row["family"]),
            int(row["count"]),
            int(row["total"]),
            int(row["total"]) / whole if whole else 0.0,
        )
        for row in frame.to_dict("records")
    )


def _operations(frame: pd.DataFrame) -> tuple[OperationTime, ...]:
    return tuple(
        OperationTime(str(row["op"]), int(row["count"]), int(row["total"]), float(row["share"]))
        for row in frame.to_dict("records")
    )


def _evidence(frame: pd.DataFrame) -> dict[str, int]:
    return {str(what): int(count) for what, count in frame["evidence"].value_counts().items()}


def _span(values: pd.Series[Any] | Sequence[int]) -> tuple[int, int] | None:
    known = pd.Series(values).dropna()
    return (int(known.min()), int(known.max())) if len(known) else None
