"""Opening captures: scan, load, check that nothing was lost, and hand over a session."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from perfetto_autoviz.capture_row import capture_frame, stored_identity
from perfetto_autoviz.engine import Engine, estimate_heap, fits, judge, start_engine
from perfetto_autoviz.errors import CaptureError, EngineError
from perfetto_autoviz.ingest import Capture, RankedCapture, find_captures, scan_capture
from perfetto_autoviz.rankset import RankSet
from perfetto_autoviz.relations import CAPTURE
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import Options
from perfetto_autoviz.tracks.enriched import write_enriched

_log = logging.getLogger("perfetto_autoviz.opening")

LIGHT_STAGES: tuple[tuple[str, ...], ...] = (("python_function",), ("python_function", "cpu_op"))
"""What a light load leaves out: first what is most and matters least."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class OpenOptions:
    """How captures are opened.

    Attributes:
        trace_processor: path of the engine; None for the first that is found.
        light: leave out Python frames, and operators if that isn't enough for the engine.
        fresh: run the steps on an enriched trace too, instead of reading its annotations.
        steps: options of the steps.
        progress: see `Progress`.
    """

    trace_processor: str | None = None
    light: bool = False
    fresh: bool = False
    steps: Options = field(default_factory=Options)
    progress: Progress | None = None


def open_trace(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    trace_processor: str | None = None,
    light: bool = False,
    anchor: str | None = None,
) -> Session | RankSet:
    """Opens a capture, or the captures of several ranks.

    Args:
        paths: a capture, an enriched trace, several of them, or a folder.
        trace_processor: path of the engine; the first that is found if not given.
        light: leave out Python frames, and operators if that isn't enough for the engine.
        anchor: regular expression of the kernel that occurs once per layer; an enriched
            trace is then analysed anew.

    Returns:
        A session for one file, a rank set for several files or a folder.

    Raises:
        CaptureError: a file is no capture of a device, or its rank is unknown.
        EngineError: no engine was found, or the capture doesn't fit into it.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    options = OpenOptions(
        trace_processor, light, fresh=anchor is not None, steps=Options(anchor=anchor)
    )
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
    return RankSet(sessions, run, options.trace_processor)


def run_id(found: Sequence[RankedCapture]) -> str:
    """A name that the captures given together share; the same for the same files."""
    rows = sorted(f"{each.rank} {each.path.name} {each.path.stat().st_size}" for each in found)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def engines_at_once(count: int) -> int:
    """How many of ``count`` captures are worked on at the same time: one per core."""
    return max(1, min(count, os.cpu_count() or 1))


class Memory:
    """What the engines of one rank set take together; safe to use from any thread."""

    def __init__(self) -> None:
        self._left = _available_memory()
        self._lock = threading.Lock()

    def take(self, size: int, name: str) -> None:
        """Sets memory aside.

        Raises:
            EngineError: there is not enough.
        """
        with self._lock:
            if size > self._left:
                raise EngineError(
                    f"{name} needs about {_gib(size)} beside the ranks already open, but"
                    f" {_gib(max(self._left, 0))} are free: open fewer ranks, or use --light"
                )
            self._left -= size


def _available_memory() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        # Not told on this system: the engines' own limits are left.
        return sys.maxsize


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
    engine = start_engine(options.trace_processor)
    try:
        return _open(engine, each, options, run, memory or Memory())
    except BaseException:
        engine.close()
        raise


def _open(
    engine: Engine, each: RankedCapture, options: OpenOptions, run: str, memory: Memory
) -> Session:
    capture = _scan(engine, each.path, LIGHT_STAGES[0] if options.light else (), options)
    if not fits(capture.loaded_size, engine.kind):
        capture = _lighter(engine, capture, options)
    memory.take(estimate_heap(capture.loaded_size), capture.path.name)
    enriched = capture.annotations is not None
    chunks = _combined(capture) if enriched else capture.chunks()
    engine.load(_reported(chunks, capture, options.progress))
    known = stored_identity(engine) if enriched else {}
    session = Session(engine, capture, options.steps, stored=enriched and not options.fresh)
    if not session.stored:
        session.provide(CAPTURE.name, capture_frame(session, each, {"run_id": run, **known}))
    _check_complete(session, capture)
    return session


def _scan(engine: Engine, path: Path, leave_out: tuple[str, ...], options: OpenOptions) -> Capture:
    progress = options.progress
    report = (lambda done, total: progress("scanning", done, total)) if progress else None
    return scan_capture(
        path, drops_overlaps=engine.drops_overlaps, leave_out=leave_out, progress=report
    )


def _lighter(engine: Engine, capture: Capture, options: OpenOptions) -> Capture:
    """The capture without what matters least, if the user allows it and that is enough."""
    if not options.light:
        raise EngineError(
            f"{capture.path.name} needs about {_gib(estimate_heap(capture.loaded_size))} of the"
            " WebAssembly engine's 4 GiB: leave out Python frames with --light, or use the native"
            " engine (--trace-processor PATH)"
        )
    lighter = _scan(engine, capture.path, LIGHT_STAGES[1], options)
    if not fits(lighter.loaded_size, engine.kind):
        raise EngineError(
            f"{capture.path.name} needs about {_gib(estimate_heap(lighter.loaded_size))} of the"
            " WebAssembly engine's 4 GiB even without Python frames and operators: use the native"
            " engine (--trace-processor PATH)"
        )
    return lighter


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _combined(capture: Capture) -> Iterator[bytes]:
    """An enriched trace anew, as its capture may have to be repaired for this engine."""
    with tempfile.TemporaryDirectory(prefix="autoviz-") as folder:
        path = Path(folder) / "enriched.zip"
        write_enriched(
            path,
            capture.member_name,
            capture.chunks(),
            capture.annotations or b"",
            already_compressed=True,
        )
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block


_BLOCK = 8 << 20


def _reported(
    chunks: Iterable[bytes], capture: Capture, progress: Progress | None
) -> Iterable[bytes]:
    if progress is None:
        yield from chunks
        return
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        progress("loading", done, max(done, capture.size))


def _check_complete(session: Session, capture: Capture) -> None:
    """Count equality decides whether anything was lost; the statistics say what happened."""
    loaded = session.query("SELECT kind, count() AS n FROM _autoviz_device_slice GROUP BY kind")
    have = dict(zip(loaded["kind"], loaded["n"].astype(int), strict=True))
    counts = capture.counts
    want = {"kernel": counts.kernel, "memcpy": counts.memcpy, "memset": counts.memset}
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
