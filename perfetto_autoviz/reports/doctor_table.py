"""What the examination of engines and packages found, for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.engine.doctor import DoctorReport, EngineReport


def table(report: DoctorReport) -> RenderableType:
    """The report as text: engines first, then their surroundings, then what to do."""
    verdict = "all is well" if report.works else "something is missing"
    parts: list[RenderableType] = [_engines(report), Text(), _surroundings(report), Text()]
    if report.remedies:
        parts += [
            Text("what to do", style="bold"),
            *(Text(f"  {line}") for line in report.remedies),
        ]
    parts.append(Text(verdict, style="bold green" if report.works else "bold red"))
    return Group(*parts)


def _engines(report: DoctorReport) -> Table:
    found = Table.grid(padding=(0, 2, 0, 0))
    found.add_row(Text("engines, in the order in which they are tried", style="bold"))
    rows = Table.grid(padding=(0, 2, 0, 0))
    for engine in report.engines:
        mark = Text("works", style="green") if engine.works else Text("no", style="red")
        rows.add_row(f"  {engine.kind}", mark, _about(engine))
    found.add_row(rows)
    return found


def _about(engine: EngineReport) -> Text:
    if not engine.works:
        return Text(engine.problem or "not found", overflow="fold")
    overlaps = "keeps" if engine.keeps_overlaps else "drops"
    about = f"{engine.version}, answers after {engine.start_seconds} s, {overlaps} slices that"
    repaired = "" if engine.keeps_overlaps else " (captures are repaired before loading)"
    return Text(f"{about} overlap on a stream{repaired}\n{engine.location}", overflow="fold")


def _surroundings(report: DoctorReport) -> Table:
    found = Table.grid(padding=(0, 2, 0, 0))
    found.add_row(Text("cache", style="bold"), Text(report.cache, overflow="fold"))
    for name, tool in report.tools.items():
        found.add_row(Text(name, style="bold"), Text(tool or "missing", overflow="fold"))
    found.add_row(Text("python", style="bold"), Text(f"{report.python} on {report.system}"))
    packages = ", ".join(f"{name} {at or 'MISSING'}" for name, at in report.packages.items())
    found.add_row(Text("packages", style="bold"), Text(packages))
    return found
