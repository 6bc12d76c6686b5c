"""A build with a part of its kernels has the runs that lie in that part, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfetto_autoviz.comparison.window import narrowed
from perfetto_autoviz.steps.compare import Build
from tests.comparison.builds import nested

# A step: a, then two layers of x (30 ns) and y (20 ns), then z: 6 kernels, 120 ns.
STEP = 6


def build() -> Build:
    return nested("az", [("x", 30), ("y", 20)], repeats=2, runs=4)


def test_all_kernels_are_the_whole_build() -> None:
    whole = build()
    same = narrowed(whole, np.ones(len(whole.kernels), bool))
    assert same.loops == whole.loops
    for name in ("pattern", "parent", "rank", "number", "dur", "complete"):
        assert (getattr(same.runs, name) == getattr(whole.runs, name)).all()
    assert (same.kernels.run == whole.kernels.run).all()


def test_only_whole_steps_are_left() -> None:
    whole = build()
    inside = np.zeros(len(whole.kernels), bool)
    inside[STEP : 3 * STEP] = True
    few = narrowed(whole, inside)
    assert [(loop.name, loop.run_count, loop.time) for loop in few.loops] == [
        ("P1", 2, 2 * 120),
        ("P1.1", 4, 4 * 50),
    ]
    assert few.runs.number.tolist() == [1, 2, 2, 3, 4, 5]
    assert few.runs.parent.tolist() == [-1, -1, 0, 0, 1, 1]
    assert len(few.kernels) == 2 * STEP
    assert (few.kernels.run >= 0).all()
    assert [element.dur for element in few.loops[0].elements] == [10, 100, 10]


def test_a_step_that_is_cut_is_no_run_but_its_layers_are() -> None:
    whole = build()
    # The last step without its first kernel.
    inside = np.zeros(len(whole.kernels), bool)
    inside[3 * STEP + 1 :] = True
    few = narrowed(whole, inside)
    assert [(loop.id, loop.name, loop.run_count) for loop in few.loops] == [(0, "P1.1", 2)]
    assert few.runs.parent.tolist() == [-1, -1]
    # The step's last kernel lies outside any run now.
    assert few.kernels.run.tolist() == [0, 0, 1, 1, -1]


def test_a_layer_that_is_cut_breaks_its_step() -> None:
    whole = build()
    inside = np.ones(len(whole.kernels), bool)
    inside[2] = False
    few = narrowed(whole, inside)
    assert [(loop.name, loop.run_count) for loop in few.loops] == [("P1", 3), ("P1.1", 7)]


def test_times_are_those_of_what_is_left() -> None:
    whole = build()
    inside = np.zeros(len(whole.kernels), bool)
    inside[-STEP:] = True
    longer = np.where(inside, 3 * whole.kernels.dur, whole.kernels.dur)
    slow = replace(whole, kernels=replace(whole.kernels, dur=longer))
    few = narrowed(slow, inside)
    step, layer = few.loops
    assert [element.dur for element in layer.elements] == [90, 60]
    assert [element.dur for element in step.elements] == [30, 300, 30]
    assert (step.time, layer.time) == (360, 300)


def test_nothing_is_left_of_nothing() -> None:
    whole = build()
    few = narrowed(whole, np.zeros(len(whole.kernels), bool))
    assert few.loops == ()
    assert len(few.runs) == len(few.kernels) == 0
