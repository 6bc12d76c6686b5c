"""Runs as matrices: every kernel at its position, whatever loops it lies in."""

from __future__ import annotations

import numpy as np

from tests.steps.anomalies.captures import LAYER, Prepared, Steps, place, serving

STEPS, LAYERS = 12, 10
SIZE = 2 + LAYERS * len(LAYER)


def test_a_step_is_laid_out_with_all_its_layers() -> None:
    steps = serving(STEPS, LAYERS, seed=1)
    prepared = Prepared.of({0: steps})
    matrix = prepared.sets["P1"].matrix
    assert matrix.kernel.shape == (STEPS, SIZE)
    assert (np.sort(matrix.kernel, axis=1) == np.arange(STEPS * SIZE).reshape(STEPS, SIZE)).all()
    order = np.argsort(matrix.kernel[0])
    assert [matrix.ops[i] for i in order] == list(steps.ops)
    assert (matrix.run_time[:, order] == steps.dur).all()
    assert (matrix.gap[:, order][:, 1:] == steps.gap[:, 1:]).all()


def test_a_layer_has_a_row_per_execution() -> None:
    steps = serving(STEPS, LAYERS, seed=2)
    matrix = Prepared.of({0: steps}).sets["P1.1"].matrix
    assert matrix.kernel.shape == (STEPS * LAYERS, len(LAYER))
    assert matrix.ran.all()
    assert (matrix.run_time.sum(axis=1) + matrix.gap.sum(axis=1) == matrix.dur).all()
    assert matrix.ordinal.tolist() == list(range(LAYERS)) * STEPS


def test_the_time_before_the_first_kernel_is_between_runs() -> None:
    matrix = Prepared.of({0: serving(STEPS, LAYERS, seed=3)}).sets["P1.1"].matrix
    assert not matrix.has_idle[:, 0].any()
    assert matrix.has_idle[:, 1:].all()


def test_overlap_is_no_idle_time() -> None:
    steps = serving(STEPS, LAYERS, seed=4)
    steps.gap[:, place(0, "up") :: len(LAYER)] = -1_200
    matrix = Prepared.of({0: steps}).sets["P1.1"].matrix
    up = matrix.ops.index("up")
    assert (matrix.gap[:, up] == -1_200).all()
    assert (matrix.idle[:, up] == 0).all()
    assert (matrix.idle[:, up - 1] == matrix.gap[:, up - 1]).all()


def test_what_waits_for_another_stream_idles_since_that_ended() -> None:
    steps = serving(STEPS, LAYERS, seed=8, noise=0.2)
    steps.streams = {"up": 9}
    matrix = Prepared.of({0: steps}).sets["P1.1"].matrix
    assert [op for op, across in zip(matrix.ops, matrix.across, strict=True) if across] == [
        "up",
        "down",
    ]
    for op in ("up", "down"):
        wanted = steps.gap[:, place(0, op) :: len(LAYER)][:, :LAYERS]
        assert (matrix.gap[:, matrix.ops.index(op)] == wanted.ravel()).all()


def test_what_runs_beside_another_stream_idles_on_its_own() -> None:
    steps = serving(STEPS, LAYERS, seed=9)
    # On a stream of its own it ends before the next kernel there, in the midst of this one.
    steps.streams = {"gate": 9}
    steps.gap[:, place(0, "up") :: len(LAYER)] = -2_000
    matrix = Prepared.of({0: steps}).sets["P1.1"].matrix
    up, proj = matrix.ops.index("up"), matrix.ops.index("proj")
    end = matrix.kernels.ts[matrix.kernel[:, proj]] + matrix.kernels.dur[matrix.kernel[:, proj]]
    assert not matrix.across[up]
    assert (matrix.gap[:, up] == matrix.kernels.ts[matrix.kernel[:, up]] - end).all()


def test_a_missing_kernel_leaves_a_hole_at_its_position() -> None:
    steps = serving(STEPS, LAYERS, seed=5)
    steps.dropped.append((3, place(4, "gate")))
    sets = Prepared.of({0: steps}).sets
    layers, whole = sets["P1.1"].matrix, sets["P1"].matrix
    row, position = np.argwhere(layers.kernel < 0)[0]
    assert (int(layers.number[row]), layers.ops[position]) == (3 * LAYERS + 4, "gate")
    assert np.count_nonzero(whole.kernel < 0) == 1
    assert whole.ops[int(np.argwhere(whole.kernel < 0)[0][1])] == "gate"


def test_an_extra_kernel_has_no_position() -> None:
    steps = serving(STEPS, LAYERS, seed=6)
    steps.added.append((2, place(5, "proj"), "stray"))
    matrix = Prepared.of({0: steps}).sets["P1.1"].matrix
    assert matrix.ran.all()
    row, kernel = matrix.extra_run.tolist(), matrix.extra_kernel.tolist()
    assert [int(matrix.number[one]) for one in row] == [2 * LAYERS + 5]
    assert [matrix.kernels.ops[matrix.kernels.op[one]] for one in kernel] == ["stray"]


def test_steps_of_more_than_four_thousand_kernels() -> None:
    steps = serving(10, 520, seed=7)
    prepared = Prepared.of({0: steps})
    matrix = prepared.sets["P1"].matrix
    assert matrix.kernel.shape == (10, 2 + 520 * len(LAYER))
    assert matrix.ran.all()
    assert prepared.baseline.judged[prepared.groups.of[matrix.run]].all()


def test_ranks_are_rows_of_one_matrix() -> None:
    prepared = Prepared.of({rank: serving(STEPS, LAYERS, seed=rank) for rank in (0, 3)})
    matrix = prepared.sets["P1.1"].matrix
    assert np.bincount(matrix.rank).tolist() == [STEPS * LAYERS, 0, 0, STEPS * LAYERS]
    assert (matrix.kernels.rank[matrix.kernel] == matrix.rank[:, None]).all()


def test_no_pattern_at_all() -> None:
    prepared = Prepared.of({0: Steps(["a", "b"], np.full((1, 2), 9), np.full((1, 2), 1))})
    assert prepared.sets == {}
    assert len(prepared.groups) == 0
