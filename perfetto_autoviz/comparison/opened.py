"""One build read: its captures opened, its patterns found, its results kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from perfetto_autoviz.annotate import first_ts
from perfetto_autoviz.comparison.result import BuildInfo
from perfetto_autoviz.ingest import Capture, RankedCapture
from perfetto_autoviz.opening import OpenOptions, open_ranks
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.compare import Build, read_build

_READ = {
    "pattern": "SELECT * FROM autoviz_pattern",
    "pattern_position": "SELECT * FROM autoviz_pattern_position",
    "pattern_run": "SELECT * FROM autoviz_pattern_run",
    "pattern_kernel": "SELECT seq, run_id, position FROM autoviz_pattern_kernel",
    "kernel": "SELECT seq, ts, dur, name, op, family FROM _autoviz_activity",
}
"""What is read of each rank."""


@dataclass(frozen=True)
class Rank:
    """One capture of a build after its engine was closed.

    Attributes:
        capture: what the scan of the file found.
        relations: its stored relations.
        first_ts: its first timestamp in ns.
    """

    capture: Capture
    relations: dict[str, pd.DataFrame]
    first_ts: int


@dataclass(frozen=True)
class Side:
    """One build as it was read.

    Attributes:
        build: its patterns, runs and kernels.
        info: what else is known of it.
        ranks: its captures by rank.
    """

    build: Build
    info: BuildInfo
    ranks: dict[int, Rank]


def read_side(found: Sequence[RankedCapture], label: str, options: OpenOptions) -> Side:
    """Opens a build's captures, finds its patterns, and closes them again.

    Each build is closed before the next one is opened, so that a comparison needs no more
    memory for engines than the larger one.

    Args:
        found: its captures.
        label: its name.
        options: how they are opened; enriched traces should be analysed anew, as patterns are
            numbered over the captures that were given together.

    Raises:
        CaptureError: a file is no capture of a device, or the engine holds less of it.
        EngineError: no engine was found, or a capture doesn't fit into it.
    """
    with open_ranks(found, options) as opened:
        # What is found over all ranks together, before each is worked on by itself.
        next(iter(opened.sessions.values())).relation("pattern")
        frames = opened.on_each(_frames)
        ranks = opened.on_each(_rank)
        metadata = [session.metadata for session in opened.sessions.values()]
        run_id = opened.run_id
    build = read_build(frames)
    info = BuildInfo(
        label=label,
        run_id=run_id,
        files=tuple(rank.capture.path.name for rank in ranks.values()),
        ranks=tuple(ranks),
        gpu=_common(metadata, "gpu_name"),
        framework=_common(metadata, "framework"),
        runtime=_common(metadata, "runtime"),
        activities=len(build.kernels),
        placed=int((build.kernels.run >= 0).sum()),
    )
    return Side(build, info, ranks)


def labels(a: Sequence[str | os.PathLike[str]], b: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Names for two builds by their files or folders, that differ if their paths do."""
    paths = [_parts(side) for side in (a, b)]
    for length in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in paths]
        if names[0] != names[1]:
            return names
    return [parts[-1] for parts in paths]


def _parts(paths: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The parts of a path, or of what several have in common."""
    whole = os.path.commonpath([Path(path).resolve() for path in paths])
    return Path(whole).parts


def _frames(session: Session) -> Frames:
    return {name: session.query(sql) for name, sql in _READ.items()}


def _rank(session: Session) -> Rank:
    return Rank(session.capture, session.relations(), first_ts(session))


def _common(rows: Sequence[Any], column: str) -> str | None:
    """The distinct values of a column, comma-separated."""
    values = dict.fromkeys(str(row[column]) for row in rows if row.get(column) is not None)
    return ", ".join(values) or None
