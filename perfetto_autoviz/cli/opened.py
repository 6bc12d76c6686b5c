"""How commands open what they are given: as a session, or as one per rank."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfetto_autoviz.ingest import RankedCapture, find_captures
from perfetto_autoviz.opening import OpenOptions, open_capture, open_ranks, run_id

if TYPE_CHECKING:
    from perfetto_autoviz.rankset import RankSet
    from perfetto_autoviz.session import Session


def open_found(found: Sequence[RankedCapture], options: OpenOptions) -> Session | RankSet:
    """Opens captures that were found: one as a session, several as a rank set."""
    if len(found) == 1:
        return open_capture(found[0], options, run_id(found))
    return open_ranks(found, options)


@contextlib.contextmanager
def sessions(found: Sequence[RankedCapture], options: OpenOptions) -> Iterator[list[Session]]:
    """Opens captures that were found, and yields their sessions in order of rank."""
    with open_found(found, options) as opened:
        from perfetto_autoviz.session import Session

        if isinstance(opened, Session):
            yield [opened]
        else:
            yield list(opened.sessions.values())


def find(path: str) -> list[RankedCapture]:
    """The captures in a file or a folder."""
    return find_captures([Path(path)])
