"""Loops of kernels: what repeats, how often, on which ranks, and how much time it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.reports.text import duration, share
from perfetto_autoviz.session import Session

_TOTALS = """
SELECT count() AS activities, coalesce(sum(kernel.dur), 0) AS dur,
       count(member.seq) AS placed,
       coalesce(sum(iif(member.seq IS NULL, 0, kernel.dur)), 0) AS inside
FROM autoviz_kernel AS kernel LEFT JOIN autoviz_pattern_kernel AS member USING (seq)
"""

_OPS_SHOWN = 3


@dataclass(frozen=True)
class PatternRow:
    """One pattern over all ranks; times in ns.

    Attributes:
        name: P1, P1.2, …
        level: 0 for an outermost loop.
        kernels: device activities of a typical run.
        runs: on all ranks.
        expected: usual repeats in an outer run times such runs; None for an outermost loop.
        exact: runs without a missing, an extra or a swapped activity.
        ranks: ranks that run it.
        missing_ranks: ranks that don't.
        period: median from the start of one run to the next.
        share: of all device time.
        ops: its first operations.
    """

    name: str
    level: int
    kernels: int
    runs: int
    expected: int | None
    exact: int
    ranks: tuple[int, ...]
    missing_ranks: tuple[int, ...]
    period: int
    share: float
    ops: tuple[str, ...]


@dataclass(frozen=True)
class PatternReport:
    """All patterns of a run.

    Attributes:
        patterns: in the order of their names.
        activities: device activities of all ranks.
        placed: those that have a place in a pattern.
        time_share: share of the summed device time that is in patterns.
    """

    patterns: tuple[PatternRow, ...]
    activities: int
    placed: int
    time_share: float

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)


def pattern_report(sessions: Sequence[Session]) -> PatternReport:
    """Gathers the patterns of the open captures of one run."""
    first = sessions[0]
    patterns = first.relation("pattern")
    positions = first.relation("pattern_position")
    runs = pd.concat([session.relation("pattern_run") for session in sessions])
    totals = pd.concat([session.query(_TOTALS) for session in sessions]).sum()
    known = tuple(sorted(session.rank or 0 for session in sessions))
    whole = max(int(totals["dur"]), 1)
    rows = tuple(
        _row(pattern, positions, runs, known, whole) for pattern in patterns.to_dict("records")
    )
    return PatternReport(
        rows, int(totals["activities"]), int(totals["placed"]), int(totals["inside"]) / whole
    )


def _row(
    pattern: dict[Any, Any],
    positions: pd.DataFrame,
    runs: pd.DataFrame,
    known: tuple[int, ...],
    whole: int,
) -> PatternRow:
    mine = positions[positions["pattern_id"] == pattern["id"]]
    own = runs[runs["pattern_id"] == pattern["id"]]
    ranks = tuple(int(rank) for rank in str(pattern["ranks"]).split(","))
    odd = own[["missing", "extra", "swapped"]].sum(axis=1)
    return PatternRow(
        name=str(pattern["name"]),
        level=int(pattern["level"]),
        kernels=int(pattern["kernel_count"]),
        runs=int(pattern["run_count"]),
        expected=_expected(own),
        exact=int((odd == 0).sum()),
        ranks=ranks,
        missing_ranks=tuple(rank for rank in known if rank not in ranks),
        period=int(pattern["period"]),
        share=int(pattern["total_dur"]) / whole,
        ops=tuple(mine["op"].dropna().head(_OPS_SHOWN)),
    )


def _expected(own: pd.DataFrame) -> int | None:
    """Median repeats of a loop in a run around it, times such runs."""
    repeats = own.groupby("parent_id").size()
    return round(float(repeats.median()) * len(repeats)) if len(repeats) else None


def table(report: PatternReport) -> RenderableType:
    """The report as a table with a line about what is outside."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("Pattern", no_wrap=True)
    for title in ("Kernels", "Runs", "Exact", "Ranks", "Period", "Time"):
        shown.add_column(title, justify="right", no_wrap=True)
    shown.add_column("Starts with", overflow="ellipsis", no_wrap=True)
    for row in report.patterns:
        shown.add_row(
            "  " * row.level + row.name,
            f"{row.kernels:,}",
            f"{row.runs:,}",
            f"{row.exact:,}",
            _ranks(row),
            duration(row.period) if row.period else "-",
            share(row.share),
            ", ".join(row.ops),
        )
    outside = report.activities - report.placed
    line = (
        f"{report.placed:,} of {report.activities:,} device activities are in patterns"
        f" ({share(report.time_share)} of the device time), {outside:,} are in none"
    )
    return Group(shown, Text(), Text(line, style="dim"))


def _ranks(row: PatternRow) -> str:
    whole = len(row.ranks) + len(row.missing_ranks)
    return f"{len(row.ranks)}/{whole}" if row.missing_ranks else str(whole)
