"""A capture of JSON, ready to be cut."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.unpack import Progress
from perfetto_autoviz.session import Session
from perfetto_autoviz.splitting.belonging import activities_of
from perfetto_autoviz.splitting.chrome.events import read_events
from perfetto_autoviz.splitting.chrome.write import write_cuts
from perfetto_autoviz.splitting.index import Ints
from perfetto_autoviz.splitting.opened import Opened
from perfetto_autoviz.splitting.select import Selection


def open_json(session: Session, owner: Ints, progress: Progress | None) -> Opened:
    """Reads a capture's events once more.

    Args:
        session: the capture.
        owner: the iteration of each device activity, in the order of ``seq``.
        progress: called with the bytes read and the bytes there are.

    Raises:
        CaptureError: the capture is no JSON, or has changed since it was opened.
    """
    capture = session.capture
    plan, surroundings = capture.plan, capture.surroundings
    if plan is None or surroundings is None:
        raise CaptureError(f"{capture.path} holds no JSON events")
    with capture.reading(progress) as reader:
        index, chunks = read_events(reader, plan)
    loaded = session.query("SELECT ts, dur, correlation FROM _autoviz_device_slice ORDER BY seq")

    def write(selection: Selection, targets: Mapping[int, Path], progress: Progress | None) -> None:
        write_cuts(capture, surroundings, selection, chunks, targets, progress)

    return Opened(index, activities_of(index, loaded, owner), write)
