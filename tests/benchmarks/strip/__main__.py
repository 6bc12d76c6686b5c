"""``python -m tests.benchmarks.strip``: what is found of steps in captures without annotations.

Prints a table in Markdown, and ends with 1 if a bound is broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from perfetto_autoviz.synth import read_truth, synthesise
from tests.benchmarks.printing import say
from tests.benchmarks.strip.judge import Span, Verdict, judge, mixed_window
from tests.benchmarks.strip.scenarios import strip_scenarios
from tests.live import open_fresh
from tests.stripping import ROUNDS, strip_capture

LEAST_RIGHT = 0.99
"""Share of the iterations that must be right."""

LEAST_OVERLAP = 0.9
"""Part that a mixed window must share with that of the annotated capture."""


def main() -> int:
    """Strips, judges, prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.strip", description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth capture")
    parser.add_argument("--rounds", type=int, nargs="+", default=ROUNDS, choices=ROUNDS)
    options = parser.parse_args()
    verdicts: dict[int, list[Verdict]] = {stage: [] for stage in options.rounds}
    disagreeing = 0
    with tempfile.TemporaryDirectory(prefix="autoviz-strip-") as name:
        for number, (cell, spec) in enumerate(strip_scenarios()):
            if number % options.every:
                continue
            captures = synthesise(spec, Path(name))
            windows = {capture.path: _window(capture.path) for capture in captures}
            for stage in options.rounds:
                found = [_verdict(path, Path(name), stage, windows[path]) for path in windows]
                disagreeing += len({one.found_steps for one in found}) > 1
                verdicts[stage] += found
                _say_wrong(cell, stage, found)
            for capture in captures:
                capture.path.unlink()
    say(_table(verdicts))
    say(f"\nranks that disagree: {disagreeing}")
    return int(disagreeing > 0 or any(_right(found) < LEAST_RIGHT for found in verdicts.values()))


def _window(path: Path) -> Span | None:
    with open_fresh(path) as session:
        return mixed_window(session)


def _verdict(path: Path, folder: Path, stage: int, window: Span | None) -> Verdict:
    truth = read_truth(path.with_name(path.name.split(".")[0] + ".truth.json.gz"))
    stripped = strip_capture(path, folder / f"round{stage}-{path.name}", stage)
    with open_fresh(stripped) as session:
        verdict = judge(session, truth, rotated=stage >= 3, window=window)
    stripped.unlink()
    return verdict


def _say_wrong(cell: str, stage: int, found: list[Verdict]) -> None:
    for rank, one in enumerate(found):
        moved = one.window is not None and one.window < LEAST_OVERLAP
        if one.right_steps < one.true_steps or one.wrong_phases or moved:
            say(f"round {stage}, {cell}, rank {rank}: {one}")


def _right(found: list[Verdict]) -> float:
    return sum(one.right_steps for one in found) / max(sum(one.true_steps for one in found), 1)


def _table(verdicts: dict[int, list[Verdict]]) -> str:
    lines = [
        "| round | captures | same number of steps | steps right | phases told | phases right"
        " | mixed windows |",
        "|---|---|---|---|---|---|---|",
    ]
    for stage, found in verdicts.items():
        steps = sum(one.true_steps for one in found)
        told = sum(one.phases + one.wrong_phases for one in found)
        same = sum(one.true_steps == one.found_steps for one in found)
        right = sum(one.phases for one in found)
        windows = [one.window for one in found if one.window is not None]
        kept = sum(window >= LEAST_OVERLAP for window in windows)
        lines.append(
            f"| {stage} | {len(found)} | {same} | {_right(found):.2%} of {steps:,}"
            f" | {told / max(steps, 1):.1%} | {right / max(told, 1):.2%}"
            f" | {kept} of {len(windows)} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
