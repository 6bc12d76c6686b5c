"""What is measured, each in a process of its own: its time and memory are nobody else's.

Run as ``python -m tests.benchmarks.jobs RESULT JOB ARGUMENTS…``; the result is JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from perfetto_autoviz.errors import AutovizError

BLOCK = 8 << 20

Result = dict[str, float | str]


def make(path: str, events: str, overlap: str) -> Result:
    """Makes a synthetic capture."""
    from perfetto_autoviz.synth.bench import bench_capture

    bench_capture(Path(path), int(events), pdl=overlap == "overlap")
    return {}


def native(path: str, out: str) -> Result:
    """Writes a capture as a native trace."""
    from tests.native import write_native

    write_native(Path(path), Path(out))
    return {}


def probe() -> Result:
    """Tells which engine the environment gives."""
    from perfetto_autoviz.engine import start_engine

    with start_engine() as engine:
        return {"kind": engine.kind, "version": engine.version}


def bare(path: str) -> Result:
    """Starts an engine, loads a file as it is, and ends."""
    from perfetto_autoviz.engine import start_engine

    begin = time.perf_counter()
    with start_engine() as engine:
        engine.load(_blocks(Path(path)))
        return {"load_seconds": time.perf_counter() - begin}


def annotate(path: str, out: str) -> Result:
    """Runs the command that users run."""
    from perfetto_autoviz.cli import main

    code = main(["annotate", path, "-o", out])
    if code:
        raise SystemExit(code)
    return {}


def split(path: str, out: str, *choice: str) -> Result:
    """Runs the command that users run."""
    from perfetto_autoviz.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main(["split", path, "-o", out, *choice, "--json"])
    if code:
        raise SystemExit(code)
    found = json.loads(printed.getvalue())
    return {"rate": found["megabytes_per_second"], "files": len(found["files"])}


def count(path: str) -> Result:
    """Counts the device activities of a capture."""
    from perfetto_autoviz.ingest import scan_capture

    return {"kernels": scan_capture(path, drops_overlaps=False).counts.device}


def patterns(kernels: str) -> Result:
    """Looks for the patterns of so many kernels."""
    from tests.benchmarks.bench_patterns import detect

    return detect(int(kernels))


def readers(path: str) -> Result:
    """Times the readers of gzip and JSON on one capture, given as gzip."""
    from tests.benchmarks.readers import compare

    return dict(compare(Path(path)))


JOBS: dict[str, Callable[..., Result]] = {
    "make": make,
    "native": native,
    "probe": probe,
    "bare": bare,
    "annotate": annotate,
    "split": split,
    "count": count,
    "patterns": patterns,
    "readers": readers,
}


def main() -> None:
    """Runs the job that the command line names."""
    target, job, *arguments = sys.argv[1:]
    try:
        result = JOBS[job](*arguments)
    except AutovizError as error:
        raise SystemExit(str(error)) from error
    result["peak_bytes"] = _peak_bytes()
    Path(target).write_text(json.dumps(result), encoding="utf-8")


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _peak_bytes() -> int:
    """Most memory that this process held at a time, the engine's process not included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main()
