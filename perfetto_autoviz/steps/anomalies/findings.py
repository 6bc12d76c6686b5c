"""The whole analysis: which runs are abnormal by which test, and what is to blame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from perfetto_autoviz.steps.anomalies.baseline import Baseline, baseline
from perfetto_autoviz.steps.anomalies.cells import run_sets
from perfetto_autoviz.steps.anomalies.context import RunContext, read_context
from perfetto_autoviz.steps.anomalies.culprits import (
    ORDER,
    RUN_TIME,
    Culprit,
    Normal,
    at_position,
    by_order,
    by_time,
    largest,
)
from perfetto_autoviz.steps.anomalies.groups import Groups, group_runs
from perfetto_autoviz.steps.anomalies.keyed import code_of, most_frequent
from perfetto_autoviz.steps.anomalies.limits import KERNELS_SHOWN, SIGMAS, TRAINING_SHARE
from perfetto_autoviz.steps.anomalies.model import (
    Model,
    Verdict,
    fit_model,
    judge,
    with_thresholds,
)
from perfetto_autoviz.steps.anomalies.runs import AllRuns, Bools, RunMatrix, read_runs
from perfetto_autoviz.steps.anomalies.scores import TESTS
from perfetto_autoviz.steps.anomalies.values import RunSet
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.step import Frames

DURATION = "duration"

SPECIFIC = ("sequence", "kernel", "drift", DURATION)
"""All tests, the most specific first: of several that flag a run, that one is told."""


@dataclass(frozen=True)
class Anomaly:
    """One abnormal run.

    Attributes:
        run: id of the run.
        tests: the tests that flag it, in the order of `SPECIFIC`.
        score: of the first of them.
        threshold: what it exceeds.
        excess: duration in ns beyond that of normal runs.
        slower: share by which all its kernels together are slower, for the drift.
        culprits: what is to blame, the most first.
    """

    run: int
    tests: tuple[str, ...]
    score: float
    threshold: float
    excess: int
    slower: float
    culprits: tuple[Culprit, ...]

    @property
    def channel(self) -> str | None:
        """Channel of the first to blame, or what the test looks at."""
        if self.tests[0] == "sequence":
            return ORDER
        return self.culprits[0].channel if self.culprits else RUN_TIME


@dataclass(frozen=True)
class Judged:
    """What the autoencoder says of a pattern.

    Attributes:
        runs: its runs.
        model: its model; None if there were too few runs to train on.
        verdict: what that says.
    """

    runs: RunSet
    model: Model | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Findings:
    """All that was found.

    Attributes:
        runs: all runs of all ranks.
        context: the steps that they lie in.
        groups: which of them may be compared.
        baseline: what their durations say.
        judged: by pattern what the autoencoder says; empty if it didn't run.
        anomalies: abnormal runs in the order of their ids.
    """

    runs: AllRuns
    context: RunContext
    groups: Groups
    baseline: Baseline
    judged: Mapping[int, Judged] = field(default_factory=dict)
    anomalies: tuple[Anomaly, ...] = ()

    @cached_property
    def deviates(self) -> Bools:
        """Runs that deviate from their pattern otherwise than most of their group do."""
        table = self.runs.table
        how = code_of(table.missing, table.extra, table.swapped)
        return np.asarray(how != most_frequent(how, self.groups.of), bool)


def find(
    ranks: Mapping[int, Frames],
    *,
    autoencoder: bool = False,
    models: Mapping[tuple[str, ...], Model] | None = None,
    seed: int = 0,
) -> Findings:
    """Looks for abnormal runs on all ranks.

    Args:
        ranks: by rank the frames that `read_runs` and `read_context` read.
        autoencoder: whether to judge runs by an autoencoder, too, trained on half of the runs
            of each pattern; the other half sets the thresholds.
        models: models to use instead, by the operations of their pattern.
        seed: of everything random.
    """
    runs = read_runs(ranks)
    context = read_context(ranks, runs.table)
    groups = group_runs(runs.table, context)
    found = Findings(runs, context, groups, baseline(runs.table, groups))
    judged: dict[int, Judged] = {}
    if autoencoder or models:
        for pattern in runs.names:
            own = run_sets(runs, context, groups, found.baseline, pattern)
            model = (models or {}).get(own.matrix.ops) if models else _trained(own, seed)
            if model is not None:
                own = own.measured(model.across)
            judged[pattern] = Judged(own, model, judge(model, own) if model else None)
    anomalies = [
        anomaly
        for pattern in runs.names
        for anomaly in _of_pattern(found, pattern, judged.get(pattern))
    ]
    return Findings(
        runs,
        context,
        groups,
        found.baseline,
        judged,
        tuple(sorted(anomalies, key=lambda anomaly: anomaly.run)),
    )


def _trained(runs: RunSet, seed: int) -> Model | None:
    order = np.random.default_rng(seed).permutation(len(runs))
    cut = round(TRAINING_SHARE * len(order))
    model = fit_model(runs, np.sort(order[:cut]), seed)
    return with_thresholds(model, runs, np.sort(order[cut:])) if model else None


def _of_pattern(found: Findings, pattern: int, judged: Judged | None) -> list[Anomaly]:
    """The abnormal runs of one pattern."""
    slow_or_fast = found.baseline.side != 0
    own = np.flatnonzero(found.runs.table.pattern == pattern)
    verdict = judged.verdict if judged else None
    if not slow_or_fast[own].any() and (verdict is None or not verdict.flagged.any()):
        return []
    matrix = judged.runs.matrix if judged else found.runs.matrix(pattern)
    flags = np.zeros((len(matrix), len(SPECIFIC)), bool)
    flags[:, SPECIFIC.index(DURATION)] = slow_or_fast[matrix.run]
    if verdict is not None:
        for column, test in enumerate(TESTS):
            flags[:, SPECIFIC.index(test)] = verdict.flags[:, column]
    rows = np.flatnonzero(flags.any(axis=1))
    normal = _normals(found, matrix, rows)
    return [
        _anomaly(found, matrix, row, flags[row], normal[group], judged)
        for row, group in zip(
            rows.tolist(), found.groups.of[matrix.run[rows]].tolist(), strict=True
        )
    ]


def _normals(found: Findings, matrix: RunMatrix, rows: Ints) -> dict[int, Normal]:
    """Normal times of the groups of some runs."""
    group, usual = found.groups.of[matrix.run], found.baseline.normal[matrix.run]
    return {
        one: Normal.of(matrix.rows((group == one) & usual))
        for one in np.unique(group[rows]).tolist()
    }


def _anomaly(
    found: Findings,
    matrix: RunMatrix,
    row: int,
    flags: np.ndarray,
    normal: Normal,
    judged: Judged | None,
) -> Anomaly:
    tests = tuple(test for test, flagged in zip(SPECIFIC, flags, strict=True) if flagged)
    run = int(matrix.run[row])
    score, threshold, slower = abs(float(found.baseline.sigmas[run])), SIGMAS, 0.0
    verdict = judged.verdict if judged else None
    if verdict is not None and tests[0] != DURATION:
        column = TESTS.index(tests[0])
        score = float(verdict.scores.table[row, column])
        threshold = float(verdict.limits[row, column])
        slower = verdict.slower(row)
    # Of few runs a median means nothing; then the model's normal times are better.
    if verdict is not None and not found.baseline.judged[found.groups.of[run]]:
        normal = replace(normal, dur=float(matrix.dur[row]) - verdict.excess(row))
    return Anomaly(
        run=run,
        tests=tests,
        score=score,
        threshold=threshold,
        excess=round(float(matrix.dur[row]) - normal.dur),
        slower=slower,
        culprits=tuple(_culprits(matrix, row, tests, normal, judged)),
    )


def _culprits(
    matrix: RunMatrix, row: int, tests: tuple[str, ...], normal: Normal, judged: Judged | None
) -> list[Culprit]:
    """What is to blame: what the most specific test points at first."""
    if tests[0] == "sequence" and judged:
        return by_order(matrix, row, normal, judged.runs.expected[row])
    if tests[0] == "kernel" and judged and judged.verdict:
        return _by_error(matrix, row, normal, judged.verdict)
    if tests[0] == DURATION:
        ordered = by_order(matrix, row, normal, normal.expected)
        return sorted([*by_time(matrix, row, normal), *ordered], key=lambda one: -abs(one.excess))[
            :KERNELS_SHOWN
        ]
    return by_time(matrix, row, normal)


def _by_error(matrix: RunMatrix, row: int, normal: Normal, verdict: Verdict) -> list[Culprit]:
    """Positions whose error exceeds the threshold, the largest first."""
    error = np.abs(verdict.scores.error[row]).ravel()
    limit = verdict.limits[row, TESTS.index("kernel")]
    culprits = []
    for at in largest(error.astype(np.float64), KERNELS_SHOWN):
        if error[at] > limit:
            channel, position = divmod(at, len(matrix.ops))
            usual = verdict.scaled.time(row, channel, position)
            score = float(error[at])
            culprits.append(at_position(matrix, row, normal, channel, position, usual, score))
    return culprits
