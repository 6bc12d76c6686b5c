"""``autoviz doctor``: which engines there are, and what is missing."""

from __future__ import annotations

import json

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import show

_SOMETHING_MISSING = 2


@options.trace_processor
@options.as_json
def run(trace_processor: str | None, as_json: bool) -> None:
    """Examine the engines and packages.

    Each trace processor that can be used is found, or fetched, and tried with a tiny trace.
    The exit code is 2 if something is missing.
    """
    from perfetto_autoviz.engine.doctor import doctor
    from perfetto_autoviz.reports.doctor_table import table

    report = doctor(trace_processor)
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
    else:
        show(table(report))
    if not report.works:
        raise click.exceptions.Exit(_SOMETHING_MISSING)


command = click.command("doctor")(run)
