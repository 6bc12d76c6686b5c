"""Injects anomalies into copies of a capture, and counts which of them are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfetto_autoviz.evaluation.analysis import Analysis, activities_of
from perfetto_autoviz.evaluation.frames import ACTIVITY, analysed, with_anomalies
from perfetto_autoviz.evaluation.labels import Label, injected_labels
from perfetto_autoviz.evaluation.plan import Plan, Target, Work, draw
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.score import METHODS, Found, Tally, outcomes
from perfetto_autoviz.evaluation.split import Split, split_runs
from perfetto_autoviz.options import Options
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.anomalies.model import Model, fit_model, with_thresholds
from perfetto_autoviz.steps.anomalies.values import RunSet
from perfetto_autoviz.synth.anomaly_kinds import KINDS, Kind

COUNT = 500
"""Anomalies of each kind: a recall of 99.5 % is then known to half a percent."""

MOST_INJECTED = 0.1
"""Share of the test runs that get an anomaly in one copy, so that patterns are found as in a
capture in which something goes wrong now and then. All runs of a step are tested or none, so it
is the share in the steps concerned, too."""

MOST_PER_RUN = 4
"""Anomalies of a kind for each test run: more of them in the same few runs tell little new, and
take as many copies."""

LEAST_TEST_RUNS = 5
"""Test runs of a pattern below which nothing is tried on it."""

_TRIES = 50
"""Runs on which a kind of anomaly is tried before a pattern counts as having no place for it."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Settings:
    """How a trial is made.

    Attributes:
        count: anomalies of each kind for each pattern; fewer where there are few test runs.
        seed: of everything random.
        patterns: names of the patterns to try; all if empty.
    """

    count: int = COUNT
    seed: int = 0
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class PatternTrial:
    """What was tried on one pattern.

    Attributes:
        name: of the pattern.
        size: activities of a usual run.
        runs: its runs.
        train: runs that were trained on.
        threshold: runs that thresholds were set on.
        test: the others.
        judged: of those, how many each method could judge.
        copies: copies of the capture with anomalies.
        without: kinds that it has no place for.
    """

    name: str
    size: int
    runs: int
    train: int
    threshold: int
    test: int
    judged: Mapping[str, int]
    copies: int
    without: tuple[Kind, ...]


@dataclass
class Trial:
    """What was tried, and what came out.

    Attributes:
        patterns: what was tried.
        tally: by pattern what came out, in the same order.
    """

    patterns: list[PatternTrial] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)


def try_capture(
    bases: Mapping[int, Frames],
    options: Options,
    settings: Settings,
    progress: Progress | None = None,
) -> Trial:
    """Tries all patterns of a capture.

    What is normal is learned, and thresholds are set, once on the capture as it is, on runs
    that nothing is injected into. Then each copy with anomalies goes the whole way from its
    activities on.

    Args:
        bases: by rank what its analysis starts from; see `frames.base_frames`.
        options: for the steps.
        settings: see there.
        progress: told what is done.
    """
    clean = Analysis(analysed(bases, options))
    trial = Trial()
    for pattern, name in clean.names.items():
        if settings.patterns and name not in settings.patterns:
            continue
        one = _PatternTrial(bases, options, settings, clean, pattern)
        if len(one.test) < LEAST_TEST_RUNS:
            continue
        tally = Tally()
        one.count_alarms(tally)
        copies = one.count_found(tally, progress)
        trial.patterns.append(one.summary(name, copies))
        trial.tallies.append(tally)
    return trial


