"""What the engine's own import statistics mean: one table, and the judgement by it.

Only statistics with the severity ``error`` or ``data_loss`` are judged, and the severity is no
verdict by itself: v58 reports slices it kept as an ``error``. Whether device activities are
complete is decided by counting them in the file and in SQL, not here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Meaning = Literal["loss", "repair", "informational", "known harmless"]

JUDGED_SEVERITIES = ("error", "data_loss")


@dataclass(frozen=True)
class Stat:
    """One counter of the engine: its name, its value, and the severity the engine gives it."""

    name: str
    value: int
    severity: str


@dataclass(frozen=True)
class Rule:
    """What one statistic means.

    Attributes:
        name: the engine's name for it.
        versions: first and last major version the rule holds for; None is open.
        meaning: ``loss``: events of the file are missing in SQL; ``repair``: the engine changed
            events and kept them; ``informational``: everything was kept as it is; ``known
            harmless``: what is missing is nothing this project reads.
        action: what we do about it, in words for the user.
    """

    name: str
    versions: tuple[int | None, int | None]
    meaning: Meaning
    action: str

    def holds_for(self, major: int) -> bool:
        """Whether the rule speaks about this major version."""
        first, last = self.versions
        return (first is None or major >= first) and (last is None or major <= last)


_ALL = (None, None)

RULES = (
    # Kernels that overlap on a stream (programmatic dependent launch), Python frames that cross.
    Rule(
        "slice_drop_overlapping_complete_event",
        _ALL,
        "loss",
        "overlapping slices are moved to lanes of their own before the load",
    ),
    Rule(
        "slice_spill_overlapping_complete_event",
        (57, None),
        "informational",
        "the engine keeps overlapping slices on tracks of their own",
    ),
    # Negative or missing times, which the scan repairs before the load.
    Rule("slice_negative_duration", _ALL, "loss", "negative durations are repaired before load"),
    Rule(
        "trace_sorter_negative_timestamp_dropped",
        _ALL,
        "loss",
        "negative timestamps are repaired before the load",
    ),
    Rule("json_parser_failure", _ALL, "loss", "broken events are repaired before the load"),
    Rule("json_tokenizer_failure", _ALL, "loss", "broken events are repaired before the load"),
    # Spans and arrows that have one end only. An old Kineto capture has thousands of arrows
    # without a slice below them.
    Rule(
        "misplaced_end_event",
        _ALL,
        "known harmless",
        "an end without a begin spans nothing; device activities have a duration instead",
    ),
    Rule(
        "flow_no_enclosing_slice",
        _ALL,
        "known harmless",
        "an arrow that touches no slice; launches are found by correlation first",
    ),
    Rule("flow_duplicate_id", _ALL, "known harmless", "launches are found by correlation first"),
    Rule("flow_invalid_id", _ALL, "known harmless", "launches are found by correlation first"),
    Rule("flow_without_direction", _ALL, "known harmless", "launches are found by correlation"),
    # Perfetto's own format: packets whose clock nobody explained, and damaged recordings.
    Rule("clock_sync_failure", _ALL, "loss", "packets on an unknown clock are missing"),
    Rule(
        "clock_sync_failure_unknown_source_clock",
        _ALL,
        "loss",
        "packets on an unknown clock are missing",
    ),
    Rule("clock_sync_failure_no_path", _ALL, "loss", "packets on an unknown clock are missing"),
    Rule("gpu_render_stage_parser_errors", _ALL, "loss", "some GPU render stages are missing"),
    Rule("traced_final_flush_failed", _ALL, "loss", "the recording lacks its end"),
    Rule("traced_flushes_failed", _ALL, "loss", "the recording has gaps"),
)


@dataclass(frozen=True)
class Finding:
    """A statistic of a loaded trace with the rule that explains it, if there's one."""

    stat: Stat
    rule: Rule | None

    def line(self) -> str:
        """One line for a report."""
        what = f"{self.stat.name}={self.stat.value}"
        return f"{what} ({self.rule.meaning}): {self.rule.action}" if self.rule else what


@dataclass(frozen=True)
class Judgement:
    """The verdict over a trace's statistics.

    Attributes:
        unknown: error statistics without a rule: nobody knows what's missing, so the caller
            must stop, with `stop_line`.
        losses: events are missing. The caller stops when device activities are among them,
            which only counting tells, and reports them otherwise.
        remarks: repairs and harmless ones, for a report.
    """

    unknown: tuple[Finding, ...]
    losses: tuple[Finding, ...]
    remarks: tuple[Finding, ...]

    @property
    def stop_line(self) -> str:
        """Why the trace can't be trusted, in one line; empty when nothing is unknown."""
        if not self.unknown:
            return ""
        found = ", ".join(finding.line() for finding in self.unknown)
        return (
            f"the trace processor reports errors of unknown meaning ({found}): "
            "the result could lack events, so nothing is written; report the file"
        )


def judge(stats: Iterable[Stat], version: str) -> Judgement:
    """Judges the statistics of a loaded trace by the table.

    Args:
        stats: from `Engine.stats`; other severities than errors and data losses are ignored.
        version: of the engine, for instance ``v55.3``.
    """
    major = major_version(version)
    findings = [
        Finding(stat, _rule_for(stat.name, major))
        for stat in stats
        if stat.value and stat.severity in JUDGED_SEVERITIES
    ]
    return Judgement(
        unknown=tuple(found for found in findings if found.rule is None),
        losses=tuple(found for found in findings if found.rule and found.rule.meaning == "loss"),
        remarks=tuple(found for found in findings if found.rule and found.rule.meaning != "loss"),
    )


def major_version(version: str) -> int | None:
    """The major number of a version such as ``v55.3``; None for a build without a number."""
    digits = version.removeprefix("v").partition(".")[0]
    return int(digits) if digits.isdigit() else None


def _rule_for(name: str, major: int | None) -> Rule | None:
    for rule in RULES:
        # A build without a release number is somebody's own and newer than any release here.
        if rule.name == name and (major is None or rule.holds_for(major)):
            return rule
    return None
