"""``autoviz patterns``: the loops of kernels of a run."""

from __future__ import annotations

import json

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import progress, show


@click.argument("trace")
@options.light
@options.trace_processor
@options.as_json
@options.quiet
def run(trace: str, light: bool, trace_processor: str | None, as_json: bool, quiet: bool) -> None:
    """Show the sequences of kernels that repeat.

    TRACE is a capture, an enriched trace, or a folder with one file per rank; ranks are
    searched together. Loops inside a loop are indented. Exact runs are those without a
    missing, an extra or a swapped kernel.
    """
    from perfetto_autoviz.cli.opened import find, sessions
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.reports.pattern_table import pattern_report, table

    with progress(quiet=quiet or as_json) as bars:
        chosen = OpenOptions(trace_processor, light, progress=bars)
        with sessions(find(trace), chosen) as opened:
            report = pattern_report(opened)
    if as_json:
        document = {"file": trace, **report.as_dict()}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        show(table(report))


command = click.command("patterns")(run)
