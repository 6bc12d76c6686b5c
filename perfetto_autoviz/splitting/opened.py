"""A capture that is ready to be cut, of whichever format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from perfetto_autoviz.ingest.unpack import Progress
from perfetto_autoviz.splitting.belonging import Activities
from perfetto_autoviz.splitting.index import Index
from perfetto_autoviz.splitting.select import Selection


class WriteCuts(Protocol):
    """Writes what was selected to the file of each output, in the capture's format, gzipped."""

    def __call__(
        self, selection: Selection, targets: Mapping[int, Path], progress: Progress | None
    ) -> None:
        """Writes the files; all of them appear, or none."""


@dataclass(frozen=True)
class Opened:
    """What a capture holds, and how cuts of it are written.

    Attributes:
        index: its events.
        activities: the device activities among them.
        write: see `WriteCuts`.
    """

    index: Index
    activities: Activities
    write: WriteCuts
