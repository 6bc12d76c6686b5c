"""Opening captures: load them, check that nothing was lost, and hand over sessions."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfetto_autoviz.engine import judge
from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest import Capture, RankedCapture, find_captures
from perfetto_autoviz.loading import Memory, OpenOptions, load_capture
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import CAPTURE

if TYPE_CHECKING:
    from perfetto_autoviz.rankset import RankSet
    from perfetto_autoviz.session import Session

__all__ = ["OpenOptions", "engines_at_once", "open_capture", "open_ranks", "open_trace", "run_id"]

_log = logging.getLogger("perfetto_autoviz.opening")


def open_trace(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    trace_processor: str | None = None,
    light: bool = False,
    anchor: str | None = None,
    llm_inference: bool | None = None,
    max_num_seqs: int | None = None,
    num_steps: int | None = None,
) -> Session | RankSet:
    """Opens a capture, or the captures of several ranks.

    Args:
        paths: a capture, an enriched trace, several of them, or a folder.
        trace_processor: path of the engine; the first that is found if not given.
        light: leave out Python frames, and operators if that isn't enough for the engine.
        anchor: regular expression of the kernel that occurs once per layer.
        llm_inference: whether iterations without annotations have phases; by default if
            their kernels are those of a language model.
        max_num_seqs: most requests that run at once.
        num_steps: iterations of a steady window.

    With any of the last four, an enriched trace is analysed anew.

    Returns:
        A session for one file, a rank set for several files or a folder.

    Raises:
        CaptureError: a file is no capture of a device, or its rank is unknown.
        EngineError: no engine was found, or the capture doesn't fit into it.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    given_steps = {
        "anchor": anchor,
        "llm_inference": llm_inference,
        "max_num_seqs": max_num_seqs,
        "num_steps": num_steps,
    }
    steps: dict[str, Any] = {name: v for name, v in given_steps.items() if v is not None}
    options = OpenOptions(trace_processor, light, fresh=bool(steps), steps=Options(**steps))
    found = find_captures([Path(path) for path in given])
    if len(given) == 1 and not Path(given[0]).is_dir():
        return open_capture(found[0], options, run_id(found))
    return open_ranks(found, options)


def open_ranks(found: Sequence[RankedCapture], options: OpenOptions) -> RankSet:
    """Opens the captures of several ranks, each in an engine of its own, several at once.

    Raises:
        EngineError: together they need more memory than there is.
    """
    run = run_id(found)
    memory = Memory()
    sessions: list[Session] = []
    with ThreadPoolExecutor(max_workers=engines_at_once(len(found))) as pool:
        opening = [pool.submit(open_capture, each, options, run, memory) for each in found]
        try:
            sessions += [each.result() for each in opening]
        except BaseException:
            for each in opening:
                if not each.cancel() and each.exception() is None:
                    each.result().close()
            raise
    from perfetto_autoviz.rankset import RankSet

    return RankSet(sessions, run, options.trace_processor)


def run_id(found: Sequence[RankedCapture]) -> str:
    """A name that the captures given together share; the same for the same files."""
    rows = sorted(f"{each.rank} {each.path.name} {each.path.stat().st_size}" for each in found)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def engines_at_once(count: int) -> int:
    """How many of ``count`` captures are worked on at the same time: one per core."""
    return max(1, min(count, os.cpu_count() or 1))


def open_capture(
    each: RankedCapture, options: OpenOptions, run: str, memory: Memory | None = None
) -> Session:
    """Opens one capture in an engine of its own.

    Args:
        each: the capture and its rank.
        options: see `OpenOptions`.
        run: from `run_id`.
        memory: shared by the engines that stay open together.

    Raises:
        CaptureError: the file is no capture of a device, or the engine holds less of it.
        EngineError: no engine was found, or the capture doesn't fit into it.
    """
    with _importing("perfetto_autoviz.capture_row"):
        engine, capture = load_capture(each.path, options, memory or Memory())
    try:
        from perfetto_autoviz.capture_row import capture_frame, stored_identity
        from perfetto_autoviz.session import Session

        enriched = capture.annotations is not None
        known = stored_identity(engine) if enriched else {}
        session = Session(engine, capture, options.steps, stored=enriched and not options.fresh)
        if not session.stored:
            session.provide(CAPTURE.name, capture_frame(session, each, {"run_id": run, **known}))
        _check_complete(session, capture)
    except BaseException:
        engine.close()
        raise
    return session


@contextlib.contextmanager
def _importing(module: str) -> Iterator[None]:
    """Imports a module meanwhile.

    What a session needs takes as long to import as an engine takes to start.
    """
    with ThreadPoolExecutor(max_workers=1) as worker:
        worker.submit(import_module, module)
        yield


def _check_complete(session: Session, capture: Capture) -> None:
    """Count equality decides whether anything was lost; the statistics say what happened."""
    from perfetto_autoviz.capture_row import device_counts

    have = device_counts(session)
    counts = capture.counts
    want = {"kernel": counts.kernel, "memcpy": counts.memcpy, "memset": counts.memset}
    if counts.unnamed:
        have, want = {"device activities": sum(have.values())}, {"device activities": counts.device}
    want = {kind: n for kind, n in want.items() if n}
    if have != want:
        lost = ", ".join(
            f"{have.get(kind, 0)} of {want.get(kind, 0)} {kind}" for kind in sorted({*have, *want})
        )
        raise CaptureError(
            f"{capture.path.name}: the trace processor {session.engine.version} holds {lost};"
            " results would be wrong: try another engine (--trace-processor PATH)"
        )
    verdict = judge(session.engine.stats(), session.engine.version)
    if verdict.stop_line:
        raise CaptureError(f"{capture.path.name}: {verdict.stop_line}")
    for finding in (*verdict.losses, *verdict.remarks):
        _log.info("%s: %s", capture.path.name, finding.line())
