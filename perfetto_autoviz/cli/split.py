"""``autoviz split``: windows of captures, written as captures."""

from __future__ import annotations

import json
from pathlib import Path

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import progress, show

MODES = ("all", "mixed", "decode", "prefill", "any")


@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...")
@click.option("-o", "--out", required=True, metavar="DIR", help="Folder to write to.")
@click.option(
    "--iterations",
    multiple=True,
    metavar="LIST",
    help="Numbers and ranges, as 3,7-9: a file for 3, and one for the window of 7 to 9; "
    "or all: a file for each. Can be given several times.",
)
@click.option("--first", is_flag=True, help="The first iteration.")
@click.option("--middle", is_flag=True, help="The iteration in the middle.")
@click.option("--last", is_flag=True, help="The last iteration.")
@click.option(
    "--steady",
    is_flag=False,
    flag_value="all",
    type=click.Choice(MODES),
    help="The windows of steady state of one mode; if none is named, of all.",
)
@click.option("--phases", is_flag=True, help="A file for each phase, with all iterations in it.")
@click.option(
    "--level",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Level of the iterations: 1 for those inside outermost ones.",
)
@click.option("--enriched", is_flag=True, help="Write enriched traces instead of captures.")
@click.option("--compact", is_flag=True, help="Leave out Python frames.")
@options.light
@options.trace_processor
@options.as_json
@options.quiet
@click.option("-f", "--force", is_flag=True, help="Replace files that exist.")
def run(
    captures: tuple[str, ...],
    out: str,
    iterations: tuple[str, ...],
    first: bool,
    middle: bool,
    last: bool,
    steady: str | None,
    phases: bool,
    level: int,
    enriched: bool,
    compact: bool,
    light: bool,
    trace_processor: str | None,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> None:
    """Cut captures into windows of iterations.

    Each window becomes a capture of its own: the launches of its iterations, all that they
    ran on the device, the host's events in that time, and the frames around them. Any
    choices can be combined. Several captures, or a folder, are the ranks of one run and are
    cut alike. manifest.json says what each file holds; the captures stay as they are.
    """
    from perfetto_autoviz.cli.opened import sessions
    from perfetto_autoviz.ingest import find_captures
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.reports.split_table import table
    from perfetto_autoviz.splitting import SplitOptions, Wanted, check, split

    wanted = Wanted(
        ",".join(iterations) if iterations else None, first, middle, last, steady, phases, level
    )
    chosen = SplitOptions(Path(out), wanted, enriched, compact, force)
    found = find_captures([Path(capture) for capture in captures])
    check(chosen)
    with progress(quiet=quiet or as_json) as report:
        opening = OpenOptions(trace_processor, light, progress=report)
        with sessions(found, opening) as opened:
            done = split(opened, found, chosen, opening)
    if as_json:
        document = {"folder": out, "megabytes_per_second": done.rate, **done.manifest}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif not quiet:
        show(table(done.manifest, out, done.rate))


command = click.command("split")(run)
