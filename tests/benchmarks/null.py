"""How often the comparison of operations finds a change where there is none, and where there is.

Run as ``python -m tests.benchmarks.null``; takes some minutes. The noise is made: steps that follow
each other are alike, a few are far off, and what is compared are the halves of one series, or its
odd and even runs. Nothing was tuned on the seeds, but for the margin of two standard errors in
`steps.compare.dependence`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product, repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.compare import RunSamples, compare_operations
from tests.benchmarks.printing import row, say

Floats = NDArray[np.float64]
Split = Literal["halves", "odd and even"]

RUNS = (5, 10, 30, 100, 200)
SPLITS: tuple[Split, ...] = ("halves", "odd and even")
OPERATIONS = (20, 60)
"""Fewest and most operations of a run."""

SPREAD = 0.03
"""Standard deviation of an operation's duration, as a share of it."""

CHANGE = 0.1
"""The true change of one operation where power is measured."""

LEVEL = 0.05
SEED = 771_204
_BURN_IN = 100
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Noise:
    """How durations vary from run to run.

    Attributes:
        draw: independent numbers of mean 0 and standard deviation 1, of a shape.
        correlation: of neighbouring runs of one operation.
        shared: share of the variance that all operations have in common.
        drifting: share of the operations whose neighbouring runs are correlated.
    """

    draw: Callable[[np.random.Generator, tuple[int, int]], Floats]
    correlation: float = 0.0
    shared: float = 0.0
    drifting: float = 1.0

    def series(self, random: np.random.Generator, runs: int, operations: int) -> Floats:
        """Shape ``(runs, operations)``, of standard deviation 1."""
        own = self._autoregressive(random, runs, operations)
        steady = round((1 - self.drifting) * operations)
        own[:, :steady] = self.draw(random, (runs, steady))
        common = self._autoregressive(random, runs, 1)
        return math.sqrt(1 - self.shared) * own + math.sqrt(self.shared) * common

    def _autoregressive(self, random: np.random.Generator, runs: int, columns: int) -> Floats:
        series = self.draw(random, (runs + _BURN_IN, columns))
        fresh = math.sqrt(1 - self.correlation**2)
        for run in range(1, len(series)):
            series[run] = self.correlation * series[run - 1] + fresh * series[run]
        return series[_BURN_IN:]


def _normal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.normal(size=shape)


def _lognormal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    mean, deviation = math.exp(0.5), math.sqrt((math.e - 1) * math.e)
    return (random.lognormal(size=shape) - mean) / deviation


def _student(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.standard_t(3, size=shape) / math.sqrt(3)


NOISES = {
    "independent": Noise(_normal),
    "lognormal": Noise(_lognormal),
    "Student's t, 3 degrees": Noise(_student),
    "drift, correlation 0.5": Noise(_normal, 0.5),
    "drift, correlation 0.9": Noise(_normal, 0.9),
    "common drift, 0.9": Noise(_normal, 0.9, 0.5),
    "a third of them drifts, 0.9": Noise(_normal, 0.9, drifting=1 / 3),
    "lognormal, drift 0.5": Noise(_lognormal, 0.5),
}


@dataclass(frozen=True)
class Rate:
    """How many of some comparisons found something.

    Attributes:
        found: those that did.
        trials: all.
    """

    found: int
    trials: int

    @property
    def share(self) -> float:
        """The rate."""
        return self.found / self.trials

    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval (E. B. Wilson, 1927)."""
        square = _NORMAL_95**2 / self.trials
        middle = self.share + square / 2
        half = math.sqrt(square * (self.share * (1 - self.share) + square / 4))
        return (middle - half) / (1 + square), (middle + half) / (1 + square)

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.found + other.found, self.trials + other.trials)

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.share:.1%} ({low:.1%} to {high:.1%})"


def null_rate(noise: str, runs: int, split: Split, trials: int, seed: int = SEED) -> Rate:
    """Comparisons of noise with noise in which an operation is significant.

    Args:
        noise: one of ``NOISES``.
        runs: of each of the two sides.
        split: which runs of a series of twice as many are compared.
        trials: comparisons.
        seed: of the noise.
    """
    return Rate(sum(map(bool, _trials(noise, runs, split, trials, seed))), trials)


def power(noise: str, runs: int, trials: int, seed: int = SEED) -> Rate:
    """Comparisons of halves that find the one operation that changed by ``CHANGE``."""
    found = _trials(noise, runs, "halves", trials, seed + 1, change=CHANGE)
    return Rate(sum("op 0" in one for one in found), trials)


def _trials(
    noise: str, runs: int, split: Split, trials: int, seed: int, change: float = 0.0
) -> Iterator[set[str]]:
    """Of each comparison the significant operations; the first changes."""
    cell = [*NOISES].index(noise), runs, SPLITS.index(split)
    random = np.random.default_rng([seed, *cell])
    for _ in range(trials):
        operations = int(random.integers(OPERATIONS[0], OPERATIONS[1] + 1))
        series = NOISES[noise].series(random, 2 * runs, operations)
        typical = np.exp(random.uniform(math.log(2_000), math.log(200_000), operations))
        dur = typical * np.maximum(1 + SPREAD * series, 0.5)
        number = np.arange(2 * runs)
        second = number >= runs if split == "halves" else number % 2 == 1
        dur[second, 0] *= 1 + change
        table = compare_operations(_samples(dur[~second]), _samples(dur[second]))
        yield set(table.loc[table["significant"].astype(bool), "label"])


def _samples(dur: Floats) -> RunSamples:
    """Runs of one kernel of each operation, shape ``(runs, operations)`` in ns."""
    runs, operations = dur.shape
    whole = np.round(dur).astype(np.int64)
    wall = whole.sum(axis=1)
    return RunSamples(
        rank=np.zeros(runs, np.int64),
        number=np.arange(runs),
        wall=wall,
        busy=wall,
        owner=np.repeat(np.arange(runs), operations),
        dur=whole.ravel(),
        label=np.tile(np.array([f"op {at}" for at in range(operations)], object), runs),
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.null", description=__doc__)
    parser.add_argument("--trials", type=int, default=400, metavar="N", help="of each cell")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    options = parser.parse_args()
    cells = [*product(NOISES, RUNS)]
    noises, runs = zip(*cells, strict=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for split in SPLITS:
            _head(f"False alarms, {split}")
            _rows(pool.map(null_rate, noises, runs, repeat(split), repeat(options.trials)))
        _head(f"A change of {CHANGE:.0%} found")
        _rows(pool.map(power, noises, runs, repeat(options.trials)))


def _head(title: str) -> None:
    row(title, *(f"{runs} runs" for runs in RUNS))
    row(*["---"] * (len(RUNS) + 1))


def _rows(rates: Iterator[Rate]) -> None:
    total = Rate(0, 0)
    for noise in NOISES:
        own = [next(rates) for _ in RUNS]
        total = sum(own, start=total)
        row(noise, *map(str, own))
    row("all", str(total), *[""] * (len(RUNS) - 1))
    say("")


if __name__ == "__main__":
    main()