class _PatternTrial:
    """One pattern of the clean capture, and what was learned of it."""

    def __init__(
        self,
        bases: Mapping[int, Frames],
        options: Options,
        settings: Settings,
        clean: Analysis,
        pattern: int,
    ) -> None:
        self.bases, self.options, self.settings = bases, options, settings
        self.runs = clean.run_set(pattern)
        self.split = split_runs(self.runs.step, self.runs.cell, settings.seed)
        self.model = fitted(self.runs, self.split, settings.seed)
        self.ops = self.runs.matrix.ops
        self.found = clean.judged(self.ops, self.model)[pattern]
        self.methods = [m for m in METHODS if self._judged(m).any()]
        # A run that no method can judge proves nothing of any.
        strictest = self.methods[-1] if self.methods else METHODS[0]
        self.test = self.split.test[self._judged(strictest)]
        self.work = {rank: Work.of(frames[ACTIVITY]) for rank, frames in bases.items()}
        self.rng = np.random.default_rng([settings.seed, 2, pattern])
        self.kinds = [kind for kind in KINDS if self._fits(kind)]
        self.count = min(settings.count, MOST_PER_RUN * len(self.test))

    def count_alarms(self, tally: Tally) -> None:
        """Counts the test runs that are flagged though nothing was done to them."""
        for method in self.methods:
            finding = self.found.findings[method]
            own = self.split.test[finding.judged[self.split.test]]
            tally.add_alarms(method, Rate(int(finding.flagged[own].sum()), len(own)))

    def count_found(self, tally: Tally, progress: Progress | None) -> int:
        """Counts which injected anomalies are found; the number of copies."""
        copies = 0
        total = self.count * len(self.kinds)
        for plans in self._copies():
            copies += 1
            labels, found = self._tried(plans)
            each = outcomes(labels, found, self.found.size)
            tally.outcomes += [one for one in each if one.method in self.methods]
            if progress:
                done = len(tally.outcomes) // len(self.methods)
                progress(f"Trying {self.runs.matrix.name}", done, total)
        return copies

    def summary(self, name: str, copies: int) -> PatternTrial:
        """What was tried."""
        return PatternTrial(
            name,
            self.found.size,
            len(self.runs),
            len(self.split.train),
            len(self.split.threshold),
            len(self.split.test),
            {method: int(self._judged(method).sum()) for method in METHODS},
            copies,
            tuple(kind for kind in KINDS if kind not in self.kinds),
        )

    def _judged(self, method: str) -> np.ndarray:
        return self.found.findings[method].judged[self.split.test]

    def _target(self, row: int) -> Target:
        matrix = self.runs.matrix
        return Target(int(matrix.rank[row]), int(matrix.run[row]), activities_of(matrix, row))

    def _draw(self, kind: Kind, row: int) -> Plan | None:
        target = self._target(row)
        return draw(kind, target, self.work[target.rank], self.rng)

    def _fits(self, kind: Kind) -> bool:
        rows = self.test[:: max(1, len(self.test) // _TRIES)].tolist()
        return any(self._draw(kind, row) is not None for row in rows)

    def _copies(self) -> Iterator[list[Plan]]:
        """The anomalies of each copy, until there are enough of each kind."""
        left = dict.fromkeys(self.kinds, self.count)
        most = max(1, int(MOST_INJECTED * len(self.test)))
        while any(left.values()):
            plans = []
            for row in self.rng.choice(self.test, most, replace=False).tolist():
                # What there should be most of, if this run has a place for it.
                wanted = sorted((kind for kind in left if left[kind]), key=lambda k: -left[k])
                drawn = (self._draw(kind, row) for kind in wanted)
                plan = next((plan for plan in drawn if plan is not None), None)
                if plan is not None:
                    left[plan.kind] -= 1
                    plans.append(plan)
            if not plans:
                return
            yield plans

    def _tried(self, plans: Sequence[Plan]) -> tuple[list[Label], list[Found]]:
        """A copy with anomalies, from injection to judgement."""
        bases, labels = dict(self.bases), []
        for rank, base in self.bases.items():
            own = [plan for plan in plans if plan.target.rank == rank]
            if own:
                bases[rank], injected = with_anomalies(base, own)
                labels += injected_labels(base[ACTIVITY], own, injected)
        copy = Analysis(analysed(bases, self.options))
        return labels, [*copy.judged(self.ops, self.model).values()]


def fitted(runs: RunSet, split: Split, seed: int) -> Model | None:
    """The model of a pattern, learned from some runs, with thresholds set on others."""
    model = fit_model(runs, split.train, seed)
    return None if model is None else with_thresholds(model, runs, split.threshold)
