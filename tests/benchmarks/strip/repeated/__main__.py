"""``python -m tests.benchmarks.strip.repeated FOLDER``: real steps repeated, stripped, judged.

Each capture of the folder that holds a single step of a serving engine is repeated: host,
launches and kernels, with noise, other batches and prompts, a host that runs ahead, and
recordings that start and end amid steps. Round 0 takes nothing away. Prints what is wrong as it
is found, and at last a table in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.printing import say
from tests.benchmarks.strip.judge import Verdict, steady_windows
from tests.benchmarks.strip.repeated.compare import ANNOTATED, Truth
from tests.benchmarks.strip.repeated.plans import drawn_case
from tests.benchmarks.strip.repeated.record import Recording
from tests.benchmarks.strip.repeated.template import RealStep, read_step
from tests.benchmarks.strip.tally import Tally, table
from tests.live import open_fresh
from tests.stripping import ROUNDS, Stripped

LARGE, LONGEST, LONGEST_OF_LARGE = 10_000, 60, 12
"""Events of the host from which a step is repeated less often, and how often at most."""

DEVELOPED = 9_000
"""Seed of the first capture while this was developed."""


def main() -> int:
    """Repeats, strips, judges, prints."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.strip.repeated", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=10, metavar="N", help="captures of each step")
    parser.add_argument("--seed", type=int, default=DEVELOPED, metavar="N", help="of the first")
    options = parser.parse_args()
    steps = [step for path in sorted(options.folder.rglob("*.json*")) if (step := read_step(path))]
    stages = (ANNOTATED, *ROUNDS)
    tallies = {stage: Tally(stage) for stage in stages}
    for number in range(options.count * len(steps)):
        seed, step = options.seed + number, steps[number % len(steps)]
        ranks = _ranks(step, seed, stages)
        for stage, tally in tallies.items():
            for line in tally.add([rank[stage] for rank in ranks]):
                say(f"{step.name}, seed {seed}, round {stage}, {line}")
    say(table(tallies.values()))
    return 0


def _ranks(step: RealStep, seed: int, stages: Sequence[int]) -> list[dict[int, Verdict]]:
    """Verdicts on all ranks of a capture."""
    longest = LONGEST_OF_LARGE if len(step.host) > LARGE else LONGEST
    case = drawn_case(seed, mixes=_mixes(step), longest=longest)
    with tempfile.TemporaryDirectory(prefix="autoviz-repeated-") as folder:
        made = [Recording(step, case, rank) for rank in range(case.ranks)]
        return [_judged(one, one.write(Path(folder)), stages) for one in made]


def _mixes(step: RealStep) -> bool:
    """Whether the engine prefills and decodes in one step, as vLLM does."""
    return not any(step.host[index]["name"].startswith("step[") for index in step.titles)


def _judged(made: Recording, path: Path, stages: Sequence[int]) -> dict[int, Verdict]:
    with open_fresh(path) as whole:
        truth = Truth(whole, made.steps)
        window = steady_windows(whole).get("mixed")
        return {
            stage: truth.judge(
                whole if stage == ANNOTATED else Stripped(whole, stage), stage, window
            )
            for stage in stages
        }


if __name__ == "__main__":
    sys.exit(main())
