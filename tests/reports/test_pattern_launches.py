"""Launches of loops that are written by hand: kernels per layer, times layers, times steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from perfetto_autoviz.reports.pattern_launches import Factor, LaunchCounts, Launches

Runs = Sequence[tuple[int, int, int | None, int]]
"""Pattern, id, run around it, and rank."""


def counted(
    shapes: Sequence[Sequence[int | None]], runs: Runs, odd: dict[tuple[int, int], int]
) -> list[Launches]:
    """Counts loops ``P1``, ``P2``, …

    Args:
        shapes: of each loop its positions: None for a kernel, or the number of an inner loop.
        runs: executions.
        odd: kernels more or fewer than runs at a loop's position; -1 stands for extra ones.
    """
    positions = [
        (number, at, inner) for number, shape in enumerate(shapes) for at, inner in enumerate(shape)
    ]
    kernels = [
        (number, at, "plain", sum(run[0] == number for run in runs) + odd.get((number, at), 0))
        for number, at, inner in positions
        if inner is None
    ]
    kernels += [(number, None, "extra", n) for (number, at), n in odd.items() if at == -1]
    counts = LaunchCounts(
        pd.DataFrame({"id": range(len(shapes)), "name": [f"P{n + 1}" for n in range(len(shapes))]}),
        pd.DataFrame(positions, columns=["pattern_id", "position", "inner_id"]).astype("Int64"),
        pd.DataFrame(runs, columns=["pattern_id", "id", "parent_id", "rank"]).astype("Int64"),
        pd.DataFrame(kernels, columns=["pattern_id", "position", "kind", "n"]),
    )
    return [counts.of(number) for number in range(len(shapes))]


def steps(repeats: Sequence[int], ranks: int = 1) -> list[tuple[int, int, int | None, int]]:
    """Steps on each rank, of a loop 1 that repeats so often in each."""
    runs: list[tuple[int, int, int | None, int]] = []
    for rank in range(ranks):
        for count in repeats:
            step = len(runs)
            runs.append((0, step, None, rank))
            runs += [(1, step + 1 + layer, step, rank) for layer in range(count)]
    return runs


def test_48_layers_in_63_steps() -> None:
    # A step: two kernels, the layers, one kernel. A layer: one kernel of each of 14 operations.
    step, layer = counted([[None, None, 1, None], [None] * 14], steps([48] * 63), {})
    assert layer.positions == dict.fromkeys(range(14), 3024)
    assert (layer.expected, layer.observed) == (14 * 3024, 14 * 3024)
    assert (step.kernels, step.expected, step.observed) == (3, 189, 189)
    assert str(layer) == ("14 kernels × 48 runs in each P1 × 63 runs of P1 = 42,336 launches")


def test_ranks_are_a_factor_where_all_run_as_often() -> None:
    _, layer = counted([[None, 1], [None] * 3], steps([4] * 5, ranks=2), {})
    factors = (Factor(4, "runs in each P1"), Factor(5, "runs of P1"), Factor(2, "ranks"))
    assert layer.terms == (factors,)
    assert layer.expected == 3 * 4 * 5 * 2
    uneven = [*steps([4] * 5, ranks=2), (0, 50, None, 1)]
    step, _ = counted([[None, 1], [None] * 3], uneven, {})
    assert step.terms == ((Factor(11, "runs of P1"),),)


def test_what_differs_is_said() -> None:
    # One step lacks a layer, another has none; one layer lacks the last two of its kernels, and
    # two stray ones run.
    odd = {(1, 1): -1, (1, 2): -1, (1, -1): 2}
    _, layer = counted([[None, 1], [None] * 3], steps([4, 4, 3, 0, 4]), odd)
    assert (layer.expected_runs, layer.runs) == (4 * 5, 15)
    assert layer.observed == 15 * 3 - 2 + 2
    assert str(layer) == (
        "3 kernels × 4 runs in each P1 × 5 runs of P1 = 60 launches, observed 45:"
        " 5 runs fewer; 2 missing (1 at each of positions 1 to 2); 2 extra"
    )


def test_a_loop_in_a_loop_in_a_loop_and_one_in_two() -> None:
    # P1 holds P2 twice and P3 once, P2 holds P3 five times.
    runs: list[tuple[int, int, int | None, int]] = []
    for _ in range(3):
        step = len(runs)
        runs += [(0, step, None, 0), (2, step + 1, step, 0)]
        for _ in range(2):
            block = len(runs)
            runs.append((1, block, step, 0))
            runs += [(2, block + 1 + at, block, 0) for at in range(5)]
    _, block, layer = counted([[1, 2], [2, None], [None, None]], runs, {})
    assert (block.expected, block.observed) == (2 * 3, 6)
    assert layer.expected_runs == layer.runs == 1 * 3 + 5 * 2 * 3
    assert str(layer) == (
        "2 kernels × (1 runs in each P1 × 3 runs of P1"
        " + 5 runs in each P2 × 2 runs in each P1 × 3 runs of P1) = 66 launches"
    )


def test_another_operation_in_a_place_is_a_launch() -> None:
    (loop,) = counted([[None, None]], [(0, at, None, 0) for at in range(6)], {})
    swapped = replace(loop, swapped=1)
    assert swapped.observed == 12
    assert str(swapped).endswith("= 12 launches, observed 12: 1 of another operation")
