"""Prints how well patterns are detected and builds compared, by the truth of synthetic captures.

Run as ``python -m tests.benchmarks.proof``; takes some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from tests.benchmarks.printing import row, say
from tests.benchmarks.proof.evaluate import DAMAGE, Found, evaluate_pairs, evaluate_patterns
from tests.benchmarks.proof.places import Placing
from tests.benchmarks.proof.scenarios import (
    DIFFICULTIES,
    FAMILIES,
    HARDER,
    PROOF_SEEDS,
    TUNING_SEEDS,
)
from tests.benchmarks.proof.scripts import Judged, Tally

CHANGES = ("renamed", "split", "fused", "added", "removed", "moved")

Pairs = dict[str, list[dict[str, Judged]]]


def main() -> None:
    """Evaluates and prints."""
    options = _options()
    seeds = [*(TUNING_SEEDS if options.tuning else PROOF_SEEDS)][: options.seeds]
    patterns: dict[str, list[Found]] = {}
    pairs: Pairs = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for family in FAMILIES:
            same = [family] * len(seeds)
            patterns[family] = [*pool.map(evaluate_patterns, same, seeds)]
            pairs[family] = [*pool.map(evaluate_pairs, same, seeds)]
            say(f"{family}: done")
    kind = "tuning" if options.tuning else "proof"
    say(f"\n{len(seeds)} {kind} seeds from {seeds[0]}, {len(FAMILIES)} families\n")
    _print_patterns(patterns)
    _print_matches(pairs)
    _print_scripts(pairs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.proof", description=__doc__)
    parser.add_argument("--seeds", type=int, default=40, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--tuning", action="store_true", help="use the seeds for tuning")
    return parser.parse_args()


def _print_patterns(patterns: dict[str, list[Found]]) -> None:
    row("Right pattern and position", *DAMAGE, "worst", "same names", "by chance at most")
    row(*["---"] * (len(DAMAGE) + 4))
    for family, found in patterns.items():
        placings = [one for each in found for one in each.placings.values()]
        alike = sum(one.named_alike for one in placings)
        row(
            family,
            *(_share([e.placings[d] for e in found if d in e.placings]) for d in DAMAGE),
            f"{min(one.share for one in placings):.2%}",
            f"{alike} of {len(placings)}",
            f"{max(one.by_chance for one in found):.2%}",
        )
    say("")


def _share(placings: Sequence[Placing]) -> str:
    inside = sum(one.inside for one in placings)
    return f"{sum(one.right for one in placings) / max(inside, 1):.2%}"


def _print_matches(pairs: Pairs) -> None:
    row("True partner matched", *DIFFICULTIES)
    row(*["---"] * (len(DIFFICULTIES) + 1))
    for family, found in pairs.items():
        cells = []
        for name in DIFFICULTIES:
            judged = [one[name] for one in found]
            cells.append(f"{sum(j.matched for j in judged)} of {sum(j.partners for j in judged)}")
        row(family, *cells)
    say("")


def _print_scripts(pairs: Pairs) -> None:
    main = [one for family, found in pairs.items() if family not in HARDER for one in found]
    row("F1 of edit scripts", "all entries", "changes alone", *CHANGES, "names: all", "changes")
    row(*["---"] * (len(CHANGES) + 5))
    for name in DIFFICULTIES:
        _print_tally(name, [one[name] for one in main])
    for family, found in pairs.items():
        _print_tally(family, [judged for one in found for judged in one.values()])
    _print_tally("all but the harder", [judged for one in main for judged in one.values()])


def _print_tally(name: str, judged: Sequence[Judged]) -> None:
    found, by_name = Tally(), Tally()
    for one in judged:
        found.update(one.found)
        by_name.update(one.by_name)
    kinds = [found.f1([kind]) for kind in CHANGES]
    numbers = [found.f1(), found.f1(CHANGES), *kinds, by_name.f1(), by_name.f1(CHANGES)]
    row(name, *(f"{number:.3f}" for number in np.round(numbers, 3)))


if __name__ == "__main__":
    main()
