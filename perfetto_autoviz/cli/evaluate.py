"""``autoviz evaluate``: how well anomalies are found in captures like these."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import progress, remark, show
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.wholefile import check_target, whole_file

if TYPE_CHECKING:
    from perfetto_autoviz.reports.evaluation_table import EvaluationReport

COUNT, QUICK_COUNT = 500, 50
"""Anomalies of each kind; a recall of 99.5 % is then known to half a percent, or to four."""


@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    help=f"Anomalies of each kind, for each pattern. Default: {COUNT}.",
)
@click.option("--quick", is_flag=True, help=f"Inject only {QUICK_COUNT} of each kind.")
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="NAME",
    help="Pattern to try, as autoviz patterns names it. May be repeated. Default: all.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Decides which runs are trained on and tested, and what is injected where.",
)
@click.option(
    "--truth",
    "truths",
    multiple=True,
    metavar="FILE",
    help="Inject nothing, and score what is found against the labels in FILE, as autoviz synth"
    " --anomalies writes it. One for each rank.",
)
@click.option("--csv", metavar="FILE", help="Write the results to FILE too.")
@options.steps
@options.light
@options.trace_processor
@options.as_json
@options.quiet
def run(
    captures: tuple[str, ...],
    count: int | None,
    quick: bool,
    patterns: tuple[str, ...],
    seed: int,
    truths: tuple[str, ...],
    csv: str | None,
    steps: Mapping[str, Any],
    light: bool,
    trace_processor: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Inject anomalies into copies of captures, and count which are found.

    Several captures, or a folder, are the ranks of one run. What is normal is learned from
    half of the runs of each pattern, thresholds are set on a quarter, and anomalies are
    injected into the last quarter: into its kernels, before patterns are looked for. A run
    that is no longer found as one counts as missed.
    """
    if truths and (quick or count is not None or patterns):
        raise UsageError("--truth injects nothing: leave out --quick, --count and --pattern")
    if quick and count is not None:
        raise UsageError("--quick chooses a count: give --quick or --count")
    if csv is not None:
        check_target(Path(csv), "give a file with --csv")
    from perfetto_autoviz.evaluation.run import evaluate_captures, evaluate_labelled
    from perfetto_autoviz.evaluation.trial import Settings
    from perfetto_autoviz.ingest import find_captures
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.options import Options
    from perfetto_autoviz.reports.evaluation_table import evaluation_report, table

    settings = Settings(count or (QUICK_COUNT if quick else COUNT), seed, patterns)
    with progress(quiet=quiet or as_json) as bars:
        chosen = OpenOptions(trace_processor, light, True, Options(**steps), bars)
        found = find_captures([Path(path) for path in captures])
        if truths:
            trial = evaluate_labelled(found, chosen, [Path(path) for path in truths], seed)
        else:
            trial = evaluate_captures(found, chosen, settings, bars)
    report = evaluation_report(trial)
    if csv is not None:
        _write_csv(report, Path(csv))
    if as_json:
        document = {"files": list(captures), "truth": list(truths), "seed": seed}
        click.echo(json.dumps({**document, **report.as_dict()}, indent=2, ensure_ascii=False))
        return
    show(table(report))
    if csv is not None and not quiet:
        remark(f"written to {csv}")


command = click.command("evaluate")(run)


def _write_csv(report: EvaluationReport, path: Path) -> None:
    """Writes the results, whole or not at all."""
    from perfetto_autoviz.reports.csv import csv_text

    with whole_file(path) as partial:
        partial.write_text(csv_text(report.frame()), encoding="utf-8", newline="")
