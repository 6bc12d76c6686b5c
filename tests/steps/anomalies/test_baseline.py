"""The baseline on durations known beforehand."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.steps.anomalies.baseline import Baseline, baseline
from perfetto_autoviz.steps.anomalies.context import RunContext
from perfetto_autoviz.steps.anomalies.groups import Groups, group_runs
from perfetto_autoviz.steps.anomalies.limits import LEAST_RUNS
from perfetto_autoviz.steps.anomalies.places import RunTable
from tests.steps.anomalies.captures import LAYER, Prepared, place, serving


def judged(
    dur: list[int], phase: list[str] | None = None, size: list[int] | None = None
) -> tuple[Groups, Baseline]:
    count = len(dur)
    zero = np.zeros(count, np.int64)
    none = np.full(count, -1, np.int64)
    number = np.arange(count)
    ts = number * 1_000_000
    runs = RunTable(zero, zero, number, none, zero, ts, np.array(dur), zero, zero, zero)
    context = RunContext(
        number,
        np.array(phase or [""] * count, object),
        np.array(size or [-1] * count),
        np.array([one == "prefill" for one in phase or [""] * count]),
        np.full(count, "", object),
        zero,
    )
    groups = group_runs(runs, context)
    return groups, baseline(runs, groups)


def test_beyond_two_standard_deviations_of_the_mean() -> None:
    # Mean 100, standard deviation sqrt((9 * 16 + 16 + 100 + 100) / 22) = 4.05.
    _, found = judged([96] * 5 + [104] * 5 + [110, 90] + [100] * 10)
    assert np.isclose(found.mean[0], 100)
    assert np.isclose(found.std[0], np.sqrt((10 * 16 + 200) / 22))
    assert np.flatnonzero(found.side == 1).tolist() == [10]
    assert np.flatnonzero(found.side == -1).tolist() == [11]
    assert found.normal.sum() == 20


def test_few_runs_are_not_judged() -> None:
    _, few = judged([100] * (LEAST_RUNS - 2) + [100_000])
    assert not few.judged.any()
    assert (few.side == 0).all()
    _, enough = judged([100] * (LEAST_RUNS - 1) + [100_000])
    assert enough.judged.all()
    assert enough.side.tolist() == [0] * (LEAST_RUNS - 1) + [1]


def test_constant_durations_flag_nothing() -> None:
    _, found = judged([100] * 50)
    assert (found.side == 0).all()
    assert (found.sigmas == 0).all()


def test_a_prefill_is_no_anomaly_among_decodes() -> None:
    dur = [100, 102] * 20 + [5_000, 5_100] * 6
    groups, found = judged(dur, ["decode"] * 40 + ["prefill"] * 12, [32] * 40 + [700] * 12)
    assert (found.side == 0).all()
    assert [groups.label(i) for i in range(len(groups))] == ["decode bs 32", "prefill 700 tokens"]


def test_batch_sizes_are_told_apart_if_there_are_enough_runs() -> None:
    size = [16] * 20 + [32] * 20 + [17] * 6 + [20] * 6
    groups, _ = judged([100] * len(size), ["decode"] * len(size), size)
    labels = {groups.label(i): int(groups.count[i]) for i in range(len(groups))}
    assert labels == {"decode bs 16": 20, "decode bs 32": 20, "decode bs 17-20": 12}


def test_the_last_layer_may_regularly_be_shorter() -> None:
    steps, layers = 14, 12
    capture = serving(steps, layers, seed=1)
    capture.dropped += [(step, place(layers - 1, op)) for step in range(steps) for op in LAYER[4:]]
    prepared = Prepared.of({0: capture})
    matrix = prepared.sets["P1.1"].matrix
    last = matrix.ordinal == layers - 1
    assert last.sum() in (0, steps)
    flagged = prepared.baseline.side[matrix.run] != 0
    assert flagged[last].mean() < 0.2 if last.any() else True
    assert flagged[~last].mean() < 0.1


def test_it_may_be_shorter_in_the_only_step_of_a_phase_too() -> None:
    steps, layers = 14, 12
    capture = serving(steps, layers, seed=1)
    capture.dropped += [(step, place(layers - 1, "up")) for step in range(steps)]
    capture.dur[0] *= 8
    capture.phase = ["prefill", *capture.phase[1:]]
    capture.size = [700, *capture.size[1:]]
    prepared = Prepared.of({0: capture})
    table, groups = prepared.runs.table, prepared.groups
    (shorter,) = np.flatnonzero((table.missing > 0) & (groups.phase[groups.of] == "prefill"))
    assert groups.count[groups.of[shorter]] == 1
    assert prepared.baseline.side[shorter] == 0
