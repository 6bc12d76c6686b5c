"""Who is late, by what each rank works itself."""

from __future__ import annotations

import numpy as np

from perfetto_autoviz.options import Options
from perfetto_autoviz.steps.anomalies.step import find_anomalies
from tests.steps.anomalies.captures import Steps, with_patterns

OPS = ["embed", *["norm", "mm", "all_reduce", "act"] * 10, "head"]
STEPS = 15
LATE = (6, 1 + 4 * 3 + 1)
"""Step, and kernel in it: the matrix product of layer 3."""


def ranks(late: int | None) -> dict[int, Steps]:
    """Three ranks that wait for the slowest in each all-reduce."""
    rng = np.random.default_rng(1)
    usual = np.array([5.0, *[4.0, 30.0, 9.0, 6.0] * 10, 50.0]) * 1_000
    dur = np.rint(usual * np.exp(0.01 * rng.standard_normal((3, STEPS, len(OPS)))))
    if late is not None:
        dur[late][LATE] += 20_000
    for kernel in np.flatnonzero(np.array(OPS) == "all_reduce"):
        work = dur[:, :, kernel - 2 : kernel].sum(axis=2)
        dur[:, :, kernel] += work.max(axis=0) - work
    gap = np.full((STEPS, len(OPS)), 500.0)
    return {rank: Steps(OPS, dur[rank], gap, ["decode"] * STEPS, [8] * STEPS) for rank in range(3)}


def test_the_rank_that_works_longest_is_late() -> None:
    made = find_anomalies(with_patterns(ranks(late=2)), Options())
    late = made[0]["straggler"]
    assert late["late_rank"].tolist() == [2] * len(late)
    layers = late[late["number"] == LATE[0] * 10 + 3].iloc[0]
    assert abs(layers["late"] - 20_000) < 2_000
    # The others waited for it in the collective.
    assert abs(layers["wait"] - 20_000) < 2_000
    assert all(made[rank]["straggler"].equals(late) for rank in (1, 2))


def test_nobody_is_late() -> None:
    assert find_anomalies(with_patterns(ranks(late=None)), Options())[0]["straggler"].empty


def test_a_single_rank_is_never_late() -> None:
    one = {0: ranks(late=None)[0]}
    assert find_anomalies(with_patterns(one), Options())[0]["straggler"].empty
