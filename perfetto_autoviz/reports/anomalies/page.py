"""The page of abnormal runs: one file that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from perfetto_autoviz.reports.anomalies.charts import rebuilt_chart, series_chart
from perfetto_autoviz.reports.anomalies.report import AnomalyReport
from perfetto_autoviz.reports.page.html import Cell, Column, element, group, table
from perfetto_autoviz.reports.page.shell import whole_page
from perfetto_autoviz.reports.text import share
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps.anomalies.findings import Findings, Judged
from perfetto_autoviz.steps.anomalies.values import CHANNELS

MOST_RUNS = 500
"""Abnormal runs in the table, the largest excess first."""

MOST_REBUILT = 8
"""Runs whose reconstruction is drawn."""

_COLUMNS = (
    Column("Place"),
    Column("Rank"),
    Column("Run", "word"),
    Column("Tests", "word"),
    Column("Excess µs", help="Duration beyond that of normal runs."),
    Column("What", "sentence"),
)

Charts = dict[str, Any]


def page(report: AnomalyReport, sessions: Sequence[Session], found: Findings | None) -> str:
    """The whole page as HTML.

    Args:
        report: what was found.
        sessions: the open captures.
        found: the analysis, for reconstructions; None if it was read from enriched traces.
    """
    charts: Charts = {}
    body = [
        element("h1", "Abnormal runs"),
        _table(report),
        element("h2", "Flag rates"),
        _rates(report),
        element("h2", "Durations of all runs"),
        *_series(report, sessions, charts),
        *_reconstructions(report, found, charts),
    ]
    return whole_page("Abnormal runs", body, charts)


def _table(report: AnomalyReport) -> str:
    rows = [
        [
            Cell(str(run["ranking"]), int(run["ranking"])),
            Cell(str(run["rank"]), int(run["rank"])),
            Cell(f"{run['pattern']} #{run['number']}"),
            Cell(str(run["tests"]).replace(",", ", ")),
            Cell(f"{run['excess'] / 1e3:+,.1f}", int(run["excess"])),
            Cell(str(run["explanation"])),
        ]
        for run in report.runs.head(MOST_RUNS).to_dict("records")
    ]
    shown = table(_COLUMNS, rows, "Abnormal runs")
    more = len(report.runs) - MOST_RUNS
    return shown + (element("p", f"and {more:,} more") if more > 0 else "")


def _rates(report: AnomalyReport) -> str:
    columns = [
        *(Column(title, "word") for title in ("Pattern", "Rank", "Test")),
        *(Column(title) for title in ("Runs", "Judged", "Flagged", "Rate")),
        Column("Why not judged", "sentence"),
    ]
    rows = [
        [
            *(Cell(str(text)) for text in (one.pattern, one.rank, one.test)),
            *(Cell(f"{count:,}", count) for count in (one.runs, one.judged, one.flagged)),
            Cell("-" if one.rate is None else share(one.rate), one.rate),
            Cell("; ".join(one.reasons)),
        ]
        for one in report.combinations
    ]
    return table(columns, rows, "Flag rates")


def _series(report: AnomalyReport, sessions: Sequence[Session], charts: Charts) -> Iterator[str]:
    names = sessions[0].relation("pattern")[["id", "name"]]
    # Most abnormal runs are usually layers, and those of steps their consequence.
    most = report.runs["pattern_id"].mode()
    first = names["id"].head(1) if most.empty else most
    for pattern, name in zip(names["id"], names["name"], strict=True):
        parts = []
        for session in sessions:
            runs = session.relation("pattern_run")
            runs = runs[(runs["pattern_id"] == pattern) & runs["ts"].notna()].sort_values("number")
            rank, key = session.rank or 0, f"runs of {name} on rank {session.rank or 0}"
            own = report.runs["pattern_id"].eq(pattern) & report.runs["rank"].eq(rank)
            if len(runs):
                charts[key] = series_chart(runs, report.runs[own])
                parts.append(element("h3", f"rank {rank}"))
                parts.append(element("figure", "", data_chart=key))
        yield _folded(str(name), parts, is_open=pattern == first.iloc[0])


def _reconstructions(
    report: AnomalyReport, found: Findings | None, charts: Charts
) -> Iterator[str]:
    yield element("h2", "Reconstruction of the worst runs")
    judged = found.judged if found else {}
    if not judged:
        yield element("p", "The autoencoder did not run: use --autoencoder.")
        return
    shown = 0
    for run in report.runs.to_dict("records"):
        one = judged.get(int(run["pattern_id"]))
        if shown == MOST_REBUILT:
            break
        if one is None or one.verdict is None or run["test"] == "duration":
            continue
        row = int(np.flatnonzero(one.runs.matrix.run == int(run["run_id"]))[0])
        title = f"rank {run['rank']} {run['pattern']} #{run['number']}"
        yield _folded(
            f"{title}: {run['explanation']}",
            _both_channels(one, row, title, charts),
            is_open=shown == 0,
        )
        shown += 1
    if not shown:
        yield element("p", "It flags no run.")


def _both_channels(judged: Judged, row: int, title: str, charts: Charts) -> list[str]:
    verdict, parts = judged.verdict, []
    if verdict is None:
        return []
    scaled = verdict.scaled
    times, usual = scaled.times(row), scaled.normal_times(row)
    rebuilt = scaled.rebuilt_times(row, verdict.rebuilt[row])
    absent = ~scaled.there[row]
    for number, channel in enumerate(CHANNELS):
        key = f"{title} {channel}"
        shown = [np.where(absent[number], np.nan, part[number]) for part in (times, usual, rebuilt)]
        charts[key] = rebuilt_chart(judged.runs.matrix.ops, shown[0], shown[1], shown[2], channel)
        parts.append(element("figure", "", data_chart=key))
    return parts


def _folded(title: str, parts: Sequence[str], *, is_open: bool) -> str:
    opened = {"open": ""} if is_open else {}
    return group("details", [element("summary", title), *parts], **opened)
