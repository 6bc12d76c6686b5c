"""One pattern's model of what is normal: scaling, network, scores and thresholds.

Training, threshold and test runs are given from outside, as disjoint rows of a `RunSet`::

    model = fit_model(runs, train)
    model = with_thresholds(model, runs, held_out)
    verdict = judge(model, runs)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.steps.anomalies.limits import (
    INPUT_LIMIT,
    LEAST_THRESHOLD_RUNS,
    LEAST_TRAINING_RUNS,
    MOST_TRAINING_RUNS,
    RATE,
)
from perfetto_autoviz.steps.anomalies.runs import Bools
from perfetto_autoviz.steps.anomalies.scaling import Scaled, Scaling, fit_scaling, scale
from perfetto_autoviz.steps.anomalies.scores import (
    TESTS,
    Floats,
    Scores,
    Usual,
    fit_usual,
    score,
    weighted,
)
from perfetto_autoviz.steps.anomalies.thresholds import Tail, Threshold, fit_tails, set_threshold
from perfetto_autoviz.steps.anomalies.values import RunSet, Singles
from perfetto_autoviz.steps.intervals import Ints


@dataclass(frozen=True)
class Cell:
    """What one cell of a pattern compares with.

    Attributes:
        usual: for the scores.
        tails: of all tests but the sequence, on training runs.
        threshold: None if there were too few held-out runs.
        held_out: how many there were.
    """

    usual: Usual
    tails: tuple[Tail, ...]
    threshold: Threshold | None = None
    held_out: int = 0


@dataclass(frozen=True)
class Model:
    """A pattern's model.

    Attributes:
        ops: operations of the pattern it was trained on.
        across: how idle times were measured, see `RunMatrix`.
        scaling: medians and spreads.
        weights: of the network.
        cells: by name; those with enough training runs.
        few: training runs of the cells that had too few.
    """

    ops: tuple[str, ...]
    across: Bools
    scaling: Scaling
    weights: Mapping[str, Singles]
    cells: Mapping[str, Cell]
    few: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What a model says of runs; arrays have the runs on the first axis.

    Attributes:
        judged: whether a run could be judged.
        reason: why not, by cell name; "" where the normal of single runs is unknown.
        scores: the scores; 0 where not judged.
        limits: the thresholds, shape ``(runs, tests)``; infinite where not judged.
        scaled: the runs in units of the normal spread.
        rebuilt: what the network makes of them.
    """

    judged: Bools
    reason: Mapping[str, str]
    scores: Scores
    limits: Floats
    scaled: Scaled
    rebuilt: Singles

    @property
    def flags(self) -> Bools:
        """Which test flags which run, shape ``(runs, tests)`` in the order of `TESTS`."""
        return self.scores.table > self.limits

    def excess(self, row: int) -> float:
        """Time in ns that the kernels of a run, and the idle times between, take too long."""
        there = self.scaled.there[row]
        return float((self.scaled.times(row) - self.scaled.normal_times(row))[there].sum())

    def slower(self, row: int) -> float:
        """Median share by which the kernels of a run are slower than normal."""
        there = self.scaled.there[row, 0]
        if not there.any():
            return 0.0
        own, usual = self.scaled.times(row)[0, there], self.scaled.normal_times(row)[0, there]
        return float(np.median(own / np.maximum(usual, 1.0))) - 1

    @property
    def flagged(self) -> Bools:
        """Runs that any test flags, shape ``(runs,)``."""
        return np.asarray(self.flags.any(axis=1), bool)


def fit_model(runs: RunSet, train: Ints, seed: int = 0) -> Model | None:
    """Trains the model of a pattern.

    Args:
        runs: the runs of the pattern.
        train: rows to train on. Scaling and network see only those of normal duration; how far
            scores reach is taken from all of them, as a run that is to be judged may be any.
        seed: of everything random.

    Returns:
        The model, without thresholds; None if no cell has enough runs to train on.
    """
    names, numbers = np.unique(runs.cell[train].astype(str), return_counts=True)
    counts = dict(zip(names.tolist(), numbers.tolist(), strict=True))
    enough = [name for name, count in counts.items() if count >= LEAST_TRAINING_RUNS]
    few = {name: count for name, count in counts.items() if name not in enough}
    train = _at_most(train[np.isin(runs.cell[train].astype(str), enough)], seed)
    normal = train[runs.normal[train]]
    if not len(normal) or not runs.there.shape[2]:
        return None
    scaling = fit_scaling(runs, normal)
    scaled = scale(scaling, runs)
    train, normal = train[scaled.known[train]], normal[scaled.known[normal]]
    if not len(normal):
        return None
    weights = _train(scaled, normal, seed)
    error = scaled.z - _rebuilt(weights, scaled)
    cells = {name: _cell(runs, scaled, error, train, name) for name in enough}
    return Model(
        runs.matrix.ops,
        runs.matrix.across,
        scaling,
        weights,
        {name: cell for name, cell in cells.items() if cell is not None},
        few,
    )


