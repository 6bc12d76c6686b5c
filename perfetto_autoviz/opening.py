"""Opening captures: scan, load, check that nothing was lost, and hand over a session."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from perfetto_autoviz.engine import Engine, estimate_heap, fits, judge, start_engine
from perfetto_autoviz.errors import CaptureError, EngineError
from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.ingest import Capture, RankedCapture, assign_ranks, find_captures, scan_capture
from perfetto_autoviz.rankset import RankSet
from perfetto_autoviz.relations import CAPTURE, SCHEMA_VERSION
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import Options
from perfetto_autoviz.steps.framework import framework_of
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
        light: leave out Python frames, then operators, if the engine's memory needs it.
        steps: options of the steps.
        progress: see `Progress`.
    """

    trace_processor: str | None = None
    light: bool = False
    steps: Options = Options()
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
        light: leave out Python frames, then operators, if the engine's memory needs it.
        anchor: regular expression of the kernel that occurs once per layer.

    Returns:
        A session for one file, a rank set for several.

    Raises:
        CaptureError: a file is no capture of a device, or its rank is unknown.
        EngineError: no engine was found, or the capture doesn't fit into it.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    options = OpenOptions(trace_processor, light, Options(anchor=anchor))
    found = find_captures([Path(path) for path in given])
    if len(found) == 1 and len(given) == 1 and not Path(given[0]).is_dir():
        return open_capture(found[0], options)
    return open_ranks(found, options)


def open_ranks(found: Sequence[RankedCapture], options: OpenOptions) -> RankSet:
    """Opens the captures of several ranks, each in an engine of its own, several at once."""
    ranked = assign_ranks(found)
    sessions: list[Session] = []
    try:
        with ThreadPoolExecutor(max_workers=_at_once(ranked)) as pool:
            for session in pool.map(lambda each: open_capture(each, options), ranked):
                sessions.append(session)
    except BaseException:
        for session in sessions:
            session.close()
        raise
    run = hashlib.sha256("".join(sorted(s.capture.sha256 for s in sessions)).encode()).hexdigest()[:16]
    return RankSet(sessions, run, options.trace_processor)


def open_capture(each: RankedCapture, options: OpenOptions) -> Session:
    """Opens one capture in an engine of its own."""
    engine = start_engine(options.trace_processor)
    try:
        return _open(engine, each, options)
    except BaseException:
        engine.close()
        raise


def _open(engine: Engine, each: RankedCapture, options: OpenOptions) -> Session:
    capture = _scan(engine, each.path, (), options)
    if not fits(capture.unpacked_size, engine.kind):
        capture = _lighter(engine, capture, options)
    engine.load(_reported(_chunks(engine, capture), capture, options.progress))
    session = Session(engine, capture, options.steps, stored=bool(capture.annotations))
    if not session.stored:
        session.provide(CAPTURE.name, capture_frame(session, each))
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
    need = _gib(estimate_heap(capture.unpacked_size))
    if not options.light:
        raise EngineError(
            f"{capture.path.name} needs about {need} of the WebAssembly engine's 4 GiB: leave out"
            " Python frames with --light, or use the native engine (--trace-processor PATH)"
        )
    for leave_out in LIGHT_STAGES:
        if set(leave_out) <= set(capture.left_out):
            continue
        capture = _scan(engine, capture.path, leave_out, options)
        if fits(capture.unpacked_size, engine.kind):
            return capture
    raise EngineError(
        f"{capture.path.name} needs about {_gib(estimate_heap(capture.unpacked_size))} of the"
        " WebAssembly engine's 4 GiB even without Python frames and operators: use the native"
        " engine (--trace-processor PATH)"
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _chunks(engine: Engine, capture: Capture) -> Iterable[bytes]:
    """What the engine is fed: the capture, and its annotations where it has some."""
    if not capture.annotations:
        return capture.chunks()
    return _combined(capture, capture.annotations)


def _combined(capture: Capture, annotations: bytes) -> Iterator[bytes]:
    """An enriched trace anew, as its capture may have to be repaired for this engine."""
    with tempfile.TemporaryDirectory(prefix="autoviz-") as folder:
        path = Path(folder) / "enriched.zip"
        write_enriched(
            path, capture.member_name, capture.chunks(), annotations, already_compressed=True
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


def capture_frame(session: Session, each: RankedCapture) -> pd.DataFrame:
    """The row of the relation ``capture``: what the scan found, and the framework's name."""
    capture = session.capture
    known = capture.metadata
    names = session.query("SELECT DISTINCT name FROM _autoviz_annotation")["name"]
    row = {
        "schema_version": SCHEMA_VERSION,
        "autoviz_version": version("perfetto-autoviz"),
        "file_name": capture.path.name,
        "file_size": capture.size,
        "sha256": capture.sha256,
        "rank": each.rank if each.rank is not None else known.rank,
        "rank_evidence": each.evidence,
        "world_size": known.world_size,
        "framework": framework_of(names.tolist()),
        "gpu_name": known.gpu_name,
        "gpu_count": known.gpu_count,
        "runtime": known.runtime,
        "collective_library": known.collective_library,
        "trace_name": known.trace_name,
        "base_time_ns": known.base_time_ns,
        "event_count": capture.event_count,
        "kernel_count": capture.counts.kernel,
        "memcpy_count": capture.counts.memcpy,
        "memset_count": capture.counts.memset,
        "launch_count": capture.counts.launch,
        "annotation_count": capture.counts.annotation,
        "repairs": json.dumps([asdict(repair) for repair in capture.repairs]),
        "left_out": ",".join(capture.left_out) or None,
        "metadata": json.dumps(known.other),
        "run_id": None,
    }
    return relation_frame(CAPTURE, {name: [value] for name, value in row.items()})
