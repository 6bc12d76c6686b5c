"""Blame on hand-made runs."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.steps.anomalies.culprits import Normal, by_order, by_time
from perfetto_autoviz.steps.anomalies.findings import Anomaly, find
from perfetto_autoviz.steps.anomalies.words import of_culprit
from tests.steps.anomalies.captures import (
    GAP_NS,
    LAYER,
    Prepared,
    Steps,
    place,
    serving,
    with_patterns,
)

STEPS, LAYERS = 20, 8
STEP, AT = 11, 5
NUMBER = STEP * LAYERS + AT


def quiet(seed: int = 1) -> Steps:
    return serving(STEPS, LAYERS, seed, noise=0.01, gap_noise=0.01)


def layer_anomaly(steps: Steps) -> Anomaly:
    """The anomaly of the layer in which something was changed."""
    found = find(with_patterns({0: steps}))
    layers = next(i for i, name in found.runs.names.items() if name == "P1.1")
    table = found.runs.table
    own = (table.pattern == layers) & (table.number == NUMBER)
    return next(one for one in found.anomalies if own[one.run])


def test_a_slow_kernel_has_the_whole_excess() -> None:
    steps = quiet()
    steps.dur[STEP, place(AT, "down")] = 95_000
    anomaly = layer_anomaly(steps)
    first = anomaly.culprits[0]
    assert anomaly.tests == ("duration",)
    assert (first.op, first.channel, first.kind) == ("down", "run time", "plain")
    assert abs(first.excess - 60_000) < 1_000
    assert abs(first.share - 1) < 0.1
    assert of_culprit(first).startswith("down +60.")
    assert "normal 35.0 ± 0.3" in of_culprit(first)


def test_a_stall_is_idle_time_before_a_kernel() -> None:
    steps = quiet()
    steps.gap[STEP, place(AT, "gate")] += 40_000
    first = layer_anomaly(steps).culprits[0]
    assert (first.op, first.channel) == ("gate", "idle time")
    assert abs(first.excess - 40_000) < 100
    assert abs(first.normal - GAP_NS) < 20
    assert of_culprit(first) == "idle before gate +40.0 µs, normal 0.90 ± 0.01 µs"


def test_a_kernel_that_no_longer_overlaps() -> None:
    steps = quiet()
    steps.gap[:, place(0, "gate") :: 8] = -2_000
    steps.gap[STEP, place(AT, "gate")] = 38_000
    first = layer_anomaly(steps).culprits[0]
    assert first.op == "gate"
    assert first.excess == 40_000
    assert of_culprit(first) == (
        "start of gate +40.0 µs, normally 2.0 ± 0.00 µs before the end of its predecessor"
    )


def test_a_missing_kernel_is_named() -> None:
    steps = quiet()
    steps.dropped.append((STEP, place(AT, "attention")))
    anomaly = layer_anomaly(steps)
    missing = [one for one in anomaly.culprits if one.kind == "missing"]
    assert anomaly.excess < -25_000
    assert [(one.op, one.kernel) for one in missing] == [("attention", -1)]


def test_an_extra_kernel_is_named() -> None:
    steps = quiet()
    steps.added.append((STEP, place(AT, "proj"), "stray"))
    extra = [one for one in layer_anomaly(steps).culprits if one.kind == "extra"]
    assert [(one.op, one.excess) for one in extra] == [("stray", 7_000)]


def test_a_swapped_kernel_is_named_with_what_should_run() -> None:
    steps = quiet()
    place_of = place(AT, "up")
    steps.dropped.append((STEP, place_of))
    steps.added.append((STEP, place_of, "other"))
    swapped = [one for one in layer_anomaly(steps).culprits if one.kind == "swapped"]
    assert [(one.op, one.instead) for one in swapped] == [("other", "up")]


def test_constant_durations_have_nothing_to_blame() -> None:
    steps = serving(STEPS, LAYERS, seed=1, noise=0, gap_noise=0)
    steps.gap[:] = 0
    assert find(with_patterns({0: steps})).anomalies == ()


def with_another_first_norm() -> Steps:
    """The first layer starts with another norm in all steps."""
    steps = quiet()
    steps.ops = ["first_norm" if i == place(0, "norm") else op for i, op in enumerate(steps.ops)]
    return steps


def test_what_always_runs_at_a_place_is_not_blamed() -> None:
    steps = with_another_first_norm()
    steps.dropped.append((STEP, place(0, "attention")))
    runs = Prepared.of({0: steps}).sets["P1.1"]
    (row,) = np.flatnonzero(runs.matrix.kernel[:, LAYER.index("attention")] < 0)
    found = by_order(runs.matrix, int(row), Normal.of(runs.matrix), runs.expected[row])
    assert [(one.op, one.kind) for one in found] == [("attention", "missing")]


def test_what_always_runs_at_a_place_is_timed_like_all_others() -> None:
    steps = with_another_first_norm()
    steps.dur[STEP, place(0, "norm")] = 44_000
    steps.gap[STEP, place(0, "qkv")] = 7_000
    runs = Prepared.of({0: steps}).sets["P1.1"]
    (row,) = np.flatnonzero((runs.matrix.ordinal == 0) & (runs.step == runs.step[STEP * LAYERS]))
    norm, qkv = LAYER.index("norm"), LAYER.index("qkv")
    assert not runs.matrix.swapped.any()
    assert runs.matrix.run_time[row, norm] == 44_000
    assert (runs.matrix.has_idle[row, [norm, qkv]].tolist(), runs.matrix.gap[row, qkv]) == (
        [False, True],
        7_000,
    )
    (first, *_) = by_time(runs.matrix, int(row), Normal.of(runs.matrix))
    assert (first.op, first.channel) == ("first_norm", "run time")


def test_what_all_of_a_group_deviate_in_is_not_told() -> None:
    steps = with_another_first_norm()
    steps.dropped.append((STEP, place(AT, "attention")))
    found = find(with_patterns({0: steps}))
    layers = next(i for i, name in found.runs.names.items() if name == "P1.1")
    table, own = found.runs.table, found.runs.table.pattern == layers
    assert (table.swapped[own & (table.number % LAYERS == 0)] == 1).all()
    assert table.number[own & found.deviates].tolist() == [NUMBER]


def test_another_in_the_place_of_the_usual_other_one_is_swapped() -> None:
    steps = with_another_first_norm()
    steps.dropped.append((STEP, place(0, "norm")))
    steps.added.append((STEP, place(0, "norm"), "third_norm"))
    runs = Prepared.of({0: steps}).sets["P1.1"]
    (row,) = np.flatnonzero(runs.matrix.swapped.any(axis=1))
    found = by_order(runs.matrix, int(row), Normal.of(runs.matrix), runs.expected[row])
    assert [(one.op, one.kind) for one in found] == [("third_norm", "swapped")]