def _at_most(rows: Ints, seed: int) -> Ints:
    if len(rows) <= MOST_TRAINING_RUNS:
        return rows
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(rows, MOST_TRAINING_RUNS, replace=False))


def with_thresholds(model: Model, runs: RunSet, held_out: Ints, rate: float = RATE) -> Model:
    """The model with thresholds that normal runs exceed at the given rate, all tests together.

    Args:
        model: the model.
        runs: the runs of the pattern.
        held_out: rows of normal runs that it wasn't trained on.
        rate: share of normal runs that may be flagged.
    """
    scores, known, _, _ = _score(model, runs)
    cells = {}
    for name, cell in model.cells.items():
        own = held_out[(runs.cell[held_out] == name) & known[held_out]]
        enough = len(own) >= LEAST_THRESHOLD_RUNS
        threshold = set_threshold(cell.tails, scores.table[own], rate) if enough else None
        cells[name] = replace(cell, threshold=threshold, held_out=len(own))
    return replace(model, cells=cells)


def judge(model: Model, runs: RunSet) -> Verdict:
    """Scores runs and compares them with the thresholds.

    Raises:
        UsageError: the runs are of another pattern than the model's.
    """
    if runs.matrix.ops != model.ops:
        raise UsageError(
            f"the model is of a pattern of {len(model.ops)} kernels that isn't"
            f" {runs.matrix.name} ({len(runs.matrix.ops)} kernels): use a model of this pattern"
        )
    scores, known, scaled, rebuilt = _score(model, runs)
    limits = np.full(scores.table.shape, np.inf)
    reason = {}
    for name in np.unique(runs.cell.astype(str)).tolist():
        cell = model.cells.get(name)
        if cell is None or cell.threshold is None:
            reason[name] = _why_not(model, name)
        else:
            own = (runs.cell == name) & known
            limits[own] = cell.threshold.limits
    return Verdict(np.isfinite(limits[:, 0]), reason, scores, limits, scaled, rebuilt)


def _why_not(model: Model, name: str) -> str:
    cell = model.cells.get(name)
    if cell is not None:
        return f"{cell.held_out} runs for a threshold, {LEAST_THRESHOLD_RUNS} are needed"
    if name in model.few:
        return f"{model.few[name]} runs to train on, {LEAST_TRAINING_RUNS} are needed"
    return "the model has seen no such runs"


def _cell(runs: RunSet, scaled: Scaled, error: Singles, train: Ints, name: str) -> Cell | None:
    own = train[runs.cell[train] == name]
    normal = own[runs.normal[own]]
    if not len(normal):
        return None
    usual = fit_usual(runs.rows(normal), _rows(scaled, normal), error[normal])
    training = (runs.rows(own), _rows(scaled, own), error[own])
    usual = weighted(usual, score(usual, *training))
    scores = score(usual, *training)
    return Cell(usual, fit_tails(scores.table))


def _score(model: Model, runs: RunSet) -> tuple[Scores, Bools, Scaled, Singles]:
    scaled = scale(model.scaling, runs)
    rebuilt = _rebuilt(model.weights, scaled)
    table = np.zeros((len(runs), len(TESTS)))
    drift = np.zeros(len(runs))
    error = np.zeros_like(scaled.z)
    for name, cell in model.cells.items():
        own: NDArray[np.int64] = np.flatnonzero(runs.cell == name)
        if len(own):
            part = _rows(scaled, own)
            found = score(cell.usual, runs.rows(own), part, part.z - rebuilt[own])
            table[own], drift[own], error[own] = found.table, found.drift, found.error
    return Scores(table, drift, error), scaled.known, scaled, rebuilt


def _train(scaled: Scaled, train: Ints, seed: int) -> dict[str, Singles]:
    # Imported here, as torch takes seconds and only the autoencoder needs it.
    from perfetto_autoviz.steps.anomalies import training

    return training.train(_limited(scaled.z[train]), scaled.there[train], seed)


def _rebuilt(weights: Mapping[str, Singles], scaled: Scaled) -> Singles:
    from perfetto_autoviz.steps.anomalies import training

    return training.reconstruct(weights, _limited(scaled.z), scaled.there)


def _limited(z: Singles) -> Singles:
    return np.clip(z, -INPUT_LIMIT, INPUT_LIMIT).astype(np.float32)


def _rows(scaled: Scaled, rows: Ints) -> Scaled:
    return Scaled(
        scaled.z[rows],
        scaled.there[rows],
        scaled.normal[rows],
        scaled.spread[rows],
        scaled.known[rows],
    )
