"""Split the captures of a run: where files go, cutting, annotating the cuts, the manifest."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perfetto_autoviz.annotate import ENRICHED_SUFFIX, enriched_path, write_annotated
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.ingest import RankedCapture, find_captures
from perfetto_autoviz.ingest.ranks import rank_in_name
from perfetto_autoviz.ingest.source import locate
from perfetto_autoviz.loading import OpenOptions
from perfetto_autoviz.opening import open_capture, open_ranks, run_id
from perfetto_autoviz.session import Session
from perfetto_autoviz.splitting.manifest import (
    MANIFEST,
    describe_capture,
    describe_file,
    manifest_of,
    write_manifest,
)
from perfetto_autoviz.splitting.split import Cut, cut, windows_for
from perfetto_autoviz.splitting.windows import Wanted, Window

# What a capture's name ends in is kept, as other tools go by it: decode.pt.trace.json.gz
_SUFFIX = re.compile(
    r"((?:\.pt)?(?:\.trace)?\.json|\.pftrace|\.perfetto-trace)(?:\.gz)?$", re.IGNORECASE
)


@dataclass(frozen=True)
class SplitOptions:
    """How captures are split.

    Attributes:
        out: the folder to write to.
        wanted: which windows.
        enriched: write enriched traces instead of captures.
        compact: leave out the frames of Python.
        force: replace files that exist.
    """

    out: Path
    wanted: Wanted
    enriched: bool = False
    compact: bool = False
    force: bool = False


@dataclass(frozen=True)
class Splitting:
    """What came of it.

    Attributes:
        manifest: the manifest as it was written.
        seconds: time of reading the captures again and writing the cuts.
        unpacked_size: bytes of the captures, unpacked, that were read for it.
    """

    manifest: dict[str, Any]
    seconds: float
    unpacked_size: int

    @property
    def rate(self) -> float:
        """MB of the captures, unpacked, per second."""
        return self.unpacked_size / 1e6 / max(self.seconds, 1e-9)


def check(options: SplitOptions) -> None:
    """Refuses before any work what can't be done.

    Raises:
        UsageError: nothing is chosen, or what is chosen can't be read.
    """
    options.wanted.check()
    if options.out.exists() and not options.out.is_dir():
        raise UsageError(f"{options.out} is a file: give a folder with -o")


def split(
    sessions: Sequence[Session],
    found: Sequence[RankedCapture],
    options: SplitOptions,
    opening: OpenOptions,
) -> Splitting:
    """Splits the captures of one run.

    With one capture, the files lie in the folder. With several, there is a folder for each
    window, with a file for each rank, so that it is a run that can be opened.

    Args:
        sessions: the captures, in order of rank.
        found: the same captures.
        options: see `SplitOptions`.
        opening: how the cuts are opened to annotate them.

    Raises:
        UsageError: what is asked for isn't there, or a file exists and must not be replaced.
    """
    windows = windows_for(sessions, options.wanted)
    targets = _targets(found, windows, options)
    _check_targets([path for row in targets for path in row], options)
    captures = [describe_capture(session) for session in sessions]
    manifest = manifest_of(
        options.wanted, compact=options.compact, enriched=options.enriched, captures=captures
    )
    options.out.mkdir(parents=True, exist_ok=True)
    for row in targets:
        row[0].parent.mkdir(exist_ok=True)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=".autoviz-split-", dir=options.out) as scratch:
        places = _scratch_places(targets, found, Path(scratch)) if options.enriched else targets
        cuts = [
            cut(
                session,
                windows,
                [row[rank] for row in places],
                level=options.wanted.level,
                compact=options.compact,
                trace_processor=opening.trace_processor,
                report=opening.progress,
            )
            for rank, session in enumerate(sessions)
        ]
        seconds = time.perf_counter() - begin
        if options.enriched:
            _annotate(places, targets, opening)
    manifest["files"] = list(_files(cuts, targets, captures, options.out))
    write_manifest(options.out, manifest)
    read = sum(session.capture.unpacked_size for session in sessions)
    return Splitting(manifest, seconds, read)


def _targets(
    found: Sequence[RankedCapture], windows: Sequence[Window], options: SplitOptions
) -> list[list[Path]]:
    """The file of each window and rank."""
    return [
        [
            (options.out / window.name if len(found) > 1 else options.out)
            / _file_name(each, window, several=len(found) > 1, enriched=options.enriched)
            for each in found
        ]
        for window in windows
    ]


def _file_name(each: RankedCapture, window: Window, *, several: bool, enriched: bool) -> str:
    stem = enriched_path(each.path).name.removesuffix(ENRICHED_SUFFIX)
    if several and rank_in_name(stem) is None:
        stem += f".rank{each.rank}"
    return f"{stem}.{window.name}{ENRICHED_SUFFIX if enriched else _suffix(each)}"


def _suffix(each: RankedCapture) -> str:
    """What the name of a cut of a capture ends in."""
    found = _SUFFIX.search(each.path.name)
    own = found[1] if found else f".{locate(each.path).content.kind}"
    return f"{own}.gz"


def _check_targets(targets: Sequence[Path], options: SplitOptions) -> None:
    out = options.out
    double = next((path for path in targets if targets.count(path) > 1), None)
    if double:
        raise UsageError(f"several captures would be cut to {double}: rename them")
    there = [path for path in (*targets, out / MANIFEST) if path.exists()]
    if there and not options.force:
        raise UsageError(
            f"{there[0]} exists: replace what is there with --force, or choose another folder"
        )


def _scratch_places(
    targets: Sequence[Sequence[Path]], found: Sequence[RankedCapture], scratch: Path
) -> list[list[Path]]:
    """A folder for each window, in which its cuts wait to be annotated."""
    places = []
    for number, row in enumerate(targets):
        folder = scratch / str(number)
        folder.mkdir()
        names = [path.name.removesuffix(ENRICHED_SUFFIX) for path in row]
        places.append(
            [folder / (name + _suffix(each)) for name, each in zip(names, found, strict=True)]
        )
    return places


def _annotate(
    places: Sequence[Sequence[Path]], targets: Sequence[Sequence[Path]], opening: OpenOptions
) -> None:
    """Annotates the cuts of each window together, as they are the ranks of a run."""
    fresh = replace(opening, fresh=True, progress=None)
    for number, (row, wanted) in enumerate(zip(places, targets, strict=True)):
        if opening.progress:
            opening.progress("annotating", number, len(places))
        out = dict(zip(row, wanted, strict=True))
        found = find_captures(list(row))
        if len(found) == 1:
            with open_capture(found[0], fresh, run_id(found)) as session:
                write_annotated(session, out[found[0].path])
        else:
            with open_ranks(found, fresh) as ranks:
                for session in ranks.sessions.values():
                    write_annotated(session, out[session.capture.path])


def _files(
    cuts: Sequence[Sequence[Cut]],
    targets: Sequence[Sequence[Path]],
    captures: Sequence[dict[str, Any]],
    folder: Path,
) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(targets):
        for rank, target in enumerate(row):
            yield describe_file(cuts[rank][number], target, folder, captures[rank])
