"""How long each kernel of a layer takes: one section per kind of layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.reports.frames import integer, text
from perfetto_autoviz.reports.text import listed, microseconds, plural
from perfetto_autoviz.steps.ops import short_label

COLUMNS = ("Pos", "Kernel", "Avg", "Std", "Min", "Max", "%", "N")
"""The table's columns; times are in µs."""

CSV_COLUMNS = (*COLUMNS, "Kind", "Op", "Rank")
"""The CSV file's columns: the table's, and what the table says in headings or shortens."""

PREFERRED_PHASE = "decode"
"""The phase that is shown if none is chosen and there is one."""

_GROUPS_NAMED = 8


@dataclass(frozen=True)
class Position:
    """One kernel of a layer over all its executions. Times in ns.

    Attributes:
        position: place in the layer, from 0.
        op: its canonical operation.
        op_count: different operations at this place; more than 1 if executions differ.
        mean: mean duration.
        std: standard deviation over all executions.
        min: shortest duration.
        max: longest duration.
        total: sum of the durations.
        share: share of the sum over the section, from 0 to 1.
        count: kernels at this place.
    """

    position: int
    op: str
    op_count: int
    mean: float
    std: float
    min: int
    max: int
    total: int
    share: float
    count: int

    @property
    def label(self) -> str:
        """A short name; with a star where executions run different operations."""
        return short_label(self.op) + ("*" if self.op_count > 1 else "")


@dataclass(frozen=True)
class Section:
    """A kind of layer on one rank.

    Attributes:
        rank: the rank, None if unknown.
        kind: what the layer consists of.
        executions: how often a layer of the kind was executed.
        steps: steps of the group, counted once per device.
        positions: its kernels in order.
    """

    rank: int | None
    kind: str
    executions: int
    steps: int
    positions: tuple[Position, ...]

    @property
    def layers_per_step(self) -> float:
        """Layers of the kind in one step, on average."""
        return self.executions / self.steps

    @property
    def layer_total(self) -> float:
        """Sum of all kernels' durations in one layer in ns, on average."""
        return sum(p.total for p in self.positions) / self.executions

    @property
    def step_total(self) -> float:
        """The same for all layers of the kind in one step, in ns."""
        return self.layer_total * self.layers_per_step


