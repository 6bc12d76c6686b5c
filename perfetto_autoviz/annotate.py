"""The main job: a session's relations become an enriched trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.ingest import Capture
from perfetto_autoviz.session import Session
from perfetto_autoviz.tracks.enriched import write_enriched
from perfetto_autoviz.tracks.views import counter_specs, track_specs
from perfetto_autoviz.tracks.writer import build_annotations

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
    return out / name if out.is_dir() or not out.suffix else out


def write_annotated(session: Session, out: Path) -> None:
    """Writes the enriched trace of an open capture: the capture and its annotations.

    The capture inside is the original where an engine of today reads all of it as it is,
    else the repaired one. The file appears whole or not at all.

    Raises:
        UsageError: the output would replace the capture, or can't be written.
    """
    write_relations(session.capture, session.relations(), first_ts(session), out)


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
    tracks, counters = track_specs(relations), counter_specs(relations)
    annotations = build_annotations(relations, tracks, counters, start)
    original = capture.original_is_enough
    try:
        write_enriched(
            out,
            capture.member_name,
            capture.original_chunks() if original else capture.chunks(),
            annotations,
            already_compressed=original and capture.is_gzipped,
        )
    except OSError as error:
        raise UsageError(f"can't write {out}: {error.strerror or error}") from error


def first_ts(session: Session) -> int:
    """When the first device activity of an open capture starts, in ns."""
    first = session.query("SELECT min(ts) AS ts FROM _autoviz_device_slice")["ts"].iloc[0]
    return int(first)
