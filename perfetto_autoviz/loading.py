"""A capture into an engine: scanned, repaired where needed, within the memory there is."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from perfetto_autoviz.engine import Engine, estimate_heap, fits, start_engine
from perfetto_autoviz.errors import EngineError
from perfetto_autoviz.ingest import Capture, scan_capture
from perfetto_autoviz.ingest.source import Source, locate
from perfetto_autoviz.options import Options
from perfetto_autoviz.tracks.enriched import write_enriched

LIGHT_STAGES: tuple[tuple[str, ...], ...] = (("python_function",), ("python_function", "cpu_op"))
"""What a light load leaves out: first what is most and matters least."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


EARLY_SIZE = 4 << 20
"""Bytes of a file from which on the engine reads while it is scanned: below, the scan is over
before the engine has begun."""

LARGEST_PACKING = 40
"""More than any capture is packed by gzip, for a bound on what is not yet unpacked."""

USUAL_PACKING = 15
"""What captures are packed by gzip; those seen, by 10 to 27."""

_BLOCK = 8 << 20


@dataclass(frozen=True)
class OpenOptions:
    """How captures are opened.

    Attributes:
        trace_processor: path of the engine; None for the first that is found.
        light: leave out Python frames, and operators if that isn't enough for the engine.
        fresh: run the steps on an enriched trace too, instead of reading its annotations.
        steps: options of the steps.
        progress: see `Progress`.
        when_read: called with a capture when its file is read to the end and the engine alone
            still works on it: the time to begin what needs no engine.
    """

    trace_processor: str | None = None
    light: bool = False
    fresh: bool = False
    steps: Options = field(default_factory=Options)
    progress: Progress | None = None
    when_read: Callable[[Capture], None] | None = None


def load_capture(path: Path, options: OpenOptions, memory: Memory) -> tuple[Engine, Capture]:
    """Starts an engine and loads a capture into it.

    A large file is read by the engine while it is scanned. Nearly all need no repair; for one
    that does, the engine is replaced by another that reads the repaired capture.

    Raises:
        CaptureError: the file is no capture of a device.
        EngineError: no engine was found, or the capture doesn't fit into it.
    """
    source = locate(path)
    size = source.size * (USUAL_PACKING if source.gzipped else 1)
    engine = start_engine(options.trace_processor, trace_bytes=size)
    try:
        with _EarlyLoad(engine, source, options) as early:
            capture = _fitting(engine, path, options)
            memory.take(estimate_heap(capture.loaded_size), capture.path.name)
            done = early.finish(capture, options.when_read)
        if not done:
            if early.began:
                engine.close()
                engine = start_engine(options.trace_processor, trace_bytes=size)
            chunks = capture.chunks() if capture.annotations is None else _combined(capture)
            reported = _reported(chunks, capture, options.progress)
            engine.load(_announced(reported, capture, options.when_read))
    except BaseException:
        engine.close()
        raise
    return engine, capture


class _EarlyLoad:
    """The original on its way into the engine, before it is known whether that will do."""

    def __init__(self, engine: Engine, source: Source, options: OpenOptions) -> None:
        self._engine = engine
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._loading: Future[None] | None = None
        if not options.light and _surely_fits(source, engine):
            self._loading = self._worker.submit(engine.load, _blocks(source))

    @property
    def began(self) -> bool:
        """Whether the engine was given anything."""
        return self._loading is not None

    def __enter__(self) -> _EarlyLoad:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._loading is not None and not self._loading.done():
            # The only way to stop an engine in the middle of a file.
            self._engine.close()
        self._worker.shutdown()

    def finish(self, capture: Capture, when_read: Callable[[Capture], None] | None) -> bool:
        """Waits for the engine if the original will do; whether it is loaded then."""
        if self._loading is None or capture.is_repaired:
            return False
        if when_read:
            when_read(capture)
        self._loading.result()
        return True


def _surely_fits(source: Source, engine: Engine) -> bool:
    plain = source.container == "file" and source.content.kind == "json"
    unpacked = source.size * (LARGEST_PACKING if source.gzipped else 1)
    return plain and source.size >= EARLY_SIZE and fits(unpacked, engine.kind)


def _blocks(source: Source) -> Iterator[bytes]:
    with source.open() as file:
        while block := file.read(_BLOCK):
            yield block


def _fitting(engine: Engine, path: Path, options: OpenOptions) -> Capture:
    capture = _scan(engine, path, LIGHT_STAGES[0] if options.light else (), options)
    if fits(capture.loaded_size, engine.kind):
        return capture
    return _lighter(engine, capture, options)


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


def _announced(
    chunks: Iterable[bytes], capture: Capture, when_read: Callable[[Capture], None] | None
) -> Iterable[bytes]:
    yield from chunks
    if when_read:
        when_read(capture)


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
