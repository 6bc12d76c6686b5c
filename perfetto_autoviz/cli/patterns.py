"""``autoviz patterns``: the loops of kernels of a run."""

from __future__ import annotations

import json

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import progress, show


@click.argument("trace")
@click.option(
    "--pattern",
    metavar="P",
    help="Show the positions of this pattern, e.g. P1.1: how long each takes, and its kernels' "
    "launch shapes where they differ.",
)
@options.light
@options.trace_processor
@options.as_json
@options.quiet
def run(
    trace: str,
    pattern: str | None,
    light: bool,
    trace_processor: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show the sequences of kernels that repeat.

    TRACE is a capture, an enriched trace, or a folder with one file per rank; ranks are
    searched together. Loops inside a loop are indented. Exact runs are those without a
    missing, an extra or a swapped kernel. Below, kernels per run times runs in each loop around
    it are compared with the launches.
    """
    from perfetto_autoviz.cli.opened import find, sessions
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.reports.pattern_table import (
        choose,
        pattern_report,
        positions_table,
        table,
    )

    with progress(quiet=quiet or as_json) as bars:
        chosen = OpenOptions(trace_processor, light, progress=bars)
        with sessions(find(trace), chosen) as opened:
            report = pattern_report(opened)
    one = None if pattern is None else choose(report, pattern)
    if as_json:
        whole = report.as_dict()
        if one is not None:
            whole["patterns"] = [row for row in whole["patterns"] if row["name"] == one.name]
        document = {"file": trace, **whole}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        show(table(report) if one is None else positions_table(one))


command = click.command("patterns")(run)
