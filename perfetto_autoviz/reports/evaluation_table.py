"""How well anomalies are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.evaluation.labels import ALL
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.results import NOTHING, Row, rows
from perfetto_autoviz.evaluation.score import METHODS
from perfetto_autoviz.evaluation.trial import PatternTrial, Trial
from perfetto_autoviz.reports.text import plural, share
from perfetto_autoviz.synth.anomaly_kinds import KINDS, WORDS

_WORDS: Mapping[str, str] = {NOTHING: "nothing: false alarms"} | {
    str(k): v for k, v in WORDS.items()
}


@dataclass(frozen=True)
class EvaluationReport:
    """The results of a trial.

    Attributes:
        patterns: what was tried.
        rows: by pattern what came out.
    """

    patterns: Sequence[PatternTrial]
    rows: Sequence[Sequence[Row]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "interval": "Wilson, 95 %",
            "patterns": [
                {**_pattern(pattern), "results": [_flat(row) for row in own]}
                for pattern, own in zip(self.patterns, self.rows, strict=True)
            ],
        }

    def frame(self) -> pd.DataFrame:
        """For CSV: a row per pattern, kind, class of kernels and method."""
        return pd.DataFrame(
            [
                {"pattern": pattern.name, "size": pattern.size, **_flat(row)}
                for pattern, own in zip(self.patterns, self.rows, strict=True)
                for row in own
            ]
        )


def evaluation_report(trial: Trial) -> EvaluationReport:
    """The report of a trial."""
    kinds = [*KINDS, *sorted(_kinds(trial) - {*KINDS})]
    return EvaluationReport(trial.patterns, [rows(tally, kinds) for tally in trial.tallies])


def table(report: EvaluationReport) -> RenderableType:
    """The report for a terminal."""
    parts: list[RenderableType] = []
    for pattern, own in zip(report.patterns, report.rows, strict=True):
        parts += [
            Text(_title(pattern), style="bold"),
            _recall(own),
            *_classes(own),
            *_notes(pattern),
            "",
        ]
    if not parts:
        return Text("No pattern has enough runs to try anything on.")
    parts.append(Text("± half of a 95 % interval (Wilson)", style="dim"))
    return Group(*parts)


def _kinds(trial: Trial) -> set[str]:
    return {one.kind for tally in trial.tallies for one in tally.outcomes}


def _title(pattern: PatternTrial) -> str:
    if not pattern.size:
        return f"{pattern.name}: {plural(pattern.runs, 'run')}, all learned from and judged"
    return (
        f"{pattern.name}: runs of {plural(pattern.size, 'kernel')}, {pattern.train:,} to train,"
        f" {pattern.threshold:,} for thresholds, {pattern.test:,} to test in"
        f" {plural(pattern.copies, 'copy', 'copies')}"
    )


def _recall(own: Sequence[Row]) -> Table:
    methods = [method for method in METHODS if any(row.method == method for row in own)]
    best = methods[-1] if methods else METHODS[0]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("flagged, of runs with")
    for name in ("runs", *methods, "right kernel", "right channel", "lost"):
        grid.add_column(name, justify="right")
    for kind in dict.fromkeys(row.kind for row in own):
        by_method = {row.method: row for row in own if row.kind == kind and row.family == ALL}
        row = by_method.get(best)
        cells = [_sure(by_method[m].flagged) if m in by_method else "–" for m in methods]
        count = max(one.flagged.count for one in by_method.values())
        located = [_share(rate) for rate in (row.kernel, row.channel)] if row else ["–", "–"]
        grid.add_row(_WORDS.get(kind, kind), f"{count:,}", *cells, *located, _lost(row))
    return grid


def _classes(own: Sequence[Row]) -> Iterator[RenderableType]:
    """What the best method finds, by class of kernels."""
    best = [row for row in own if row.family != ALL and row.method == own[-1].method]
    families = sorted({row.family for row in best})
    if len(families) < 2:
        return
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column(f"{own[-1].method}, by class", style="dim")
    for family in families:
        grid.add_column(family, justify="right")
    for kind in dict.fromkeys(row.kind for row in best):
        known = {row.family: row for row in best if row.kind == kind}
        cells = [share(known[f].flagged.share) if f in known else "–" for f in families]
        grid.add_row(_WORDS.get(kind, kind).split(":")[0], *cells)
    yield grid


def _notes(pattern: PatternTrial) -> Iterator[RenderableType]:
    unjudged = [
        f"{method} can't judge {pattern.test - count:,} of {pattern.test:,} test runs"
        for method, count in pattern.judged.items()
        if count < pattern.test
    ]
    if pattern.without:
        unjudged.append(
            "no place for: " + ", ".join(kind.replace("_", " ") for kind in pattern.without)
        )
    if unjudged:
        yield Text("; ".join(unjudged), style="dim")


def _sure(rate: Rate) -> str:
    low, high = rate.interval
    return f"{share(rate.share)} ±{50 * (high - low):.1f}"


def _share(rate: Rate | None) -> str:
    return share(rate.share) if rate else "–"


def _lost(row: Row | None) -> str:
    if row is None or row.placed is None:
        return "–"
    return share(1 - row.placed.share)


def _pattern(pattern: PatternTrial) -> dict[str, Any]:
    return {
        "pattern": pattern.name,
        "size": pattern.size,
        "runs": pattern.runs,
        "train": pattern.train,
        "threshold": pattern.threshold,
        "test": pattern.test,
        "judged": dict(pattern.judged),
        "copies": pattern.copies,
        "without": list(pattern.without),
    }


def _flat(row: Row) -> dict[str, Any]:
    low, high = row.flagged.interval
    return {
        "kind": row.kind,
        "family": row.family,
        "method": row.method,
        "runs": row.flagged.count,
        "flagged": row.flagged.hits,
        "share": row.flagged.share,
        "low": low,
        "high": high,
        "placed": row.placed.hits if row.placed else None,
        "kernel_known": row.kernel.count if row.kernel else None,
        "kernel_right": row.kernel.hits if row.kernel else None,
        "channel_right": row.channel.hits if row.channel else None,
    }
