"""Which runs train, set thresholds, and are tested."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.evaluation.split import LEAST_STEPS, split_runs

STEPS = np.repeat(np.arange(40), 12)
KINDS = np.where(STEPS % 4 == 0, "prefill", "decode").astype(object)


def test_each_kind_of_step_is_split_by_itself() -> None:
    split = split_runs(STEPS, KINDS, seed=1)
    for kind, steps in (("prefill", 10), ("decode", 30)):
        counts = [
            len(np.unique(STEPS[rows[KINDS[rows] == kind]]))
            for rows in (split.train, split.threshold, split.test)
        ]
        assert sum(counts) == steps
        assert abs(counts[0] - steps / 2) <= 1
        assert abs(counts[1] - steps / 4) <= 1


@given(st.lists(st.integers(-1, 30), min_size=1, max_size=90), st.integers(0, 100))
def test_parts_are_disjoint_and_no_step_is_in_two(steps: list[int], seed: int) -> None:
    step = np.array(steps)
    split = split_runs(step, np.full(len(step), "decode", object), seed)
    parts = [split.train, split.threshold, split.test]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(step)))
    known = [set(step[part].tolist()) - {-1} for part in parts]
    if len(set(steps)) >= LEAST_STEPS:
        assert sum(len(one) for one in known) == len(set(steps) - {-1})


def test_the_runs_of_a_single_step_are_parted() -> None:
    split = split_runs(np.zeros(48, np.int64), np.full(48, "decode", object), seed=3)
    assert [len(split.train), len(split.threshold), len(split.test)] == [24, 12, 12]


def test_the_seed_decides() -> None:
    same, other = (split_runs(STEPS, KINDS, seed) for seed in (1, 2))
    assert same.test.tolist() == split_runs(STEPS, KINDS, seed=1).test.tolist()
    assert same.test.tolist() != other.test.tolist()
