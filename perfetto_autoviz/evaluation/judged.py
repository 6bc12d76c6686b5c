"""What each method says of the runs of a pattern."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.evaluation.analysis import Analysis
from perfetto_autoviz.evaluation.score import Blamed, Finding, Found
from perfetto_autoviz.steps.anomalies.model import Model, Verdict, judge
from perfetto_autoviz.steps.anomalies.scores import TESTS
from perfetto_autoviz.steps.anomalies.values import CHANNELS, RunSet

KERNEL_TEST = TESTS.index("kernel")


def judged(analysis: Analysis, runs: RunSet, model: Model | None) -> Found:
    """Judges all runs of a pattern by each method.

    Args:
        analysis: all runs.
        runs: those of the pattern.
        model: what was fitted on other runs; None if there were too few.
    """
    matrix = runs.matrix
    findings = {"baseline": _by_duration(analysis, runs)}
    if model is None:
        nothing = Finding(np.zeros(len(runs), bool), np.zeros(len(runs), bool), {})
        findings.update(autoencoder=nothing, combined=nothing)
    else:
        verdict = judge(model, runs)
        findings.update(autoencoder=_by_error(runs, verdict), combined=_by_all(runs, verdict))
    return Found(matrix.rank, matrix.ts, matrix.dur, len(matrix.ops), findings)


def _by_duration(analysis: Analysis, runs: RunSet) -> Finding:
    own = runs.matrix.run
    return Finding(analysis.baseline.judged[analysis.groups.of[own]], ~runs.normal, {})


def _by_error(runs: RunSet, verdict: Verdict) -> Finding:
    flagged = verdict.flags[:, KERNEL_TEST]
    channel, position = verdict.scores.culprits()
    blamed = {
        row: _at(runs, row, int(position[row]), CHANNELS[channel[row]])
        for row in np.flatnonzero(flagged).tolist()
    }
    return Finding(verdict.judged, flagged, blamed)


def _by_all(runs: RunSet, verdict: Verdict) -> Finding:
    return Finding(verdict.judged, verdict.flagged, {})


def _at(runs: RunSet, row: int, position: int, channel: str) -> Blamed:
    matrix = runs.matrix
    kernel = int(matrix.kernel[row, position])
    return Blamed(int(matrix.kernels.seq[kernel]), matrix.ops[position], channel)
