"""What pattern detection costs: time and memory per kernel, on arrays alone.

Run as ``python -m tests.benchmarks.bench_patterns``; prints a table in Markdown, and ends with 1
if a bound is broken.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from perfetto_autoviz.steps.patterns import RankKernels, detect_patterns, kernel_places

SIZES = (100_000, 1_000_000, 10_000_000)
RANKS = 8
LAYERS = 48
LAYER = 14
PROLOGUE = 18
EPILOGUE = 9
NOISE = 2e-5
"""Probability of an extra kernel after a kernel."""

MOST_SECONDS = 24.0
"""Per million kernels: half of what the WebAssembly engine takes to load them bare, about
10 s per million events at five events per kernel."""

MOST_BYTES = 120
"""Per kernel, beyond the arrays given."""


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


def measure(kernels: int) -> tuple[float, float, int, float]:
    """Seconds, bytes per kernel beyond the input, patterns, share of kernels placed."""
    detect_patterns(decode_steps(20_000))
    ranks = decode_steps(kernels)
    resident = _peak()
    start = time.perf_counter()
    found = detect_patterns(ranks)
    seconds = time.perf_counter() - start
    grown = _peak() - resident
    placed = float(np.mean(kernel_places(found).run >= 0))
    return seconds, grown / kernels, len(found.patterns), placed


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    """Measure each size in a process of its own, whose peak memory nothing else has raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, help="measure this size only, and print one row")
    chosen = parser.parse_args().kernels
    if chosen:
        seconds, size, patterns, placed = measure(chosen)
        rate = seconds / chosen * 1e6
        sys.stdout.write(
            f"| {chosen:,} | {seconds:.2f} | {rate:.2f} | {size:.0f}"
            f" | {patterns} | {placed:.2%} |\n"
        )
        return int(rate > MOST_SECONDS or size > MOST_BYTES)
    sys.stdout.write("| kernels | s | s per million | bytes per kernel | patterns | placed |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "tests.benchmarks.bench_patterns", "--kernels"]
    codes = [subprocess.run([*command, str(size)], check=False).returncode for size in SIZES]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
