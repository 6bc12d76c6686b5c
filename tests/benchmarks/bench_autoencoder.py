"""What training the autoencoder costs: 2,000 runs of 1,000 kernels, on arrays alone.

Run as ``python -m tests.benchmarks.bench_autoencoder``; prints a table in Markdown, and ends
with 1 if a bound is broken.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from perfetto_autoviz.steps.anomalies.network import Autoencoder
from perfetto_autoviz.steps.anomalies.training import reconstruct, train

SIZES = ((4_000, 16), (2_000, 64), (2_000, 1_000), (500, 4_000))
"""Runs, and kernels of each."""

MOST_SECONDS = 30.0
"""To train on 2,000 runs of 1,000 kernels, on 2 cores."""


def scaled_runs(runs: int, kernels: int) -> np.ndarray:
    """Standard noise with a part that all kernels of a run share."""
    rng = np.random.default_rng(1)
    shared = 0.5 * rng.standard_normal((runs, 1, 1))
    values: np.ndarray = shared + rng.standard_normal((runs, 2, kernels))
    return values.astype(np.float32)


def main() -> int:
    """Trains at each size, one after the other in this process."""
    parameters = sum(parameter.numel() for parameter in Autoencoder().parameters())
    sys.stdout.write(f"{parameters:,} parameters\n\n")
    sys.stdout.write("| runs | kernels | training s | of processor time | scoring s |\n")
    sys.stdout.write("|---|---|---|---|---|\n")
    broken = False
    for runs, kernels in SIZES:
        values = scaled_runs(runs, kernels)
        there = np.ones_like(values, bool)
        start, used = time.perf_counter(), time.process_time()
        weights = train(values, there, seed=0)
        seconds, busy = time.perf_counter() - start, time.process_time() - used
        start = time.perf_counter()
        reconstruct(weights, values, there)
        scoring = time.perf_counter() - start
        sys.stdout.write(
            f"| {runs:,} | {kernels:,} | {seconds:.1f} | {busy:.1f} | {scoring:.2f} |\n"
        )
        sys.stdout.flush()
        broken |= (runs, kernels) == (2_000, 1_000) and seconds > MOST_SECONDS
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
