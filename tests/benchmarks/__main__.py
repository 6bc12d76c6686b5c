"""``make bench``: what ``annotate`` costs, in bare loads of the same file by the same engine.

Prints tables in Markdown, and ends with 1 if a bound is broken.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.bench_patterns import (
    SIZES,
    broken_patterns,
    measure_patterns,
    patterns_table,
)
from tests.benchmarks.bench_split import (
    NATIVE_SUFFIX,
    broken_splits,
    measure_split,
    split_table,
)
from tests.benchmarks.measure import Case, JobError, Outcome, measure, run
from tests.benchmarks.printing import say
from tests.benchmarks.verdict import JUDGED_ENGINE, broken, outcome_table, reader_table

EVENTS = (100_000, 1_000_000)
ENGINES = ("wasm", "native")
REPEAT = 3


def main() -> int:
    """Measures, prints, judges."""
    options = _options()
    engines = [engine for engine in options.engine if _present(engine)]
    if not engines:
        say("no engine to measure: autoviz doctor tells what is missing")
        return 1
    cases = [case for events in options.events for case in _cases(events)]
    with tempfile.TemporaryDirectory(prefix="autoviz-bench-") as name:
        folder = Path(name)
        for case in cases:
            run(engines[0], "make", folder / case.file_name, str(case.events), _kind(case))
        outcomes = [_measured(e, case, folder, options.repeat) for e in engines for case in cases]
        largest_gzip = max((case for case in cases if case.gzipped), key=lambda case: case.events)
        readers, _ = run(engines[0], "readers", folder / largest_gzip.file_name)
        capture = folder / largest_gzip.file_name
        kernels, _ = run(engines[0], "count", capture)
        native = folder / f"capture{NATIVE_SUFFIX}"
        run(engines[0], "native", capture, native)
        splits = [
            measure_split(e, each, folder / e / each.suffix[1:], options.repeat)
            for e in engines
            for each in (capture, native)
        ]
    readers.pop("peak_bytes")
    say(f"\n{outcome_table(outcomes)}\n")
    say(f"Readers, on {largest_gzip.events:,} events:\n")
    say(reader_table({name: float(value) for name, value in readers.items()}))
    say(f"\nSplitting, on {largest_gzip.events:,} events:\n\n{split_table(splits)}")
    loads = [o.load for o in outcomes if o.case == largest_gzip and o.engine == JUDGED_ENGINE]
    load_each = loads[0] / float(kernels["kernels"]) if loads else math.nan
    found = measure_patterns(options.kernels)
    say(f"\nPatterns:\n\n{patterns_table(found, load_each)}")
    lines = [*broken(outcomes), *(line for each in splits for line in broken_splits(each))]
    return _judge([*lines, *broken_patterns(found, load_each)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=EVENTS, metavar="N")
    parser.add_argument("--kernels", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--engine", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--repeat", type=int, default=REPEAT, metavar="N")
    return parser.parse_args()


def _cases(events: int) -> tuple[Case, ...]:
    return (Case(events), Case(events, gzipped=True), Case(events, overlap=True))


def _kind(case: Case) -> str:
    return "overlap" if case.overlap else "plain"


def _present(engine: str) -> bool:
    try:
        found, _ = run(engine, "probe")
    except JobError as error:
        say(f"{engine}: not measured ({error})")
        return False
    say(f"{engine}: {found['version']}")
    return True


def _measured(engine: str, case: Case, folder: Path, repeat: int) -> Outcome:
    outcome = measure(engine, case, folder, repeat)
    say(f"{engine}, {case.file_name}: {outcome.ratio:.2f} bare loads")
    return outcome


def _judge(lines: Sequence[str]) -> int:
    for line in lines:
        say(f"\nBROKEN: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except JobError as problem:
        sys.exit(f"benchmark stopped: {problem}")
