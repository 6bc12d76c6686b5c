"""``autoviz layers``: how long each kernel of a layer takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import progress, remark, show
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.wholefile import check_replaceable, whole_file

if TYPE_CHECKING:
    from perfetto_autoviz.reports.layer_table import LayerReport
    from perfetto_autoviz.session import Session

DEFAULT_CSV = "layer.csv"
"""Name of the CSV file, behind the prefix with the batch size."""

_POSITIONS = "SELECT * FROM autoviz_layer_position"
_EXECUTIONS = """
SELECT phase.phase, phase.batch_size, layer.kind, layer.iteration_id, layer.device,
  count() AS executions
FROM autoviz_layer AS layer
LEFT JOIN autoviz_phase AS phase ON phase.iteration_id = layer.iteration_id
GROUP BY 1, 2, 3, 4, 5
"""


@click.argument("trace", required=False)
@click.option(
    "--csv",
    "csv",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Write the table to FILE too. conc{batch size}_ is put before its name, unless it "
    "starts so. Default: conc{batch size}_layer.csv",
)
@click.option(
    "--phase",
    metavar="P",
    help="Phase of the steps: prefill, decode, mixed, ... Default: decode if there is any.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=0),
    metavar="N",
    help="Requests in the steps. Default: as in most steps.",
)
@options.steps
@options.light
@options.trace_processor
@options.as_json
@options.quiet
def run(
    trace: str | None,
    csv: str | None,
    phase: str | None,
    batch_size: int | None,
    steps: Mapping[str, Any],
    light: bool,
    trace_processor: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show the kernels of a model's layers.

    TRACE is a capture, an enriched trace, or a folder with one file per rank. One table per
    kind of layer says what runs at each position, and how long it takes in microseconds over
    all layers and steps of one phase and batch size.
    """
    trace, csv = _told_apart(trace, csv)
    from perfetto_autoviz.cli.opened import find, sessions
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.options import Options
    from perfetto_autoviz.reports.layer_table import table

    with progress(quiet=quiet or as_json) as bars:
        chosen = OpenOptions(trace_processor, light, bool(steps), Options(**steps), bars)
        with sessions(find(trace), chosen) as opened:
            report = _report(opened, phase, batch_size)
    written = None if csv is None else _write_csv(report, csv)
    if as_json:
        document = {"file": trace, **report.as_dict(), "csv": str(written) if written else None}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    show(table(report))
    if written and not quiet:
        remark(f"written to {written}")


command = click.command("layers")(run)


def csv_path(name: str, batch_size: int | None) -> Path:
    """Where the CSV file goes.

    Args:
        name: what the user gave; empty for the default name in the current folder.
        batch_size: of the steps; None leaves the name as it is.
    """
    path = Path(name or DEFAULT_CSV)
    prefix = "" if batch_size is None else f"conc{batch_size}_"
    return path if path.name.startswith(prefix) else path.with_name(prefix + path.name)


def _told_apart(trace: str | None, csv: str | None) -> tuple[str, str | None]:
    """The trace and the CSV file; ``--csv TRACE`` means the trace and no name for the file."""
    if trace is None and csv and Path(csv).exists():
        return csv, ""
    if trace is None:
        raise UsageError("no trace was given: autoviz layers TRACE [--csv [FILE]]")
    return trace, csv


def _report(opened: Sequence[Session], phase: str | None, batch_size: int | None) -> LayerReport:
    import pandas as pd

    from perfetto_autoviz.reports.doubts import why_no_layers
    from perfetto_autoviz.reports.layer_table import layer_report

    frames: dict[str, list[pd.DataFrame]] = {_POSITIONS: [], _EXECUTIONS: []}
    for session in opened:
        if not len(session.relation("layer")):
            raise UsageError(
                f"{session.capture.path.name}: {why_no_layers(session.relation('iteration'))}"
            )
        for sql, found in frames.items():
            frame = session.query(sql)
            rank = pd.array([session.rank] * len(frame), dtype="Int64")
            found.append(frame.assign(rank=rank))
    positions, executions = (pd.concat(found, ignore_index=True) for found in frames.values())
    return layer_report(positions, executions, phase, batch_size)


def _write_csv(report: LayerReport, name: str) -> Path:
    """Writes the table, whole or not at all."""
    from perfetto_autoviz.reports.csv import csv_text
    from perfetto_autoviz.reports.layer_table import rows

    path = csv_path(name, report.batch_size)
    check_replaceable(path, "give a file with --csv")
    with whole_file(path) as partial:
        partial.write_text(csv_text(rows(report)), encoding="utf-8", newline="")
    return path
