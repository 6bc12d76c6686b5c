"""What pattern detection costs: time and memory per kernel, on arrays alone.

Part of ``make bench``. The loads that it is compared with are those of the bench's own captures.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfetto_autoviz.steps.patterns import RankKernels, detect_patterns, kernel_places
from tests.benchmarks.measure import Result, run
from tests.benchmarks.verdict import table

SIZES = (100_000, 1_000_000, 10_000_000)
NO_ENGINE = "none"  # the job starts none
RANKS = 8
LAYERS = 48
LAYER = 14
PROLOGUE = 18
EPILOGUE = 9
NOISE = 2e-5
"""Probability of an extra kernel after a kernel."""

MOST_RATIO = 0.5
"""Most seconds per kernel, in those of the WebAssembly engine's bare load of a serving capture."""

MOST_BYTES = 120
"""Most memory per kernel, beyond the arrays given."""

MOST_GROWTH = 3.0
"""Most that a kernel may cost among the most kernels, in what it costs among the fewest: sorting
adds a factor of 1.4 from 100 thousand to 10 million, and no cache holds that many."""


@dataclass(frozen=True)
class PatternsOutcome:
    """What detection cost at one size.

    Attributes:
        kernels: how many there were.
        seconds: of the detection.
        bytes_each: most memory per kernel beyond the arrays given.
        patterns: how many were found.
        placed: share of the kernels that have a place in a run.
    """

    kernels: int
    seconds: float
    bytes_each: float
    patterns: int
    placed: float

    @property
    def each(self) -> float:
        """Seconds per kernel."""
        return self.seconds / self.kernels


def measure_patterns(sizes: Sequence[int]) -> list[PatternsOutcome]:
    """Measures each size in a process of its own, whose peak memory nothing else has raised."""
    return [_outcome(run(NO_ENGINE, "patterns", str(size))[0], size) for size in sizes]


def _outcome(result: Result, kernels: int) -> PatternsOutcome:
    return PatternsOutcome(
        kernels,
        float(result["seconds"]),
        float(result["bytes_each"]),
        int(result["patterns"]),
        float(result["placed"]),
    )


def patterns_table(outcomes: Sequence[PatternsOutcome], load_each: float) -> str:
    """The sizes as a Markdown table; ``load_each`` is the bare load's seconds per kernel."""
    head = ("kernels", "s", "bare loads", "bytes per kernel", "patterns", "placed")
    rows = [
        (
            f"{one.kernels:,}",
            f"{one.seconds:.2f}",
            f"{one.each / load_each:.2f}",
            f"{one.bytes_each:.0f}",
            str(one.patterns),
            f"{one.placed:.2%}",
        )
        for one in outcomes
    ]
    return table(head, rows)


def broken_patterns(outcomes: Sequence[PatternsOutcome], load_each: float) -> Iterator[str]:
    """One line for each bound that is broken."""
    for one in outcomes:
        name = f"patterns of {one.kernels:,} kernels"
        if one.each > MOST_RATIO * load_each:
            yield f"{name}: {one.each / load_each:.2f} bare loads, more than {MOST_RATIO:g}"
        if one.bytes_each > MOST_BYTES:
            yield f"{name}: {one.bytes_each:.0f} bytes per kernel, more than {MOST_BYTES}"
    growth = outcomes[-1].each / outcomes[0].each
    if growth > MOST_GROWTH:
        yield f"patterns: a kernel costs {growth:.1f} times as much among the most as among the few"


def decode_steps(kernels: int, seed: int = 1) -> list[RankKernels]:
    """Decode steps of ``RANKS`` ranks with layers, rare extra kernels and jittered times."""
    rng = np.random.default_rng(seed)
    layer = rng.permutation(LAYER)
    step = np.concatenate(
        [
            np.arange(LAYER, LAYER + PROLOGUE),
            np.tile(layer, LAYERS),
            np.arange(LAYER + PROLOGUE, LAYER + PROLOGUE + EPILOGUE),
        ]
    ).astype(np.int32)
    each = kernels // RANKS
    return [_rank(rank, step, each, rng) for rank in range(RANKS)]


def _rank(rank: int, step: np.ndarray, kernels: int, rng: np.random.Generator) -> RankKernels:
    op = np.tile(step, kernels // len(step) + 1)[:kernels]
    extra = np.flatnonzero(rng.random(kernels) < NOISE)
    op = np.insert(op, extra, 90)[:kernels].astype(np.int32)
    dur = rng.integers(2_000, 30_000, kernels)
    gap = np.where(op == LAYER, 400_000, rng.integers(800, 1_000, kernels))
    ts = np.cumsum(dur + gap) - dur
    # Both streams lie on one device: copies have their own.
    stream = np.where(op == 90, 9, 7)
    return RankKernels(rank, np.zeros(kernels, dtype=np.int32), stream, ts, dur, op)


def detect(kernels: int) -> Result:
    """The job: seconds, bytes per kernel beyond the input, patterns, share of kernels placed."""
    detect_patterns(decode_steps(20_000))
    ranks = decode_steps(kernels)
    resident = _peak()
    start = time.perf_counter()
    found = detect_patterns(ranks)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "bytes_each": (_peak() - resident) / kernels,
        "patterns": len(found.patterns),
        "placed": float(np.mean(kernel_places(found).run >= 0)),
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
