"""Scores what is found in captures in which it is known what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfetto_autoviz.evaluation.frames import analysed
from perfetto_autoviz.evaluation.judged import methods
from perfetto_autoviz.evaluation.labels import Label
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.score import METHODS, Found, Tally, outcomes, untouched
from perfetto_autoviz.evaluation.trial import PatternTrial, Trial
from perfetto_autoviz.options import Options
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.anomalies.findings import find

ALL_PATTERNS = "all patterns"


def try_labels(
    bases: Mapping[int, Frames], options: Options, labels: Sequence[Label], seed: int
) -> Trial:
    """Scores the findings in captures against labels.

    The captures are analysed as whoever has them would: a model is trained on them as they are,
    anomalies included. An abnormal run is found if a run of any pattern is flagged in its
    place; a flagged run that has no time in common with an abnormal one is a false alarm.

    Args:
        bases: by rank what the analysis starts from; see `frames.base_frames`.
        options: for the steps.
        labels: what is known.
        seed: of everything random.
    """
    frames = analysed(bases, options)
    durations, tests = find(frames), find(frames, autoencoder=True, seed=seed)
    found = [methods(durations, tests, pattern) for pattern in tests.runs.names]
    tally = Tally(outcomes(labels, found))
    for one in found:
        _count_alarms(tally, labels, one)
    count = sum(len(one.ts) for one in found)
    judged = {m: sum(int(one.findings[m].judged.sum()) for one in found) for m in METHODS}
    return Trial(
        [PatternTrial(ALL_PATTERNS, 0, count, count, count, count, judged, 1, ())], [tally]
    )


def _count_alarms(tally: Tally, labels: Sequence[Label], found: Found) -> None:
    clear = untouched(labels, found)
    for method, finding in found.findings.items():
        own = clear & finding.judged
        tally.add_alarms(method, Rate(int(finding.flagged[own].sum()), int(own.sum())))
