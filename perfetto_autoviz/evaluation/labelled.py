"""Scores what is found in captures in which it is known what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perfetto_autoviz.evaluation.analysis import Analysis
from perfetto_autoviz.evaluation.judged import judged
from perfetto_autoviz.evaluation.labels import Label
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.score import METHODS, Found, Tally, outcomes, untouched
from perfetto_autoviz.evaluation.split import halves
from perfetto_autoviz.evaluation.trial import PatternTrial, Trial, fitted
from perfetto_autoviz.steps import Frames, Options

ALL_PATTERNS = "all patterns"


def try_labels(
    bases: Mapping[int, Frames], options: Options, labels: Sequence[Label], seed: int
) -> Trial:
    """Scores the findings in captures against labels.

    What is normal is learned from the captures themselves, as they are: from half of the runs,
    with thresholds from the others, as whoever analyses them would. An abnormal run is found if
    a run of any pattern is flagged in its place; a flagged run that has no time in common with
    an abnormal one is a false alarm.

    Args:
        bases: by rank what the analysis starts from; see `frames.base_frames`.
        options: for the steps.
        labels: what is known.
        seed: of everything random.
    """
    analysis = Analysis.of(bases, options)
    tally, found, counts = Tally(), [], np.zeros(3, np.int64)
    for pattern in analysis.runs.names:
        runs = analysis.run_set(pattern)
        split = halves(runs.step, runs.cell, seed)
        one = judged(analysis, runs, fitted(runs, split, seed))
        found.append(one)
        counts += [len(runs), len(split.train), len(split.threshold)]
        _count_alarms(tally, labels, one)
    tally.outcomes = outcomes(labels, found)
    judgeable = {m: sum(int(one.findings[m].judged.sum()) for one in found) for m in METHODS}
    total, train, threshold = counts.tolist()
    summary = PatternTrial(ALL_PATTERNS, 0, total, train, threshold, total, judgeable, 1, ())
    return Trial([summary], [tally])


def _count_alarms(tally: Tally, labels: Sequence[Label], found: Found) -> None:
    clear = untouched(labels, found)
    for method, finding in found.findings.items():
        own = clear & finding.judged
        tally.add_alarms(method, Rate(int(finding.flagged[own].sum()), int(own.sum())))
