"""One build read: its captures opened, its patterns found, its results kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from perfetto_autoviz.annotate import ENRICHED_SUFFIX, enriched_path, first_ts
from perfetto_autoviz.comparison.result import BuildInfo
from perfetto_autoviz.ingest import Capture, RankedCapture
from perfetto_autoviz.opening import OpenOptions, open_ranks
from perfetto_autoviz.relations import PHASE
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.compare import Build

_READ = {
    "pattern": "SELECT * FROM autoviz_pattern",
    "pattern_position": "SELECT * FROM autoviz_pattern_position",
    "pattern_run": "SELECT * FROM autoviz_pattern_run",
    "pattern_kernel": "SELECT seq, run_id, position FROM autoviz_pattern_kernel",
    "kernel": "SELECT seq, ts, dur, name, op, family FROM _autoviz_activity",
    "iteration_kernel": "SELECT iteration_id, seq FROM autoviz_iteration_kernel",
}
"""What is read of each rank, by the names that ``read_build`` and ``within`` know."""

_NO_WORK = ("idle", "dummy", "unknown")
"""Phases of steps without requests, or of which nothing is known."""


@dataclass(frozen=True)
class Rank:
    """One capture of a build after its engine was closed.

    Attributes:
        capture: what the scan of the file found.
        relations: its stored relations.
        first_ts: its first timestamp in ns.
        frames: what else was read of it, see above.
        metadata: what ``autoviz_capture`` says of it.
    """

    capture: Capture
    relations: dict[str, pd.DataFrame]
    first_ts: int
    frames: Frames
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Side:
    """One build as it was read.

    Attributes:
        label: its name.
        run_id: shared by its captures.
        ranks: its captures by rank.
    """

    label: str
    run_id: str
    ranks: dict[int, Rank]

    def info(self, build: Build) -> BuildInfo:
        """What is known of it beside its patterns."""
        return BuildInfo(
            label=self.label,
            run_id=self.run_id,
            files=tuple(rank.capture.path.name for rank in self.ranks.values()),
            ranks=tuple(self.ranks),
            gpu=self._common("gpu_name"),
            framework=self._common("framework"),
            runtime=self._common("runtime"),
            activities=len(build.kernels),
            placed=int((build.kernels.run >= 0).sum()),
            phases=self._phases(),
        )

    def _phases(self) -> tuple[str, ...]:
        """Phases of steps that do something, the most frequent one first."""
        found = pd.concat([rank.relations[PHASE.name]["phase"] for rank in self.ranks.values()])
        counts = found[~found.isin(_NO_WORK)].value_counts()
        return tuple(map(str, counts.index))

    def _common(self, column: str) -> str | None:
        """The distinct values of all captures, comma-separated."""
        values = [rank.metadata.get(column) for rank in self.ranks.values()]
        return ", ".join(dict.fromkeys(str(value) for value in values if value is not None)) or None


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
        next(iter(opened.sessions.values())).relations()
        return Side(label, opened.run_id, opened.on_each(_read_rank))


def labels(a: Sequence[Path], b: Sequence[Path]) -> list[str]:
    """Names for two builds by their files or folders, that differ if their paths do."""
    paths = [_parts(side) for side in (a, b)]
    for length in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in paths]
        if names[0] != names[1]:
            return names
    return [_listed(side) for side in (a, b)]


def _parts(paths: Sequence[Path]) -> tuple[str, ...]:
    """The parts of a path, or of what several have in common; of a capture without its suffix."""
    whole = Path(os.path.commonpath([path.resolve() for path in paths]))
    return whole.parts if whole.is_dir() else (*whole.parts[:-1], _stem(whole))


def _listed(paths: Sequence[Path]) -> str:
    """The first of several captures, and how many more there are."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{_stem(paths[0])}{more}"


def _stem(path: Path) -> str:
    return enriched_path(path).name.removesuffix(ENRICHED_SUFFIX)


def _read_rank(session: Session) -> Rank:
    return Rank(
        capture=session.capture,
        relations=session.relations(),
        first_ts=first_ts(session),
        frames={name: session.query(sql) for name, sql in _READ.items()},
        metadata=session.metadata,
    )
