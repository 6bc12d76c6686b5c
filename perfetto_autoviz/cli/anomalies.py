"""``autoviz anomalies``: runs of patterns that are not as the others, and what is to blame."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import progress, remark, show
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.wholefile import check_target, whole_file

if TYPE_CHECKING:
    from perfetto_autoviz.session import Session
    from perfetto_autoviz.steps.anomalies.findings import Findings

MOST = 20
"""Abnormal runs that are listed."""


@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...")
@options.autoencoder
@click.option(
    "--model",
    metavar="FILE",
    help="Judge runs by the models in FILE instead of training them on this capture.",
)
@click.option("--save-model", metavar="FILE", help="Write the trained models to FILE, for --model.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=MOST,
    show_default=True,
    help="Abnormal runs to list.",
)
@click.option("--csv", metavar="FILE", help="Write all abnormal runs to FILE too.")
@click.option("--html", metavar="FILE", help="Write a page with charts to FILE too.")
@options.steps
@options.light
@options.trace_processor
@options.as_json
@options.quiet
def run(
    captures: tuple[str, ...],
    autoencoder: bool,
    model: str | None,
    save_model: str | None,
    most: int,
    csv: str | None,
    html: str | None,
    steps: Mapping[str, Any],
    light: bool,
    trace_processor: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show runs of patterns that are abnormal, and the kernels to blame.

    CAPTURE is a capture or an enriched trace; several, or a folder, are the ranks of one run.
    A run is compared with those of its pattern on its rank in steps of the same phase and
    size. Beyond two standard deviations of their mean duration it is flagged; with
    --autoencoder also by single kernels, by the drift of all of them, and by their order.
    """
    from perfetto_autoviz.cli.opened import sessions
    from perfetto_autoviz.ingest import find_captures
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.options import Options
    from perfetto_autoviz.reports.anomalies.report import anomaly_report
    from perfetto_autoviz.reports.anomalies.terminal import tables
    from perfetto_autoviz.reports.csv import csv_text

    learns = autoencoder or model is not None or save_model is not None
    for path in (csv, html, save_model):
        if path is not None:
            check_target(Path(path), "give another")
    with progress(quiet=quiet or as_json) as bars:
        chosen = OpenOptions(
            trace_processor,
            light,
            # What is stored in an enriched trace was found without these choices.
            fresh=learns or bool(steps),
            steps=Options(**steps),
            progress=bars,
        )
        with sessions(find_captures([Path(capture) for capture in captures]), chosen) as opened:
            found = _analyse(opened, autoencoder=learns, model=model, save=save_model)
            report = anomaly_report(opened)
            if html is not None:
                from perfetto_autoviz.reports.anomalies.page import page

                _write(html, page(report, opened, found))
    if csv is not None:
        _write(csv, csv_text(report.rows()))
    if as_json:
        document = {"files": list(captures), **report.as_dict()}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        show(tables(report, most))
    if not quiet and not as_json:
        for path in (csv, html, save_model):
            if path is not None:
                remark(f"written to {path}")


command = click.command("anomalies")(run)


def _analyse(
    opened: Sequence[Session], *, autoencoder: bool, model: str | None, save: str | None
) -> Findings | None:
    """Makes the relations by what was chosen; None if they are read from enriched traces."""
    if any(session.stored for session in opened):
        return None
    from perfetto_autoviz.steps.anomalies.findings import find
    from perfetto_autoviz.steps.anomalies.frames import anomaly_frames
    from perfetto_autoviz.steps.anomalies.model_file import load_models, save_models
    from perfetto_autoviz.steps.anomalies.step import ANOMALIES_STEP, late_ranks

    models = None if model is None else load_models(Path(model))
    ranks = {session.rank or 0: session.inputs(ANOMALIES_STEP) for session in opened}
    found = find(ranks, autoencoder=autoencoder, models=models)
    if models is not None and not any(one.model for one in found.judged.values()):
        raise UsageError(
            f"{model} has no model of any pattern of these captures: their kernels or their"
            " order differ; train one with --autoencoder"
        )
    frames = anomaly_frames(found, late_ranks(found, ranks), ranks)
    for session in opened:
        for name, frame in frames[session.rank or 0].items():
            session.provide(name, frame)
    if save is not None:
        save_models([one.model for one in found.judged.values() if one.model], Path(save))
    return found


def _write(name: str, text: str) -> None:
    """Writes a file, whole or not at all."""
    with whole_file(Path(name)) as partial:
        partial.write_text(text, encoding="utf-8", newline="")
