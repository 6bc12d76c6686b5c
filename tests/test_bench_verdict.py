"""The benchmark's judgement, which must be able to fail."""

from __future__ import annotations

import pytest

from tests.benchmarks.bench_patterns import PatternsOutcome, broken_patterns, patterns_table
from tests.benchmarks.measure import Case, Outcome, Pair, summary
from tests.benchmarks.verdict import broken, outcome_table

MIB = 1 << 20


def outcome(ratio: float, *, overlap: bool = False, peak: int = 1, engine: str = "wasm") -> Outcome:
    case = Case(1000, overlap=overlap)
    return summary(case, engine, [Pair(bare=2.0, load=1.5, annotate=2.0 * ratio, peak=peak)])


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (outcome(1.99), None),
        (outcome(2.01), "2.01 bare loads, more than 2"),
        (outcome(2.99, overlap=True), None),
        (outcome(3.01, overlap=True), "3.01 bare loads, more than 3"),
        (outcome(9.0, engine="native"), None),
        (outcome(1.0, peak=600 * MIB), None),
        (outcome(1.0, peak=601 * MIB), "601 MiB, more than 600 MiB"),
        (outcome(1.0, peak=601 * MIB, engine="native"), "601 MiB, more than 600 MiB"),
    ],
)
def test_a_bound_is_judged(measured: Outcome, words: str | None) -> None:
    lines = list(broken([measured]))
    assert len(lines) == (words is not None)
    assert words is None or words in lines[0]


def test_the_ratio_is_that_of_pairs_and_the_memory_the_most() -> None:
    # While the machine is three times slower, both of a pair are.
    pairs = [Pair(1.0, 0.8, 1.5, 10), Pair(3.0, 2.4, 4.5, 30), Pair(1.0, 0.8, 4.5, 20)]
    result = summary(Case(1000), "wasm", pairs)
    assert (result.ratio, result.peak) == (1.5, 30)
    assert (result.bare, result.load, result.annotate) == (1.0, 0.8, 4.5)


def test_the_table_shows_what_is_judged_and_what_is_not() -> None:
    rows = outcome_table([outcome(1.5), outcome(1.5, engine="native")]).splitlines()
    assert len({len(row) for row in rows}) == 1
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert [row[8] for row in cells] == ["bound", "-" * 5, "2", "—"]


def patterns(kernels: int, each: float, size: float = 100.0) -> PatternsOutcome:
    return PatternsOutcome(kernels, each * kernels, size, 3, 1.0)


@pytest.mark.parametrize(
    ("few", "many", "words"),
    [
        (patterns(100, 0.4), patterns(1000, 0.5), None),
        (patterns(100, 0.4), patterns(1000, 0.51), "patterns of 1,000 kernels: 0.51 bare loads"),
        (patterns(100, 0.4, 121), patterns(1000, 0.4), "patterns of 100 kernels: 121 bytes"),
        (patterns(100, 0.1), patterns(1000, 0.4), "4.0 times as much"),
    ],
)
def test_patterns_are_judged(
    few: PatternsOutcome, many: PatternsOutcome, words: str | None
) -> None:
    lines = list(broken_patterns([few, many], load_each=1.0))
    assert len(lines) == (words is not None)
    assert words is None or words in lines[0]
    assert "| 1,000 " in patterns_table([few, many], 1.0)
