"""Compares what was found with what is known of abnormal runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfetto_autoviz.evaluation.labels import Label
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.steps.anomalies.runs import Bools
from perfetto_autoviz.steps.intervals import Ints

LEAST_OVERLAP = 0.5
"""Share of the time of both a label and a run that they must have in common to be the same: the
run's ends may be drawn elsewhere, but it is neither a part of it nor what lies around it."""

METHODS = ("baseline", "autoencoder", "combined")
"""What is compared. The autoencoder alone is its largest error; combined are all its tests."""


@dataclass(frozen=True)
class Blamed:
    """What a method says is wrong with a run.

    Attributes:
        kernel: number of the activity on its rank, -1 for one that did not run.
        op: its operation, None if nothing is blamed.
        channel: what is wrong with it.
    """

    kernel: int
    op: str | None
    channel: str


@dataclass(frozen=True)
class Finding:
    """What a method says of some runs; arrays have shape ``(runs,)``.

    Attributes:
        judged: runs that it could judge.
        flagged: runs that it calls abnormal.
        blamed: by row of a flagged run, what it blames first.
    """

    judged: Bools
    flagged: Bools
    blamed: Mapping[int, Blamed]


@dataclass(frozen=True)
class Found:
    """Runs of one pattern, and what each method says of them.

    Attributes:
        rank: rank of each run, shape ``(runs,)``, as all below.
        ts: its start in ns.
        dur: its duration in ns.
        size: activities of a usual run.
        findings: by method.
    """

    rank: Ints
    ts: Ints
    dur: Ints
    size: int
    findings: Mapping[str, Finding]


@dataclass(frozen=True)
class Outcome:
    """What one method made of one abnormal run.

    Attributes:
        method: the method.
        kind: what is wrong with the run.
        family: class of the kernel to blame.
        size: activities of a usual run.
        placed: whether a run was detected there at all.
        found: whether it was flagged.
        kernel: whether the right kernel was blamed; None if there's none, or it wasn't found.
        channel: whether the right channel was, too.
    """

    method: str
    kind: str
    family: str
    size: int
    placed: bool
    found: bool
    kernel: bool | None = None
    channel: bool | None = None


@dataclass
class Tally:
    """What came out for one pattern.

    Attributes:
        outcomes: of abnormal runs.
        alarms: by method the share of runs with nothing wrong that it flags.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    alarms: dict[str, Rate] = field(default_factory=dict)

    def add_alarms(self, method: str, rate: Rate) -> None:
        """Counts flagged ones among runs with nothing wrong."""
        self.alarms[method] = self.alarms.get(method, Rate(0, 0)) + rate


def outcomes(labels: Sequence[Label], found: Sequence[Found], size: int = 0) -> list[Outcome]:
    """What each method made of each abnormal run.

    A run that detection no longer finds in its place counts as missed.

    Args:
        labels: what is known.
        found: what was found, by pattern.
        size: activities of a usual run, where detection finds none.
    """
    places = [[_rows_at(label, one) for one in found] for label in labels]
    return [
        _outcome(label, method, found, rows, size)
        for label, rows in zip(labels, places, strict=True)
        for method in METHODS
    ]


def untouched(labels: Sequence[Label], found: Found) -> Bools:
    """Runs that have no time in common with an abnormal one."""
    clear = np.ones(len(found.ts), bool)
    for label in labels:
        clear &= ~((found.rank == label.rank) & (_common(label, found) > 0))
    return clear


def _outcome(
    label: Label, method: str, found: Sequence[Found], rows: Sequence[Ints], size: int
) -> Outcome:
    placed = [one.size for one, at in zip(found, rows, strict=True) if len(at)]
    size = placed[0] if placed else size
    known = (method, label.kind, label.family, size, bool(placed))
    for one, at in zip(found, rows, strict=True):
        finding = one.findings[method]
        flagged = at[finding.flagged[at]]
        if len(flagged):
            blamed = [finding.blamed[row] for row in flagged.tolist() if row in finding.blamed]
            return Outcome(*known, True, *_right(label, blamed))
    return Outcome(*known, False)


def _right(label: Label, blamed: Sequence[Blamed]) -> tuple[bool | None, bool | None]:
    """Whether kernel and channel are those of the label."""
    if not label.blames:
        return None, None
    fitting = [one for one in blamed if _is_culprit(label, one)]
    channel = None if label.channel is None else any(o.channel == label.channel for o in fitting)
    return bool(fitting), channel


def _is_culprit(label: Label, blamed: Blamed) -> bool:
    if label.culprits:
        return blamed.kernel in label.culprits
    return blamed.op == label.op and blamed.channel == "order"


def _rows_at(label: Label, found: Found) -> Ints:
    """Runs in the place of an abnormal one."""
    common = _common(label, found)
    enough = (common >= LEAST_OVERLAP * label.dur) & (common >= LEAST_OVERLAP * found.dur)
    return np.flatnonzero(enough & (common > 0) & (found.rank == label.rank))


def _common(label: Label, found: Found) -> Ints:
    """Time in ns that each run has in common with an abnormal one."""
    end = np.minimum(found.ts + found.dur, label.ts + label.dur)
    return np.asarray(np.maximum(end - np.maximum(found.ts, label.ts), 0), np.int64)
