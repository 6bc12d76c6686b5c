"""The terminal tables of abnormal runs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.reports.anomalies.report import AnomalyReport, Combination
from perfetto_autoviz.reports.text import duration, plural, share


def tables(report: AnomalyReport, most: int) -> RenderableType:
    """The whole report.

    Args:
        report: what was found.
        most: abnormal runs that are listed, the largest excess first.
    """
    return Group(*_parts(report, most))


def _parts(report: AnomalyReport, most: int) -> Iterator[RenderableType]:
    yield _ranked(report, most)
    more = len(report.runs) - most
    if more > 0:
        yield Text(f"and {more:,} more", style="dim")
    if any(one.judged for one in report.combinations):
        yield Text()
        yield _rates(report)
    if len(report.late):
        yield Text()
        yield _stragglers(report)
    yield from _not_judged(report)


def _ranked(report: AnomalyReport, most: int) -> RenderableType:
    if not len(report.runs):
        return Text("no run is abnormal" if report.combinations else "nothing repeats")
    shown = _table(("Rank", True), ("Run", False), ("Test", False), ("Excess", True))
    shown.add_column("What", overflow="fold")
    for run in report.runs.head(most).to_dict("records"):
        shown.add_row(
            str(run["rank"]),
            f"{run['pattern']} #{run['number']}",
            str(run["tests"]).replace(",", ", "),
            _signed(int(run["excess"])),
            str(run["explanation"]),
        )
    return shown


def _rates(report: AnomalyReport) -> RenderableType:
    """How many runs of each pattern are flagged on each rank, of those that are judged."""
    shown = _table(
        ("Pattern", False),
        ("Rank", True),
        ("Test", False),
        ("Runs", True),
        ("Judged", True),
        ("Flagged", True),
        ("Rate", True),
    )
    for one in report.combinations:
        if one.rate is not None:
            counts = (f"{count:,}" for count in (one.runs, one.judged, one.flagged))
            shown.add_row(one.pattern, str(one.rank), one.test, *counts, share(one.rate))
    return shown


def _stragglers(report: AnomalyReport) -> RenderableType:
    shown = _table(
        ("Pattern", False),
        ("Late rank", True),
        ("Runs", True),
        ("Latest run", True),
        ("Late by", True),
        ("Usually", True),
    )
    for (pattern, rank), own in report.late.groupby(["pattern", "late_rank"]):
        worst = own.sort_values("late").iloc[-1]
        shown.add_row(
            str(pattern),
            str(rank),
            f"{len(own):,}",
            f"#{worst['number']}",
            duration(float(worst["late"])),
            _signed(int(worst["usual"])),
        )
    return shown


def _not_judged(report: AnomalyReport) -> Iterator[RenderableType]:
    for test in ("duration", "autoencoder"):
        own = [one for one in report.combinations if one.test == test and one.judged < one.runs]
        if own:
            yield Text(_why(test, own), style="dim")


def _why(test: str, combinations: list[Combination]) -> str:
    runs = sum(one.runs - one.judged for one in combinations)
    reasons = sorted({reason for one in combinations for reason in one.reasons})
    some = "; ".join(reasons[:2]) + ("; …" if len(reasons) > 2 else "")
    return f"not judged by {test}: {plural(runs, 'run')} ({some})"


def _table(*columns: tuple[str, bool]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for title, number in columns:
        shown.add_column(title, justify="right" if number else "left", no_wrap=True)
    return shown


def _signed(ns: int) -> str:
    return f"{'+' if ns >= 0 else '-'}{duration(abs(ns))}"
