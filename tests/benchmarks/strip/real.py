"""``python -m tests.benchmarks.strip.real FOLDER``: steps of real captures without annotations.

Prints a row for each annotated capture of the folder, and ends with 1 where one of at least
four steps loses any, or one of a single step gains some.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.session import Session
from tests.benchmarks.printing import row
from tests.benchmarks.strip.judge import (
    Span,
    at_one_rotation,
    innermost_steps,
    overlap,
    steady_windows,
)
from tests.live import open_fresh
from tests.stripping import ROUNDS, Stripped

SEVERAL = 4
"""Steps from which they must all be found."""


def main() -> int:
    """Strips, compares, prints."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.strip.real", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    row("capture", "steps", *(f"round {stage}" for stage in ROUNDS), "windows that overlap least")
    row(*["---"] * (3 + len(ROUNDS)))
    good = True
    for path in sorted(folder.rglob("*.json*")):
        try:
            whole = open_fresh(path)
        except CaptureError:
            continue
        with whole:
            good &= _compare(str(path.relative_to(folder)), whole)
    return int(not good)


def _compare(name: str, whole: Session) -> bool:
    """Prints a row, if the capture is annotated, and says whether its steps are kept."""
    steps, windows = innermost_steps(whole), steady_windows(whole)
    if not steps["evidence"].astype(str).str.startswith("annotation").any():
        return True
    first = steps["first"].to_numpy(np.int64)
    cells, good, shared = [], True, [1.0]
    for stage in ROUNDS:
        session = Stripped(whole, stage)
        found = innermost_steps(session)["first"].to_numpy(np.int64)
        same = len(found) == len(first)
        right = at_one_rotation(found, first) if same else 0
        cells.append(f"{len(found)}, {right} right" if same else str(len(found)))
        good &= same if len(first) >= SEVERAL else len(found) <= len(first)
        if len(first) >= SEVERAL:
            shared += _overlaps(windows, steady_windows(session))
    row(name, str(len(first)), *cells, f"{min(shared):.0%}" if windows else "-")
    return good


def _overlaps(one: dict[str, Span], other: dict[str, Span]) -> Iterator[float]:
    for mode, span in one.items():
        yield overlap(span, other.get(mode))


if __name__ == "__main__":
    sys.exit(main())