@dataclass(frozen=True)
class LayerReport:
    """The layers of all steps of one phase and batch size.

    Attributes:
        phase: the phase, None if the steps have none.
        batch_size: requests in the steps, None if unknown.
        sections: kinds of layers, rank by rank.
    """

    phase: str | None
    batch_size: int | None
    sections: tuple[Section, ...]

    @property
    def group(self) -> str:
        """What the steps have in common: ``decode bs=32``."""
        return _group_name(self.phase, self.batch_size)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values; times in ns."""
        return {
            "phase": self.phase,
            "batch_size": self.batch_size,
            "sections": [
                {
                    **asdict(section),
                    "positions": [{**asdict(p), "label": p.label} for p in section.positions],
                    "layers_per_step": section.layers_per_step,
                    "layer_total": section.layer_total,
                    "step_total": section.step_total,
                }
                for section in self.sections
            ],
        }


def layer_report(
    positions: pd.DataFrame,
    executions: pd.DataFrame,
    phase: str | None = None,
    batch_size: int | None = None,
) -> LayerReport:
    """Chooses a group of steps and gathers its layers.

    Without a choice it's the batch size that most decode steps have, of two as frequent the
    larger; in a capture without decode steps the group with the most steps of any phase.

    Args:
        positions: rows of ``autoviz_layer_position``, with a column ``rank``.
        executions: one row per rank, phase, batch size, kind, iteration and device with the
            column ``executions``: how often a layer of the kind was executed there.
        phase: the phase to show.
        batch_size: the batch size to show.

    Raises:
        UsageError: there are no such steps.
    """
    chosen = _choose(executions, phase, batch_size)
    mine = _of_group(executions, chosen)
    return LayerReport(*chosen, tuple(_sections(_of_group(positions, chosen), mine)))


def table(report: LayerReport) -> RenderableType:
    """The report for a terminal: a table per kind with its totals, and one of all kinds."""
    parts: list[RenderableType] = []
    several_ranks = len({section.rank for section in report.sections}) > 1
    for section in report.sections:
        heading = f"{section.kind} · {report.group} · {plural(section.executions, 'execution')}"
        if several_ranks:
            heading = f"rank {section.rank} · {heading}"
        parts += [Text(heading, style="bold"), _section_table(section), Text()]
    for rank, sections in _several_kinds(report):
        total = sum(section.step_total for section in sections)
        layers = sum(section.layers_per_step for section in sections)
        place = f"rank {rank}: " if several_ranks else ""
        line = f"{place}all kinds · x {_layers(layers)} · {microseconds(total)} µs"
        parts += [Text(line, style="bold"), Text()]
    parts.append(Text("times in µs; N counts the kernels at a position", style="dim"))
    if any(p.op_count > 1 for section in report.sections for p in section.positions):
        parts.append(Text("* executions differ there: the most frequent op is named", style="dim"))
    return Group(*parts)


def rows(report: LayerReport) -> pd.DataFrame:
    """The report as a frame with `CSV_COLUMNS`; times in µs, totals as in the table."""
    found = []
    for section in report.sections:
        tail = {"Kind": section.kind, "Rank": section.rank}
        for p in section.positions:
            found.append({**_csv_position(p), "Op": p.op, **tail})
        per_layer, all_layers = _totals(section)
        found.append({"Kernel": per_layer, "Avg": _csv_us(section.layer_total), **tail})
        found.append({"Kernel": all_layers, "Avg": _csv_us(section.step_total), **tail})
    for rank, sections in _several_kinds(report):
        total = sum(section.step_total for section in sections)
        layers = sum(section.layers_per_step for section in sections)
        label = f"x {_layers(layers)}"
        found.append({"Kernel": label, "Avg": _csv_us(total), "Kind": "all", "Rank": rank})
    frame = pd.DataFrame(found, columns=list(CSV_COLUMNS))
    return frame.astype({"Pos": "Int64", "N": "Int64", "Rank": "Int64"})


def _choose(
    executions: pd.DataFrame, phase: str | None, batch_size: int | None
) -> tuple[str | None, int | None]:
    steps = (
        executions.drop_duplicates(["rank", "phase", "batch_size", "iteration_id"])
        .groupby(["phase", "batch_size"], dropna=False, sort=True)
        .size()
        .reset_index(name="steps")
    )
    groups = [
        (text(row.phase), integer(row.batch_size), int(str(row.steps)))
        for row in steps.itertuples()
    ]
    if phase is None and any(group[0] == PREFERRED_PHASE for group in groups):
        phase = PREFERRED_PHASE
    fitting = [
        group for group in groups if phase in (None, group[0]) and batch_size in (None, group[1])
    ]
    if not fitting:
        have = listed(
            (f"{_group_name(p, n)} ({plural(c, 'step')})" for p, n, c in groups), _GROUPS_NAMED
        )
        raise UsageError(
            f"no layers in steps of {_group_name(phase, batch_size)}: there are {have}"
        )
    found, size, _ = max(fitting, key=lambda group: (group[2], group[1] or 0))
    return found, size


def _of_group(frame: pd.DataFrame, group: tuple[str | None, int | None]) -> pd.DataFrame:
    phase, size = group
    same_phase = frame["phase"].isna() if phase is None else frame["phase"] == phase
    same_size = frame["batch_size"].isna() if size is None else frame["batch_size"] == size
    return frame[same_phase.fillna(False).astype(bool) & same_size.fillna(False).astype(bool)]


def _sections(positions: pd.DataFrame, executions: pd.DataFrame) -> Iterator[Section]:
    for rank, of_rank in executions.groupby("rank", dropna=False, sort=True):
        steps = len(of_rank.drop_duplicates(["iteration_id", "device"]))
        same_rank = positions["rank"].isna() if pd.isna(rank) else positions["rank"] == rank
        for kind, of_kind in of_rank.groupby("kind", sort=True):
            mine = positions[same_rank.astype(bool) & (positions["kind"] == kind)]
            yield Section(
                rank=integer(rank),
                kind=str(kind),
                executions=int(of_kind["executions"].sum()),
                steps=steps,
                positions=tuple(map(_position, mine.sort_values("position").to_dict("records"))),
            )


def _position(row: dict[Any, Any]) -> Position:
    return Position(
        position=int(row["position"]),
        op=str(row["op"]),
        op_count=int(row["op_count"]),
        mean=float(row["mean_dur"]),
        std=float(row["std_dur"]),
        min=int(row["min_dur"]),
        max=int(row["max_dur"]),
        total=int(row["total_dur"]),
        share=float(row["share"]),
        count=int(row["kernel_count"]),
    )


def _section_table(section: Section) -> Table:
    found = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for name in COLUMNS:
        found.add_column(
            name,
            justify="left" if name == "Kernel" else "right",
            no_wrap=True,
            overflow="ellipsis",
        )
    for p in section.positions:
        times = (microseconds(t) for t in (p.mean, p.std, p.min, p.max))
        found.add_row(str(p.position), p.label, *times, f"{100 * p.share:.1f}", f"{p.count}")
    per_layer, all_layers = _totals(section)
    found.add_row("", per_layer, microseconds(section.layer_total), style="bold")
    found.add_row("", all_layers, microseconds(section.step_total), style="bold")
    return found


def _totals(section: Section) -> tuple[str, str]:
    return "TOTAL per layer", f"x {_layers(section.layers_per_step)}"


def _several_kinds(report: LayerReport) -> Iterator[tuple[int | None, Sequence[Section]]]:
    """The sections of each rank that has more than one."""
    for rank in dict.fromkeys(section.rank for section in report.sections):
        sections = [section for section in report.sections if section.rank == rank]
        if len(sections) > 1:
            yield rank, sections


def _csv_position(p: Position) -> dict[str, Any]:
    times = {"Avg": p.mean, "Std": p.std, "Min": p.min, "Max": p.max}
    return {
        "Pos": p.position,
        "Kernel": p.label,
        **{name: _csv_us(value) for name, value in times.items()},
        "%": round(100 * p.share, 2),
        "N": p.count,
    }


def _csv_us(ns: float) -> float:
    """µs to the ns, which is as fine as captures are."""
    return round(ns / 1e3, 3)


def _layers(count: float) -> str:
    number = f"{count:.0f}" if count == round(count) else f"{count:.1f}"
    return f"{number} {'layer' if count == 1 else 'layers'}"


def _group_name(phase: str | None, batch_size: int | None) -> str:
    size = "" if batch_size is None else f" bs={batch_size}"
    return f"{phase or 'any phase'}{size}"
