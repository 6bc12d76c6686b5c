"""Cut the captures of a run into windows of their iterations."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.ingest.unpack import Progress
from perfetto_autoviz.loading import Progress as Report
from perfetto_autoviz.session import Session
from perfetto_autoviz.splitting.belonging import Iterations
from perfetto_autoviz.splitting.chrome import open_json
from perfetto_autoviz.splitting.contents import Contents, contents_of
from perfetto_autoviz.splitting.extents import Stretch
from perfetto_autoviz.splitting.index import NONE, Ints
from perfetto_autoviz.splitting.native import open_native
from perfetto_autoviz.splitting.select import select
from perfetto_autoviz.splitting.windows import EACH, Wanted, Window, choose_windows

_log = logging.getLogger("perfetto_autoviz.splitting")


@dataclass(frozen=True)
class Cut:
    """A window of one capture that was written as a capture.

    Attributes:
        window: the window.
        path: the file.
        contents: what it holds.
    """

    window: Window
    path: Path
    contents: Contents


def windows_for(sessions: Sequence[Session], wanted: Wanted) -> list[Window]:
    """The windows to cut, the same iterations of every rank.

    They are chosen on the lowest rank, from the iterations that all ranks have.

    Raises:
        UsageError: what is asked for isn't there.
    """
    first, *others = sessions
    rows = iterations_of(first, wanted.level)
    numbers = _numbers(rows)
    for other in others:
        theirs = _numbers(iterations_of(other, wanted.level))
        if theirs != numbers:
            _log.warning(
                "rank %s has %d iterations, rank %s has %d: only those that all have are cut",
                first.rank, len(numbers), other.rank, len(theirs),
            )  # fmt: skip
            numbers = [number for number in numbers if number in set(theirs)]
    there = rows["number"].isin(numbers)
    windows = choose_windows(wanted, numbers, rows[there], _steady(first, wanted))
    return list(_with_work(windows, [iterations_of(each, wanted.level) for each in sessions]))


def iterations_of(session: Session, level: int) -> pd.DataFrame:
    """The rows of ``autoviz_iteration`` at a level, each with its ``phase`` or None."""
    return session.query(
        "SELECT iteration.*, phase.phase AS phase FROM autoviz_iteration AS iteration"
        " LEFT JOIN autoviz_phase AS phase ON phase.iteration_id = iteration.id"
        f" WHERE iteration.level = {level} ORDER BY iteration.id"
    )


def _numbers(rows: pd.DataFrame) -> list[int]:
    return sorted(int(number) for number in rows["number"].dropna())


def _with_work(windows: Sequence[Window], iterations: Sequence[pd.DataFrame]) -> Iterator[Window]:
    """The windows with device activities on each rank: others would be no captures."""
    for window in windows:
        work = [
            rows["activity_count"][rows["number"].isin(window.numbers)].sum() for rows in iterations
        ]
        if min(work) > 0:
            yield window
            continue
        line = f"{window.name} has no work on the device, so that a cut of it is no capture"
        if window.chosen_by != (EACH,):
            raise UsageError(f"{line}: choose another")
        _log.warning("%s: it is left out", line)


def _steady(session: Session, wanted: Wanted) -> pd.DataFrame:
    if wanted.steady is None:
        return pd.DataFrame({"mode": [], "first_number": [], "last_number": []})
    return session.query(
        "SELECT mode, first_number, last_number FROM autoviz_steady_window"
        f" WHERE level = {wanted.level} ORDER BY id"
    )


def cut(
    session: Session,
    windows: Sequence[Window],
    targets: Sequence[Path],
    *,
    level: int = 0,
    compact: bool = False,
    trace_processor: str | None = None,
    report: Report | None = None,
) -> list[Cut]:
    """Writes windows of one capture as captures of the same format, gzipped.

    Args:
        session: the capture.
        windows: what to cut.
        targets: the file of each window; those that exist are replaced.
        level: level of the iterations.
        compact: leave out the frames of Python.
        trace_processor: path of the engine that is asked for the times of a native trace.
        report: told what is being done.

    Raises:
        CaptureError: the capture can't be cut, or has changed since it was opened.
        UsageError: a file can't be written.
    """
    iterations = Iterations.of(iterations_of(session, level))
    owner = _owners(session, iterations)
    indexing, cutting = _part(report, "indexing"), _part(report, "cutting")
    if session.capture.kind == "pftrace":
        opened = open_native(session, owner, trace_processor, indexing)
    else:
        opened = open_json(session, owner, indexing)
    stretches = _stretches(windows, iterations)
    selection = select(opened.index, opened.activities, iterations, stretches, compact=compact)
    try:
        opened.write(selection, dict(enumerate(targets)), cutting)
    except OSError as error:
        raise UsageError(f"can't write {error.filename}: {error.strerror or error}") from error
    selected = selection.by_output(len(windows))
    rows = _rows_by_output(iterations, stretches, len(windows))
    return [
        Cut(window, target, contents_of(opened.index, events, iterations_there))
        for window, target, events, iterations_there in zip(
            windows, targets, selected, rows, strict=True
        )
    ]


def _part(report: Report | None, what: str) -> Progress | None:
    return (lambda done, total: report(what, done, total)) if report else None


def _owners(session: Session, iterations: Iterations) -> Ints:
    """The iteration of each device activity; shape (activities,)."""
    count = session.query("SELECT count() AS n FROM _autoviz_device_slice")["n"].item()
    ids = iterations.rows["id"].to_numpy(np.int64)
    members = session.query("SELECT seq, iteration_id FROM autoviz_iteration_kernel")
    members = members[members["iteration_id"].isin(ids)]
    owner = np.full(count, NONE)
    owner[members["seq"].to_numpy(np.int64)] = np.searchsorted(ids, members["iteration_id"])
    return owner


def _stretches(windows: Sequence[Window], iterations: Iterations) -> list[Stretch]:
    return [
        Stretch(number, iterations.position(first), iterations.position(last))
        for number, window in enumerate(windows)
        for first, last in window.stretches()
    ]


def _rows_by_output(
    iterations: Iterations, stretches: Sequence[Stretch], outputs: int
) -> list[pd.DataFrame]:
    places: list[list[int]] = [[] for _ in range(outputs)]
    for each in stretches:
        places[each.output] += range(each.first, each.last + 1)
    return [iterations.rows.iloc[rows] for rows in places]
