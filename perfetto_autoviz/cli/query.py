"""``autoviz query``: SQL on a capture, or on all ranks of a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import console, progress
from perfetto_autoviz.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


@click.argument("file")
@click.argument("sql")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="How the rows are printed; CSV and JSON are for programs, with texts as they are.",
)
@click.option(
    "--all",
    "on_all",
    is_flag=True,
    help="Run the statement once over all ranks of a folder, instead of on each.",
)
@options.steps
@options.light
@options.trace_processor
@options.quiet
def run(
    file: str,
    sql: str,
    form: str,
    on_all: bool,
    steps: Mapping[str, Any],
    light: bool,
    trace_processor: str | None,
    quiet: bool,
) -> None:
    """Run SQL on a capture.

    FILE is a capture, an enriched trace, or a folder with one file per rank: then the
    statement runs on every rank and its rows start with the rank. SQL is a statement, - for
    standard input, or @NAME for a file with one. All relations of the package are there
    without including their modules, e.g. autoviz_iteration.
    """
    from perfetto_autoviz.cli.opened import find, open_found
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.options import Options
    from perfetto_autoviz.rankset import RankSet

    statement = _statement(sql)
    with progress(quiet=quiet) as report:
        chosen = OpenOptions(trace_processor, light, bool(steps), Options(**steps), report)
        with open_found(find(file), chosen) as opened:
            if not on_all:
                frame = opened.query(statement)
            elif isinstance(opened, RankSet):
                frame = opened.query_all(statement)
            else:
                raise UsageError(f"{file} is one rank: --all is for a folder of several")
    _show(frame, form)


command = click.command("query")(run)


def _statement(sql: str) -> str:
    if sql == "-":
        text = sys.stdin.read()
    elif sql.startswith("@"):
        text = _read(Path(sql[1:]))
    else:
        text = sql
    if not text.strip():
        raise UsageError("the SQL statement is empty")
    return text


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no SQL: it isn't UTF-8 text") from error


def _show(frame: pd.DataFrame, form: str) -> None:
    from perfetto_autoviz.reports.query_table import csv_text, json_text, table_lines

    if form == "csv":
        click.echo(csv_text(frame), nl=False)
    elif form == "json":
        click.echo(json_text(frame), nl=False)
    else:
        screen = console()
        for line in table_lines(frame, screen.width if screen.is_terminal else None):
            click.echo(line)
