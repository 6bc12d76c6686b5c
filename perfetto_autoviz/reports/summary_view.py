"""A capture's summary for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, ConsoleOptions
from rich.text import Text

from perfetto_autoviz.reports.summary import CaptureSummary, DeviceTime, PhaseTime
from perfetto_autoviz.reports.text import duration, interval, listed, plural, share, size

_MARGIN = 14
_FAMILIES = 6
_KINDS = 4
_PATTERNS = 4
_DEVICES = 4
_EVIDENCE = 3
_COMMON_LEVEL = 0
# Iterations without a phase are called by their kind.
_KIND_NAMES = {
    "step": ("step", "steps"),
    "generation": ("generation", "generations"),
    "capture": ("graph capture", "graph captures"),
    "warm-up": ("warm-up", "warm-ups"),
    "wrap-up": ("wrap-up", "wrap-ups"),
}


@dataclass(frozen=True)
class SummaryView:
    """Renders a summary; a label in the margin, wrapped text beside it.

    Attributes:
        summary: what was found.
        out: the file that was written, None if none was.
    """

    summary: CaptureSummary
    out: Path | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield Text(self.summary.file, style="bold")
        width = max(options.max_width - _MARGIN, _MARGIN)
        for label, paragraphs in self._parts():
            style = "yellow" if label == "doubtful" else ""
            for paragraph in paragraphs:
                for line in Text(paragraph).wrap(console, width):
                    margin = f"  {label}".ljust(_MARGIN)
                    yield Text.assemble((margin, "bold"), (line.plain.rstrip(), style))
                    label = ""

    def _parts(self) -> Iterator[tuple[str, list[str]]]:
        summary = self.summary
        yield "capture", [_capture(summary)]
        yield "found", [_found(summary.counts)]
        yield "iterations", _iterations(summary)
        yield "steady", [_steady(summary)]
        yield "layers", _layers(summary)
        yield "patterns", [_patterns(summary)]
        yield "anomalies", _anomalies(summary)
        yield "time", [*_devices(summary.devices), *_phases(summary.phases), _families(summary)]
        yield "doubtful", [doubt.text for doubt in summary.doubts] or ["nothing"]
        if self.out is not None:
            yield (
                "written",
                [
                    f"{self.out} ({size(self.out.stat().st_size)})",
                    f"look at it: autoviz open {self.out}, or drag it into ui.perfetto.dev",
                ],
            )


def _capture(summary: CaptureSummary) -> str:
    about = summary.capture
    rank = about.get("rank")
    of = f" of {about['world_size']}" if about.get("world_size") else ""
    parts = [
        "" if rank is None else f"rank {rank}{of} (by {about.get('rank_evidence') or 'unknown'})",
        about.get("framework"),
        about.get("gpu_name"),
        about.get("runtime"),
        about.get("collective_library"),
        f"read by {summary.engine['kind']} engine {summary.engine['version']}",
    ]
    return " · ".join(str(part) for part in parts if part)


def _found(counts: Mapping[str, int]) -> str:
    return (
        f"{plural(counts['kernel'], 'kernel')}, {plural(counts['memcpy'], 'copy', 'copies')},"
        f" {plural(counts['memset'], 'fill')}, {plural(counts['launch'], 'runtime call')},"
        f" {plural(counts['annotation'], 'annotation')} in {plural(counts['event'], 'event')}"
    )


def _iterations(summary: CaptureSummary) -> list[str]:
    if not summary.iterations:
        return ["none"]
    lines = []
    for level in dict.fromkeys(group.level for group in summary.iterations):
        groups = [group for group in summary.iterations if group.level == level]
        several = len(groups) > 1
        total = f"{sum(group.count for group in groups):,}: " if several else ""
        inside = "" if level == _COMMON_LEVEL else f"level {level}: "
        sized = (
            plural(group.count, *_KIND_NAMES.get(group.what, (group.what, group.what)))
            + (f" (bs {interval(group.batch_sizes)})" if group.batch_sizes else "")
            for group in groups
        )
        lines.append(inside + total + ", ".join(sized))
    grade = f" ({summary.iteration_grade})" if summary.iteration_grade else ""
    return [*lines, _from(summary.iteration_evidence) + grade]


def _steady(summary: CaptureSummary) -> str:
    """For instance ``mixed in steps 4-20, decode in 11-16 (bs 32), by annotated requests``."""
    windows = summary.steady_windows
    if not windows:
        return "no steady state: too few steps" if summary.iterations else "none"
    parts = [
        ("" if window.mode == "any" else f"{window.mode} in ")
        + ("step " if window.first == window.last else "steps ")
        + interval((window.first, window.last))
        + ("" if window.batch_size is None else f" (bs {window.batch_size:g})")
        for window in windows
    ]
    return f"{', '.join(parts)}, by {windows[0].tier}"


def _layers(summary: CaptureSummary) -> list[str]:
    if not summary.layers or summary.layers_per_step is None:
        return ["none"]
    kinds = (
        f"{interval(group.per_step)} {group.kind} ({interval(group.kernels)} kernels each)"
        for group in summary.layers
    )
    return [
        f"{interval(summary.layers_per_step)} in a step: {listed(kinds, _KINDS)}",
        _from(summary.layer_evidence),
    ]


def _patterns(summary: CaptureSummary) -> str:
    """For instance ``P1 of 196 kernels × 24, P1.1 of 17 × 288, 99.2 % of the device time``."""
    if not summary.patterns:
        return "none"
    each = (
        f"{one.name} of {plural(one.kernels, 'kernel')} × {one.runs:,}" for one in summary.patterns
    )
    covered = share(summary.pattern_share)
    return f"{len(summary.patterns)}: {listed(each, _PATTERNS)}; {covered} of the device time"


def _anomalies(summary: CaptureSummary) -> list[str]:
    found = summary.anomalies
    if not found.runs:
        return ["none, as there are no patterns"]
    judged = ", ".join(f"{count:,} judged by {test}" for test, count in found.judged.items())
    line = f"{found.flagged:,} of {plural(found.runs, 'run')} are abnormal ({judged})"
    return [line, f"worst is {found.worst}"] if found.worst else [line]


def _from(evidence: Mapping[str, int]) -> str:
    several = len(evidence) > 1
    counted = (f"{what} ({count:,})" if several else what for what, count in evidence.items())
    return "from " + listed(counted, _EVIDENCE, "; ")


def _devices(devices: tuple[DeviceTime, ...]) -> list[str]:
    lines = [
        f"device {device.device}: {duration(device.wall)} from first start to last end, "
        + _split(device.busy, device.idle, device.exposed_communication, device.wall)
        for device in devices[:_DEVICES]
    ]
    more = len(devices) - _DEVICES
    return [*lines, f"and {plural(more, 'more device')}"] if more > 0 else lines


def _phases(phases: tuple[PhaseTime, ...]) -> list[str]:
    several_devices = len({phase.device for phase in phases}) > 1
    return [
        f"{phase.phase or 'no phase'}"
        + (f" on device {phase.device}" if several_devices else "")
        + f": {plural(phase.iterations, 'iteration')} of {duration(phase.wall / phase.iterations)}"
        + (" on average, " if phase.iterations > 1 else ", ")
        + _split(phase.busy, phase.idle, phase.exposed_communication, phase.wall)
        for phase in phases
    ]


def _split(busy: int, idle: int, exposed: int, wall: int) -> str:
    parts = [("busy", busy), ("idle", idle)]
    if exposed:
        parts.append(("exposed communication", exposed))
    return ", ".join(f"{name} {share(time / wall) if wall else share(0.0)}" for name, time in parts)


def _families(summary: CaptureSummary) -> str:
    families = (f"{family.family} {share(family.share)}" for family in summary.families)
    return "of all device time: " + listed(families, _FAMILIES)
