"""What splitting costs: one window in bare loads of the capture, and all windows in MB/s.

Run as ``python -m tests.benchmarks.bench_split``; prints a table in Markdown, and ends with 1 if a
bound is broken.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measure import JobError, run

EVENTS = 1_000_000
REPEAT = 3

MOST_RATIO = 3.0
"""Most that one window may cost, in bare loads of the same file by the same engine."""

MOST_BYTES = 1 << 30
"""Most memory of the Python process."""


NATIVE_SUFFIX = ".pftrace"


@dataclass(frozen=True)
class SplitOutcome:
    """Medians; for memory, the most.

    Attributes:
        engine: the engine.
        native: whether the capture is a native trace, and no JSON.
        bare: seconds of a process that starts an engine, loads the capture and ends.
        one: seconds of the command that cuts one window.
        ratio: of the two, in pairs.
        every: seconds of the command that cuts a file for each iteration.
        files: how many that are.
        rate: MB of the capture, unpacked, per second at which they are cut, without the load.
        peak: most memory of Python in bytes.
    """

    engine: str
    native: bool
    bare: float
    one: float
    ratio: float
    every: float
    files: int
    rate: float
    peak: float


def measure_split(engine: str, capture: Path, folder: Path, repeat: int) -> SplitOutcome:
    """Measures one window and all windows of a capture."""
    folder.mkdir(parents=True, exist_ok=True)
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
        capture.suffix == NATIVE_SUFFIX,
        statistics.median(bare),
        statistics.median(one),
        statistics.median(b / a for a, b in zip(bare, one, strict=True)),
        statistics.median(every),
        files,
        statistics.median(rates),
        max(peaks),
    )


def broken_splits(outcome: SplitOutcome) -> Iterator[str]:
    """One line for each bound that is broken; the ratio counts for JSON on the WebAssembly engine.

    An engine loads a native trace in half the time, and the steps take as long as ever.
    """
    if outcome.engine == "wasm" and not outcome.native and outcome.ratio > MOST_RATIO:
        yield f"one window costs {outcome.ratio:.2f} bare loads, more than {MOST_RATIO:g}"
    if outcome.peak > MOST_BYTES:
        yield f"splitting takes {outcome.peak / 2**20:.0f} MiB, more than {MOST_BYTES >> 20}"


def split_table(outcomes: Sequence[SplitOutcome]) -> str:
    """The outcomes as a Markdown table."""
    head = ("engine", "capture", "bare load", "one window", "ratio", "all windows", "files", "MB/s",
            "peak")  # fmt: skip
    rows = [
        (
            each.engine,
            "native" if each.native else "JSON",
            f"{each.bare:.2f} s",
            f"{each.one:.2f} s",
            f"{each.ratio:.2f}",
            f"{each.every:.2f} s",
            f"{each.files:,}",
            f"{each.rate:.0f}",
            f"{each.peak / 2**20:.0f} MiB",
        )
        for each in outcomes
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


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
        native = folder / f"capture{NATIVE_SUFFIX}"
        run(options.engine, "native", capture, native)
        outcomes = [
            measure_split(options.engine, each, folder / each.suffix[1:], options.repeat)
            for each in (capture, native)
        ]
    sys.stdout.write(f"{split_table(outcomes)}\n")
    lines = [line for each in outcomes for line in broken_splits(each)]
    sys.stdout.writelines(f"BROKEN: {line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except JobError as problem:
        sys.exit(f"benchmark stopped: {problem}")
