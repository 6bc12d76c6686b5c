"""Loops of kernels: what repeats, how often, on which ranks, and how much time it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.reports.pattern_launches import LaunchCounts, Launches
from perfetto_autoviz.reports.text import duration, listed, share
from perfetto_autoviz.session import Session

_TOTALS = """
SELECT count() AS activities, coalesce(sum(kernel.dur), 0) AS dur,
       count(member.seq) AS placed,
       coalesce(sum(iif(member.seq IS NULL, 0, kernel.dur)), 0) AS inside
FROM autoviz_kernel AS kernel LEFT JOIN autoviz_pattern_kernel AS member USING (seq)
"""

_PLACED = """
SELECT pattern_id, position, kind, count() AS n FROM autoviz_pattern_kernel GROUP BY 1, 2, 3
"""

# A layer is in the loop that its first kernel is in.
_LAYERS = """
SELECT place.pattern_id, layer.kind, count() AS n
FROM autoviz_layer_kernel AS member
JOIN autoviz_layer AS layer ON layer.id = member.layer_id
JOIN autoviz_pattern_kernel AS place USING (seq)
WHERE member.position = 0
GROUP BY 1, 2
"""

_VARIANTS = "SELECT * FROM autoviz_pattern_variant"
_SHAPE = ["name", "grid", "block", "registers", "shared_memory"]

_OPS_SHOWN, _NAMES_SHOWN, _VARIANTS_SHOWN = 3, 12, 5
_OP_WIDTH = 64


@dataclass(frozen=True)
class VariantRow:
    """One way in which a kernel is launched at a position, over all ranks.

    Attributes:
        name: of the kernel, as recorded.
        grid: blocks of the grid, as x,y,z; None if not recorded.
        block: threads of a block, as x,y,z; None if not recorded.
        registers: of a thread; None if not recorded.
        shared_memory: bytes of a block; None if not recorded.
        launches: kernels launched so.
        mean_dur: their mean duration in ns.
    """

    name: str
    grid: str | None
    block: str | None
    registers: int | None
    shared_memory: int | None
    launches: int
    mean_dur: float


@dataclass(frozen=True)
class PositionRow:
    """One position of a pattern over all runs on all ranks; times in ns.

    Attributes:
        position: from 0.
        op: canonical operation, or the name of the inner loop that repeats here.
        launches: kernels that ran there, or repeats of the inner loop.
        mean_dur: mean duration of the usual operation.
        std_dur: its standard deviation.
        min_dur: shortest.
        median_dur: median.
        max_dur: longest.
        variants: launch shapes, the most time first; none for an inner loop.
    """

    position: int
    op: str
    launches: int
    mean_dur: float
    std_dur: float
    min_dur: int
    median_dur: float
    max_dur: int
    variants: tuple[VariantRow, ...]


@dataclass(frozen=True)
class PatternRow:
    """One pattern over all ranks; times in ns.

    Attributes:
        name: P1, P1.2, …
        level: 0 for an outermost loop.
        kernels: device activities of a typical run.
        runs: on all ranks.
        launches: kernels of a run times repeats of each loop around it, and what was launched.
        layers: executions of each kind of layer that start in it.
        exact: runs without a missing, an extra or a swapped activity.
        ranks: ranks that run it.
        missing_ranks: ranks that don't.
        period: median from the start of one run to the next.
        share: of all device time.
        ops: its first operations.
        positions: what runs at each of its positions.
    """

    name: str
    level: int
    kernels: int
    runs: int
    launches: Launches
    layers: dict[str, int]
    exact: int
    ranks: tuple[int, ...]
    missing_ranks: tuple[int, ...]
    period: int
    share: float
    ops: tuple[str, ...]
    positions: tuple[PositionRow, ...]


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
        document = asdict(self)
        for plain, row in zip(document["patterns"], self.patterns, strict=True):
            plain["launches"] |= {
                "expected_runs": row.launches.expected_runs,
                "expected": row.launches.expected,
                "observed": row.launches.observed,
            }
        return document


def pattern_report(sessions: Sequence[Session]) -> PatternReport:
    """Gathers the patterns of the open captures of one run."""
    first = sessions[0]
    patterns = first.relation("pattern")
    positions = first.relation("pattern_position")
    runs = pd.concat(
        [session.relation("pattern_run").assign(rank=session.rank or 0) for session in sessions]
    )
    totals = _all(sessions, _TOTALS).sum()
    counts = LaunchCounts(patterns, positions, runs, _all(sessions, _PLACED))
    gathered = _Gathered(
        counts,
        layers=_all(sessions, _LAYERS),
        variants=_all(sessions, _VARIANTS),
        ranks=tuple(sorted(session.rank or 0 for session in sessions)),
        dur=max(int(totals["dur"]), 1),
    )
    rows = tuple(_row(pattern, gathered) for pattern in patterns.to_dict("records"))
    return PatternReport(
        rows,
        int(totals["activities"]),
        int(totals["placed"]),
        int(totals["inside"]) / gathered.dur,
    )


def choose(report: PatternReport, name: str) -> PatternRow:
    """The pattern of a name.

    Raises:
        UsageError: there is none.
    """
    rows = {row.name: row for row in report.patterns}
    if name not in rows:
        known = listed(rows, _NAMES_SHOWN) or "none"
        raise UsageError(f"there is no pattern {name}; there are: {known}")
    return rows[name]


def _all(sessions: Sequence[Session], sql: str) -> pd.DataFrame:
    """What a query finds on all ranks, one below the other."""
    return pd.concat([session.query(sql) for session in sessions], ignore_index=True)


@dataclass(frozen=True)
class _Gathered:
    """What the rows are made of, of all ranks: ``dur`` is all device time in ns."""

    counts: LaunchCounts
    layers: pd.DataFrame
    variants: pd.DataFrame
    ranks: tuple[int, ...]
    dur: int


def _row(pattern: dict[Any, Any], of: _Gathered) -> PatternRow:
    number = pattern["id"]
    mine = of.counts.positions[of.counts.positions["pattern_id"] == number]
    own = of.counts.runs[of.counts.runs["pattern_id"] == number]
    layers = of.layers[of.layers["pattern_id"] == number].groupby("kind")["n"].sum()
    ranks = tuple(int(rank) for rank in str(pattern["ranks"]).split(","))
    odd = own[["missing", "extra", "swapped"]].sum(axis=1)
    launches = of.counts.of(int(number))
    return PatternRow(
        name=str(pattern["name"]),
        level=int(pattern["level"]),
        kernels=int(pattern["kernel_count"]),
        runs=int(pattern["run_count"]),
        launches=launches,
        layers={str(kind): int(count) for kind, count in layers.items()},
        exact=int((odd == 0).sum()),
        ranks=ranks,
        missing_ranks=tuple(rank for rank in of.ranks if rank not in ranks),
        period=int(pattern["period"]),
        share=int(pattern["total_dur"]) / of.dur,
        ops=tuple(mine["op"].dropna().head(_OPS_SHOWN)),
        positions=tuple(_position(row, launches, of) for row in mine.to_dict("records")),
    )


def _position(row: dict[Any, Any], counted: Launches, of: _Gathered) -> PositionRow:
    here = of.variants["pattern_id"] == row["pattern_id"]
    variants = of.variants[here & (of.variants["position"] == row["position"])]
    inner = row["inner_id"]
    return PositionRow(
        position=int(row["position"]),
        op=str(row["op"]) if pd.isna(inner) else of.counts.names[int(inner)],
        launches=counted.positions.get(int(row["position"]), int(row["kernel_count"])),
        mean_dur=float(row["mean_dur"]),
        std_dur=float(row["std_dur"]),
        min_dur=int(row["min_dur"]),
        median_dur=float(row["median_dur"]),
        max_dur=int(row["max_dur"]),
        variants=_variants(variants),
    )


def _variants(here: pd.DataFrame) -> tuple[VariantRow, ...]:
    found = here.groupby(_SHAPE, dropna=False)[["kernel_count", "total_dur"]].sum()
    found = found.sort_values("total_dur", ascending=False, kind="stable").reset_index()
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    return tuple(
        VariantRow(
            name=str(row["name"]),
            grid=row["grid"],
            block=row["block"],
            registers=None if row["registers"] is None else int(row["registers"]),
            shared_memory=None if row["shared_memory"] is None else int(row["shared_memory"]),
            launches=int(row["kernel_count"]),
            mean_dur=float(row["total_dur"]) / int(row["kernel_count"]),
        )
        for row in rows
    )


def table(report: PatternReport) -> RenderableType:
    """The report as a table, the arithmetic of launches, and a line about what is outside."""
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
    return Group(shown, Text(), *map(_arithmetic, report.patterns), Text(), Text(line, style="dim"))


def _arithmetic(row: PatternRow) -> Text:
    """``P1.1: 14 kernels × 48 runs in each P1 × 63 runs of P1 = 42,336 launches``."""
    layers = ", ".join(f"{count:,} {kind}" for kind, count in row.layers.items())
    ends = f" ({sum(row.layers.values()):,} layers: {layers})" if layers else ""
    return Text(f"{row.name}: {row.launches}{ends}", no_wrap=False)


def positions_table(row: PatternRow) -> RenderableType:
    """The positions of one pattern, each with its launch shapes where there are several."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("Position", no_wrap=True)
    shown.add_column("Operation", overflow="ellipsis", no_wrap=True, max_width=_OP_WIDTH)
    for title in ("Launches", "Mean", "Std", "Min", "Median", "Max"):
        shown.add_column(title, justify="right", no_wrap=True)
    for at in row.positions:
        times = (at.mean_dur, at.std_dur, at.min_dur, at.median_dur, at.max_dur)
        shown.add_row(str(at.position), at.op, f"{at.launches:,}", *map(duration, times))
        if len(at.variants) > 1:
            named = len({variant.name for variant in at.variants}) > 1
            for variant in at.variants[:_VARIANTS_SHOWN]:
                cells = (f"{variant.launches:,}", duration(variant.mean_dur))
                shown.add_row("", f"  {_shape(variant, named)}", *cells, style="dim")
            if more := at.variants[_VARIANTS_SHOWN:]:
                count = sum(variant.launches for variant in more)
                shown.add_row("", f"  {len(more):,} other shapes", f"{count:,}", style="dim")
    return Group(shown, Text(), _arithmetic(row))


def _shape(variant: VariantRow, named: bool) -> str:
    """``grid 4776,1,1 block 256,1,1``, with the kernel's name where names differ."""
    parts = (
        ("grid", variant.grid),
        ("block", variant.block),
        ("registers", variant.registers),
        ("shared", variant.shared_memory),
    )
    known = " ".join(f"{what} {value}" for what, value in parts if value is not None)
    known = known or "shape not recorded"
    return f"{known} {variant.name}" if named else known


def _ranks(row: PatternRow) -> str:
    whole = len(row.ranks) + len(row.missing_ranks)
    return f"{len(row.ranks)}/{whole}" if row.missing_ranks else str(whole)
