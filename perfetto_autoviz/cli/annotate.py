"""``autoviz annotate``: captures in, enriched traces out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import Report, progress, show
from perfetto_autoviz.closing import Closing
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.wholefile import check_target

if TYPE_CHECKING:
    from perfetto_autoviz.ingest import Capture, RankedCapture
    from perfetto_autoviz.reports.summary import CaptureSummary
    from perfetto_autoviz.session import Session
    from perfetto_autoviz.tracks.enriched import EnrichedWriter


@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...")
@click.option(
    "-o",
    "--out",
    metavar="OUT",
    help="File to write, or folder to write to. Default: NAME.autoviz.zip beside the capture.",
)
@options.steps
@options.autoencoder
@options.light
@options.trace_processor
@options.as_json
@options.quiet
@click.option("-f", "--force", is_flag=True, help="Replace output files that exist.")
def run(
    captures: tuple[str, ...],
    out: str | None,
    steps: Mapping[str, Any],
    autoencoder: bool,
    light: bool,
    trace_processor: str | None,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> None:
    """Add iterations, phases and layers to captures.

    CAPTURE is a capture of the PyTorch profiler or a Perfetto trace with GPU render stages,
    packed or not, or an enriched trace, whose annotations are then replaced. Several, or a
    folder, are the ranks of one run. Each becomes one .autoviz.zip that opens in
    ui.perfetto.dev and answers SQL; the capture itself stays as it is.
    """
    from perfetto_autoviz.cli.opened import sessions
    from perfetto_autoviz.ingest import find_captures
    from perfetto_autoviz.opening import OpenOptions
    from perfetto_autoviz.options import Options

    found = find_captures([Path(capture) for capture in captures])
    targets = _targets(found, out, force=force)
    with progress(quiet=quiet or as_json) as report, _Outputs(targets) as outputs:
        chosen = OpenOptions(
            trace_processor,
            light,
            fresh=True,
            steps=Options(**steps, autoencoder=autoencoder),
            progress=report,
            when_read=outputs.begin,
        )
        with sessions(found, chosen) as opened:
            # What is found over all ranks together, before each is worked on by itself.
            opened[0].relations()
            done = list(_each(opened, outputs, report))
    if as_json:
        click.echo(_document(done))
    elif not quiet:
        _show(done)


command = click.command("annotate")(run)


class _Outputs(Closing):
    """The enriched traces that are being written, by capture."""

    def __init__(self, targets: Mapping[Path, Path]) -> None:
        self._targets = targets
        self._writers: dict[Path, EnrichedWriter] = {}

    def begin(self, capture: Capture) -> None:
        """Begins to write the enriched trace of a capture."""
        from perfetto_autoviz.annotate import begin_annotated

        self._writers[capture.path] = begin_annotated(capture, self._targets[capture.path])

    def finish(self, session: Session) -> CaptureSummary:
        """Writes the rest of an enriched trace, and says what is in it."""
        from perfetto_autoviz.annotate import finish_annotated
        from perfetto_autoviz.reports.summary import summarise

        summary = summarise(session)
        finish_annotated(session, self._writers[session.capture.path])
        return summary

    def out(self, session: Session) -> Path:
        """Where the enriched trace of a capture goes."""
        return self._targets[session.capture.path]

    def close(self) -> None:
        """Throws away what isn't finished."""
        for writer in self._writers.values():
            writer.close()


def _each(
    opened: Sequence[Session], outputs: _Outputs, report: Report | None
) -> Iterator[tuple[CaptureSummary, Path]]:
    """Writes the enriched traces, several at once, and says what is in them."""
    from perfetto_autoviz.opening import engines_at_once

    with ThreadPoolExecutor(max_workers=engines_at_once(len(opened))) as pool:
        for number, summary in enumerate(pool.map(outputs.finish, opened)):
            if report:
                report("annotating", number + 1, len(opened))
            yield summary, outputs.out(opened[number])


def _targets(found: Sequence[RankedCapture], out: str | None, *, force: bool) -> dict[Path, Path]:
    """Where the enriched trace of each capture goes, known to be writable before any work."""
    from perfetto_autoviz.annotate import enriched_path

    place = _folder_or_file(out, len(found))
    targets = {each.path: enriched_path(each.path, place) for each in found}
    double = [target for target in targets.values() if list(targets.values()).count(target) > 1]
    if double:
        raise UsageError(
            f"several captures would be written to {double[0]}: rename them, or annotate them apart"
        )
    for path, target in targets.items():
        _check_target(path, target, force=force)
    return targets


def _folder_or_file(out: str | None, count: int) -> Path | None:
    """The place the user named; a folder is made if it's missing."""
    if out is None:
        return None
    place = Path(out)
    nameless = not place.suffix and not place.exists()
    is_folder = place.is_dir() or out.endswith(("/", "\\")) or nameless
    if not is_folder and count > 1:
        raise UsageError(f"{out} is one file for {count} captures: give a folder with -o")
    if is_folder:
        place.mkdir(parents=True, exist_ok=True)
    return place


def _check_target(path: Path, target: Path, *, force: bool) -> None:
    if _same(path, target):
        _check_in_place(path)
    else:
        check_target(target, "choose another name with -o")
        if target.exists() and not force:
            raise UsageError(f"{target} exists: replace it with --force, or choose another with -o")


def _check_in_place(path: Path) -> None:
    """An enriched trace may be replaced by itself annotated anew, a capture by nothing."""
    from perfetto_autoviz.ingest.source import locate

    if not locate(path).enriched:
        raise UsageError(f"{path} is the capture itself: choose another name with -o")


def _same(path: Path, target: Path) -> bool:
    return target.exists() and target.samefile(path)


def _document(done: Sequence[tuple[CaptureSummary, Path]]) -> str:
    captures = [
        {**summary.as_dict(), "output": str(out), "output_size": out.stat().st_size}
        for summary, out in done
    ]
    return json.dumps({"captures": captures}, indent=2, ensure_ascii=False)


def _show(done: Sequence[tuple[CaptureSummary, Path]]) -> None:
    from perfetto_autoviz.reports.summary_view import SummaryView

    show(*(SummaryView(summary, out) for summary, out in done))
