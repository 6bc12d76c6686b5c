"""Runs jobs in processes of their own, and puts their numbers together.

This process must stay small: on Linux a child's peak memory starts at its parent's.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

JOB_SECONDS = 600

Result = dict[str, float | str]


class JobError(Exception):
    """A job failed; the message is the last line it wrote."""


@dataclass(frozen=True)
class Case:
    """A capture to annotate.

    Attributes:
        events: its size.
        overlap: kernels overlap their predecessors, so that some engines need a repair.
        gzipped: whether it is compressed.
    """

    events: int
    overlap: bool = False
    gzipped: bool = False

    @property
    def file_name(self) -> str:
        """A name of its own in the folder of captures."""
        kind = "overlap" if self.overlap else "plain"
        return f"{kind}-{self.events}.json{'.gz' if self.gzipped else ''}"


@dataclass(frozen=True)
class Pair:
    """One bare load and the annotation that followed it at once, in whole processes.

    Attributes:
        bare: seconds of a process that starts an engine, loads the file and ends.
        load: seconds of the start and the load in it.
        annotate: seconds of the command.
        peak: most memory in bytes of the command's Python process.
    """

    bare: float
    load: float
    annotate: float
    peak: float


@dataclass(frozen=True)
class Outcome:
    """The medians of a case; the ratio is that of pairs, as a machine's speed drifts."""

    case: Case
    engine: str
    bare: float
    load: float
    annotate: float
    ratio: float
    peak: float


def run(engine: str, job: str, *arguments: str | Path) -> tuple[Result, float]:
    """Runs a job with an engine; returns its result and the seconds of its process.

    Raises:
        JobError: it failed.
    """
    with tempfile.TemporaryDirectory(prefix="autoviz-bench-") as folder:
        target = Path(folder) / "result.json"
        command = [sys.executable, "-m", "tests.benchmarks.jobs", str(target), job]
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, *map(str, arguments)],
            env={**os.environ, "AUTOVIZ_TRACE_PROCESSOR": engine},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=JOB_SECONDS,
            check=False,
        )
        seconds = time.perf_counter() - begin
        if done.returncode:
            raise JobError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
        return json.loads(target.read_text(encoding="utf-8")), seconds


def measure(engine: str, case: Case, folder: Path, repeat: int) -> Outcome:
    """Measures a case whose capture lies in a folder."""
    capture = folder / case.file_name
    pairs = [_pair(engine, capture, folder / f"out-{i}.zip") for i in range(repeat)]
    return summary(case, engine, pairs)


def summary(case: Case, engine: str, pairs: Sequence[Pair]) -> Outcome:
    """The medians over repetitions; for memory, the most."""
    return Outcome(
        case,
        engine,
        bare=statistics.median(pair.bare for pair in pairs),
        load=statistics.median(pair.load for pair in pairs),
        annotate=statistics.median(pair.annotate for pair in pairs),
        ratio=statistics.median(pair.annotate / pair.bare for pair in pairs),
        peak=max(pair.peak for pair in pairs),
    )


def _pair(engine: str, capture: Path, out: Path) -> Pair:
    loaded, bare = run(engine, "bare", capture)
    annotated, annotate = run(engine, "annotate", capture, out)
    out.unlink()
    return Pair(bare, float(loaded["load_seconds"]), annotate, float(annotated["peak_bytes"]))
