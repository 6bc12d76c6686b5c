"""``python -m tests.benchmarks.strip``: what is found of steps in captures without annotations.

Prints what is wrong as it is found, at last a table in Markdown, and ends with 1 if a bound is
broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from perfetto_autoviz.synth import SynthCapture, read_truth, synthesise
from tests.benchmarks.printing import say
from tests.benchmarks.strip.drawn import drawn_scenarios
from tests.benchmarks.strip.judge import Verdict, judge, steady_windows
from tests.benchmarks.strip.scenarios import DEVELOPED, strip_scenarios
from tests.benchmarks.strip.tally import Tally, table
from tests.live import open_fresh
from tests.stripping import ROUNDS, Stripped


def main() -> int:
    """Strips, judges, prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.strip", description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth capture")
    parser.add_argument("--rounds", type=int, nargs="+", default=ROUNDS, choices=ROUNDS)
    parser.add_argument("--seed", type=int, default=DEVELOPED, metavar="N", help="of the first")
    parser.add_argument("--drawn", type=int, metavar="N", help="N captures drawn at random instead")
    options = parser.parse_args()
    tallies = {stage: Tally(stage) for stage in options.rounds}
    drawn = options.drawn and drawn_scenarios(options.seed, options.drawn)
    for number, (cell, spec) in enumerate(drawn or strip_scenarios(options.seed)):
        if number % options.every:
            continue
        with tempfile.TemporaryDirectory(prefix="autoviz-strip-") as folder:
            ranks = [_rank(each, options.rounds) for each in synthesise(spec, Path(folder))]
        for stage, tally in tallies.items():
            for line in tally.add([rank[stage] for rank in ranks]):
                say(f"{number}: {cell}, round {stage}, {line}")
    say(table(tallies.values()))
    broken = [line for tally in tallies.values() for line in tally.broken()]
    for line in broken:
        say(f"BROKEN: {line}")
    return int(bool(broken))


def _rank(capture: SynthCapture, rounds: list[int]) -> dict[int, Verdict]:
    """Verdicts on one file, which is loaded once."""
    truth = read_truth(capture.truth_path)
    with open_fresh(capture.path) as whole:
        window = steady_windows(whole).get("mixed")
        return {
            stage: judge(Stripped(whole, stage), truth, rotated=stage >= 3, window=window)
            for stage in rounds
        }


if __name__ == "__main__":
    sys.exit(main())
