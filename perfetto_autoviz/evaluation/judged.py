"""What each method says of the runs of a pattern."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfetto_autoviz.evaluation.score import Blamed, Finding, Found
from perfetto_autoviz.steps.anomalies.findings import Anomaly, Findings
from perfetto_autoviz.steps.anomalies.model import Verdict
from perfetto_autoviz.steps.anomalies.runs import RunMatrix
from perfetto_autoviz.steps.anomalies.scores import TESTS
from perfetto_autoviz.steps.anomalies.values import CHANNELS

KERNEL_TEST = TESTS.index("kernel")


def methods(durations: Findings, tests: Findings, pattern: int) -> Found:
    """What all methods say of the runs of a pattern.

    Args:
        durations: what the baseline alone finds.
        tests: what is found with a model, in the same runs.
        pattern: the pattern.
    """
    judged = tests.judged.get(pattern)
    matrix = judged.runs.matrix if judged else durations.runs.matrix(pattern)
    findings = {"baseline": _by_duration(durations, matrix)}
    if judged is None or judged.verdict is None:
        nothing = np.zeros(len(matrix), bool)
        findings.update(dict.fromkeys(("autoencoder", "combined"), Finding(nothing, nothing, {})))
    else:
        findings["autoencoder"] = _by_error(matrix, judged.verdict)
        findings["combined"] = _by_all(matrix, judged.verdict, tests)
    return Found(matrix.rank, matrix.ts, matrix.dur, len(matrix.ops), findings)


def _by_duration(found: Findings, matrix: RunMatrix) -> Finding:
    judged = found.baseline.judged[found.groups.of[matrix.run]]
    flagged = found.baseline.side[matrix.run] != 0
    return Finding(judged, flagged, _blamed(matrix, found.anomalies))


def _by_error(matrix: RunMatrix, verdict: Verdict) -> Finding:
    """The largest error alone, with the threshold that it has among all tests."""
    flagged = verdict.flags[:, KERNEL_TEST]
    channel, position = verdict.scores.culprits()
    blamed = {
        row: _at(matrix, row, int(position[row]), CHANNELS[channel[row]])
        for row in np.flatnonzero(flagged).tolist()
    }
    return Finding(verdict.judged, flagged, blamed)


def _by_all(matrix: RunMatrix, verdict: Verdict, found: Findings) -> Finding:
    return Finding(verdict.judged, verdict.flagged, _blamed(matrix, found.anomalies))


def _blamed(matrix: RunMatrix, anomalies: Iterable[Anomaly]) -> dict[int, Blamed]:
    """By row what is blamed first."""
    row_of = dict(zip(matrix.run.tolist(), range(len(matrix)), strict=True))
    blamed = {}
    for anomaly in anomalies:
        if anomaly.run in row_of and anomaly.culprits:
            first = anomaly.culprits[0]
            number = int(matrix.kernels.seq[first.kernel]) if first.kernel >= 0 else -1
            blamed[row_of[anomaly.run]] = Blamed(number, first.op, first.channel)
    return blamed


def _at(matrix: RunMatrix, row: int, position: int, channel: str) -> Blamed:
    kernel = int(matrix.kernel[row, position])
    return Blamed(int(matrix.kernels.seq[kernel]), matrix.ops[position], channel)
