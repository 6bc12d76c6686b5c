"""A native trace, ready to be cut."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from perfetto_autoviz.engine import start_engine
from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.unpack import Progress
from perfetto_autoviz.session import Session
from perfetto_autoviz.splitting.belonging import Activities, match_activities
from perfetto_autoviz.splitting.index import GONE, NONE, OPEN_END, Index, Ints
from perfetto_autoviz.splitting.native.clock import event_times
from perfetto_autoviz.splitting.native.events import Events
from perfetto_autoviz.splitting.native.write import write_packets
from perfetto_autoviz.splitting.opened import Opened
from perfetto_autoviz.splitting.select import Selection

_LOADED = """
SELECT ts, dur, coalesce(tid, 0) AS queue,
  coalesce(launch_ts, -1) AS launch_ts, coalesce(launch_dur, -1) AS launch_dur
FROM _autoviz_launched_activity ORDER BY seq
"""
_HOST = "SELECT ts, dur FROM slice JOIN _autoviz_track USING (track_id)"
_NEVER_ENDED = -1  # duration of a slice that was begun and never ended


def open_native(
    session: Session, owner: Ints, trace_processor: str | None, progress: Progress | None
) -> Opened:
    """Reads a native trace once more.

    Args:
        session: the trace.
        owner: the iteration of each device activity, in the order of ``seq``.
        trace_processor: path of the engine that is asked for times; None for the first found.
        progress: called with the bytes read and the bytes there are.

    Raises:
        CaptureError: the trace can't be cut, or has changed since it was opened.
    """
    capture = session.capture
    events = Events()
    try:
        size = capture.unpacked_size
        with (
            start_engine(trace_processor, trace_bytes=size) as engine,
            capture.packets(progress) as packets,
        ):
            times = event_times(engine, packets, events)
            layout = events.layout(compressed=packets.compressed)
    except CaptureError as error:
        raise CaptureError(f"{capture.path} can't be cut: {error}") from error
    index = events.index(times)
    _check_host(session, index)
    activities = _activities(session, index, events.queue, owner)

    def write(selection: Selection, targets: Mapping[int, Path], progress: Progress | None) -> None:
        with capture.packets(progress) as packets:
            raw = packets.raw(compressed=layout.compressed)
            write_packets(raw, layout, selection, targets)

    return Opened(index, activities, write)


def _activities(session: Session, index: Index, queue: Ints, owner: Ints) -> Activities:
    loaded = session.query(_LOADED)
    rows, order = match_activities(index, queue, loaded, "queue")
    launch = _calls(
        index,
        loaded["launch_ts"].to_numpy(np.int64)[order],
        loaded["launch_dur"].to_numpy(np.int64)[order],
    )
    return Activities(rows, owner[order], launch)


def _calls(index: Index, ts: Ints, dur: Ints) -> Ints:
    """The slices of the host that an engine names as launches by their times.

    Returns:
        A row for each, the innermost of several with the same times; ``NONE`` for none.
    """
    host = np.flatnonzero(index.is_slice & (index.thread != 0))
    keys = zip(index.start[host].tolist(), (index.end - index.start)[host].tolist(), strict=True)
    by_key = dict(zip(keys, host.tolist(), strict=True))
    wanted = zip(ts.tolist(), dur.tolist(), strict=True)
    return np.array([by_key.get(key, NONE) for key in wanted], np.int64)


def _check_host(session: Session, index: Index) -> None:
    """Refuses a trace whose slices an engine understands otherwise."""
    loaded = session.query(_HOST)
    host = np.flatnonzero((index.phase != GONE) & (index.thread != 0))
    end = index.end[host]
    start = index.start[host]
    length = np.where(end == OPEN_END, _NEVER_ENDED, end - start)
    if not _contains((start, length), (loaded["ts"].to_numpy(), loaded["dur"].to_numpy())):
        raise CaptureError(
            f"{session.capture.path} can't be cut: the trace processor pairs the begins and ends"
            " of its slices otherwise than by their tracks"
        )


def _contains(whole: tuple[Ints, Ints], part: tuple[Ints, Ints]) -> bool:
    """Whether a multiset of pairs of numbers holds another."""
    first, second = (np.concatenate(each) for each in zip(whole, part, strict=True))
    sign = np.concatenate((np.ones(len(whole[0]), np.int64), -np.ones(len(part[0]), np.int64)))
    order = np.lexsort((second, first))
    first, second, sign = first[order], second[order], sign[order]
    if not len(first):
        return True
    new = np.concatenate(([True], (first[1:] != first[:-1]) | (second[1:] != second[:-1])))
    return bool((np.add.reduceat(sign, np.flatnonzero(new)) >= 0).all())
