"""What splitting costs: one window in bare loads of the capture, and all windows in MB/s.

Run as ``python -m tests.benchmarks.bench_split``; prints a table in Markdown, and ends with 1 if a
bound is broken.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measure import JobError, run

EVENTS = 1_000_000
REPEAT = 3

MOST_RATIO = 3.0
"""Most that one window may cost, in bare loads of the same file by the same engine."""

MOST_BYTES = 1 << 30
"""Most memory of the Python process."""


@dataclass(frozen=True)
class SplitOutcome:
    """Medians; for memory, the most.

    Attributes:
        engine: the engine.
        bare: seconds of a process that starts an engine, loads the capture and ends.
        one: seconds of the command that cuts one window.
        ratio: of the two, in pairs.
        every: seconds of the command that cuts a file for each iteration.
        files: how many that are.
        rate: MB of JSON per second at which they are cut, without the load.
        peak: most memory of Python in bytes.
    """

    engine: str
    bare: float
    one: float
    ratio: float
    every: float
    files: int
    rate: float
    peak: float


def measure_split(engine: str, capture: Path, folder: Path, repeat: int) -> SplitOutcome:
    """Measures one window and all windows of a capture."""
    folder.mkdir(exist_ok=True)
    bare, one, every, rates, peaks, files = [], [], [], [], [], 0
    for turn in range(repeat):
        bare.append(run(engine, "bare", capture)[1])
        result, seconds = run(engine, "split", capture, folder / f"one-{turn}", "--middle")
        one.append(seconds)
        peaks.append(float(result["peak_bytes"]))
        target = folder / f"all-{turn}"
        result, seconds = run(engine, "split", capture, target, "--iterations", "all")
        every.append(seconds)
        peaks.append(float(result["peak_bytes"]))
        rates.append(float(result["rate"]))
        files = int(result["files"])
    return SplitOutcome(
        engine,
        statistics.median(bare),
        statistics.median(one),
        statistics.median(b / a for a, b in zip(bare, one, strict=True)),
        statistics.median(every),
        files,
        statistics.median(rates),
        max(peaks),
    )


def broken_splits(outcome: SplitOutcome) -> Iterator[str]:
    """One line for each bound that is broken; the ratio counts on the WebAssembly engine."""
    if outcome.engine == "wasm" and outcome.ratio > MOST_RATIO:
        yield f"one window costs {outcome.ratio:.2f} bare loads, more than {MOST_RATIO:g}"
    if outcome.peak > MOST_BYTES:
        yield f"splitting takes {outcome.peak / 2**20:.0f} MiB, more than {MOST_BYTES >> 20}"


def split_table(outcome: SplitOutcome) -> str:
    """The outcome as a Markdown table."""
    return (
        "| engine | bare load | one window | ratio | all windows | files | MB/s | peak |\n"
        "|---|---|---|---|---|---|---|---|\n"
        f"| {outcome.engine} | {outcome.bare:.2f} s | {outcome.one:.2f} s | {outcome.ratio:.2f}"
        f" | {outcome.every:.2f} s | {outcome.files:,} | {outcome.rate:.0f}"
        f" | {outcome.peak / 2**20:.0f} MiB |"
    )


def main() -> int:
    """Measures, prints, judges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N")
    parser.add_argument("--engine", default="wasm", choices=("wasm", "native"))
    parser.add_argument("--repeat", type=int, default=REPEAT, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="autoviz-bench-") as name:
        folder = Path(name)
        capture = folder / "capture.json.gz"
        run(options.engine, "make", capture, str(options.events), "plain")
        outcome = measure_split(options.engine, capture, folder, options.repeat)
    sys.stdout.write(f"{split_table(outcome)}\n")
    lines = list(broken_splits(outcome))
    sys.stdout.writelines(f"BROKEN: {line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except JobError as problem:
        sys.exit(f"benchmark stopped: {problem}")
