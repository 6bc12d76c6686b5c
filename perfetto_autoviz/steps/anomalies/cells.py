"""What the autoencoder judges a run by: the runs of one pattern in steps of one kind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.baseline import Baseline
from perfetto_autoviz.steps.anomalies.context import RunContext
from perfetto_autoviz.steps.anomalies.groups import Groups
from perfetto_autoviz.steps.anomalies.limits import LEAST_PER_ORDINAL, LEAST_SIBLINGS
from perfetto_autoviz.steps.anomalies.runs import AllRuns, Bools
from perfetto_autoviz.steps.anomalies.values import RunSet, run_set
from perfetto_autoviz.steps.intervals import Ints


def run_sets(
    runs: AllRuns, context: RunContext, groups: Groups, normal: Baseline, pattern: int
) -> RunSet:
    """The runs of one pattern on all ranks, as the autoencoder reads them.

    Runs with siblings in their step are compared with those, which settles the step's size:
    their cell is phase and kind of layer. Others have a cell for each size, too.
    """
    matrix = runs.matrix(pattern)
    own = matrix.run
    step = _steps(matrix.rank, context.iteration[own], runs.table.parent[own])
    group = np.array([groups.label(number) for number in groups.of[own]], object)
    siblings = np.bincount(step[step >= 0], minlength=1)[step] * (step >= 0)
    kind = np.array(
        [
            " ".join(word for word in (phase or "all steps", layer) if word)
            for phase, layer in zip(context.phase[own], context.layer_kind[own], strict=True)
        ],
        object,
    )
    cell: NDArray[np.object_] = np.where(siblings >= LEAST_SIBLINGS, kind, group)
    expected = _expected(matrix.ran, context.phase[own], matrix.ordinal)
    return run_set(matrix, cell, group, step, normal.normal[own], expected)


def _expected(ran: Bools, phase: NDArray[np.object_], ordinal: Ints) -> Bools:
    """Positions at which most runs of the same phase and place in the step ran.

    The last layer of a step may have no successor to prepare, and a prefill other kernels.
    """
    expected = np.ones_like(ran)
    phases = np.unique(phase.astype(str), return_inverse=True)[1].ravel()
    for keys in ((phases,), (phases, ordinal)):
        _, code, count = np.unique(np.stack(keys), axis=1, return_inverse=True, return_counts=True)
        order = np.argsort(code.ravel(), kind="stable")
        starts = np.cumsum(count) - count
        share = np.add.reduceat(ran[order], starts, axis=0, dtype=np.int64) / count[:, None]
        enough = (count >= LEAST_PER_ORDINAL)[code.ravel()]
        expected[enough] = (share >= 0.5)[code.ravel()[enough]]
    return expected


def _steps(rank: Ints, iteration: Ints, parent: Ints) -> Ints:
    """A number per step of a rank: its iteration, or the run around it; -1 for neither."""
    which = np.where(iteration >= 0, iteration, parent)
    kind = np.where(iteration >= 0, 0, 1)
    _, step = np.unique(np.stack([rank, kind, which]), axis=1, return_inverse=True)
    return np.where(which >= 0, step.ravel(), -1).astype(np.int64)
