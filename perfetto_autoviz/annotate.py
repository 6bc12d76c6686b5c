"""The main job: a session's relations become an enriched trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.ingest import Capture
from perfetto_autoviz.session import Session
from perfetto_autoviz.tracks.enriched import EnrichedWriter
from perfetto_autoviz.tracks.views import counter_specs, track_specs
from perfetto_autoviz.tracks.writer import build_annotations
from perfetto_autoviz.wholefile import writing

ENRICHED_SUFFIX = ".autoviz.zip"

# bs32.pt.trace.json.gz, capture.json, worker0.pftrace, run.tar.gz
_CAPTURE_SUFFIXES = re.compile(
    r"(\.autoviz\.zip|(\.pt)?(\.trace)?\.json(\.gz)?|\.pftrace(\.gz)?|\.perfetto-trace|"
    r"\.tar(\.gz)?|\.tgz|\.zip|\.gz)$",
    re.IGNORECASE,
)


def enriched_path(capture: Path, out: Path | None = None) -> Path:
    """Where the enriched trace of a capture goes.

    Args:
        capture: path of the capture.
        out: a file for it, a folder to put it in, or None for the capture's own folder.
    """
    name = _CAPTURE_SUFFIXES.sub("", capture.name) + ENRICHED_SUFFIX
    if out is None:
        return capture.with_name(name)
    is_folder = out.is_dir() or not (out.suffix or out.exists())
    return out / name if is_folder else out


def write_annotated(session: Session, out: Path) -> None:
    """Writes the enriched trace of an open capture: the capture and its annotations.

    The file appears whole or not at all.

    Raises:
        UsageError: the output would replace the capture, or can't be written.
    """
    with begin_annotated(session.capture, out) as writer:
        finish_annotated(session, writer)


def begin_annotated(capture: Capture, out: Path) -> EnrichedWriter:
    """Begins to write the enriched trace of a capture that was scanned.

    The capture inside is the original where an engine of today reads all of it as it is,
    else the repaired one.

    Raises:
        UsageError: the output would hold less than it does now, or can't be written.
    """
    original = capture.original_is_enough
    if out.exists() and out.samefile(capture.path) and not original:
        raise UsageError(
            f"{out} would hold less than it does now, as its capture is repaired or shortened:"
            " choose another name"
        )
    with writing(out):
        return EnrichedWriter(
            out,
            capture.member_name,
            capture.original_chunks() if original else capture.chunks(),
            already_compressed=original and capture.is_gzipped,
        )


def finish_annotated(session: Session, writer: EnrichedWriter) -> None:
    """Finishes the enriched trace of an open capture; errors as of `write_annotated`."""
    finish_relations(session.relations(), first_ts(session), writer)


def write_relations(
    capture: Capture, relations: Mapping[str, pd.DataFrame], start: int, out: Path
) -> None:
    """Writes an enriched trace of a capture and the frames of all stored relations.

    Args:
        capture: the capture.
        relations: by short name.
        start: the capture's first timestamp in ns.
        out: the file to write.

    Raises:
        UsageError: the output would replace the capture, or can't be written.
    """
    with begin_annotated(capture, out) as writer:
        finish_relations(relations, start, writer)


def finish_relations(
    relations: Mapping[str, pd.DataFrame], start: int, writer: EnrichedWriter
) -> None:
    """Finishes an enriched trace with the frames of all stored relations.

    Args:
        relations: by short name.
        start: the capture's first timestamp in ns.
        writer: from `begin_annotated`.

    Raises:
        UsageError: the output can't be written.
    """
    tracks, counters = track_specs(relations), counter_specs(relations)
    annotations = build_annotations(relations, tracks, counters, start)
    with writing(writer.out):
        writer.finish(annotations)


def first_ts(session: Session) -> int:
    """When the first device activity of an open capture starts, in ns."""
    first = session.query("SELECT min(ts) AS ts FROM _autoviz_device_slice")["ts"].iloc[0]
    return int(first)
