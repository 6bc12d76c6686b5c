"""Timing, operations, waterfall and ranks, against numbers made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.compare import (
    build_waterfall,
    compare_operations,
    compare_ranks,
    compare_timing,
    kernels_of_one_build,
    sample_runs,
)
from perfetto_autoviz.steps.compare.dependence import batched_mean
from perfetto_autoviz.steps.compare.operations import change_p, holm
from perfetto_autoviz.steps.compare.student import t_quantile, two_sided_p
from tests.steps.compare.builds import layers, samples

KERNEL = st.tuples(st.sampled_from("abcd"), st.integers(0, 40), st.integers(1, 20))
RUNS = st.lists(st.lists(KERNEL, min_size=1, max_size=6), min_size=1, max_size=5)


def one_op(durations: list[int], label: str = "a") -> list[list[tuple[str, int, int]]]:
    return [[(label, 0, dur), ("rest", dur, 100)] for dur in durations]


def test_student_t_against_a_printed_table() -> None:
    # Two-sided 5 % and 1 % points of Student's t.
    for freedom, five, one in ((1, 12.706, 63.657), (5, 2.571, 4.032), (30, 2.042, 2.750)):
        assert two_sided_p(five, freedom) == pytest.approx(0.05, abs=1e-4)
        assert two_sided_p(one, freedom) == pytest.approx(0.01, abs=1e-4)
        assert t_quantile(0.95, freedom) == pytest.approx(five, abs=1e-3)
    assert two_sided_p(0, 3) == 1
    assert two_sided_p(math.inf, 3) == 0


def test_holm_by_hand() -> None:
    corrected = holm(np.array([0.01, math.nan, 0.04, 0.03]))
    # Ordered 0.01, 0.03, 0.04 times 3, 2, 1, and never less than the one before.
    assert corrected[[0, 3, 2]] == pytest.approx([0.03, 0.06, 0.06])
    assert math.isnan(corrected[1])


def test_four_runs_are_not_judged() -> None:
    a, b = samples(one_op([10, 11, 12, 13])), samples(one_op([20, 21, 22, 23]))
    timing = compare_timing(a, b)
    assert timing.difference == 10
    assert timing.ratio == pytest.approx(121.5 / 111.5 - 1)
    assert (timing.low, timing.high, timing.verdict) == (None, None, "not judged")
    table = compare_operations(a, b).set_index("label")
    assert table.loc["a", "difference"] == 10
    assert table["significant"].isna().all()
    assert table["p_holm"].isna().all()


def test_a_change_beyond_the_noise_is_reported_and_noise_is_not() -> None:
    random = np.random.default_rng(3)
    noise = [random.integers(95, 106, 40).tolist() for _ in range(3)]
    same = compare_timing(samples(one_op(noise[0])), samples(one_op(noise[1])))
    assert same.verdict == "no change"
    assert same.low is not None
    assert same.high is not None
    assert same.low <= 0 <= same.high
    slower = [dur + 20 for dur in noise[2]]
    timing = compare_timing(samples(one_op(noise[0])), samples(one_op(slower)))
    assert timing.verdict == "slower"
    table = compare_operations(samples(one_op(noise[0])), samples(one_op(slower)))
    assert table.set_index("label")["significant"].to_dict() == {"a": True, "rest": False}
    back = compare_timing(samples(one_op(slower)), samples(one_op(noise[0])))
    assert back.verdict == "faster"
    assert back.difference == -timing.difference


def test_the_same_seed_gives_the_same_interval() -> None:
    a, b = samples(one_op([10, 12, 11, 15, 13, 11])), samples(one_op([10, 13, 11, 14, 13, 12]))
    assert compare_timing(a, b, seed=4) == compare_timing(a, b, seed=4)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_dependent_noise_keeps_its_level(correlation: float) -> None:
    random = np.random.default_rng(8)
    found = 0
    for _ in range(300):
        noise = random.normal(size=160)
        for at in range(1, len(noise)):
            noise[at] += correlation * noise[at - 1]
        one, other = noise[40:100], noise[100:]
        found += change_p(batched_mean(one), batched_mean(other)) < 0.05
    # 15 are expected at the level, with a standard deviation of 4.
    assert found <= 15 + 2 * 4


def test_ranks_of_one_number_are_one_observation() -> None:
    # Five runs on each of two ranks are five observations, and three are too few.
    few = samples(one_op([10] * 6), ranks=[0, 0, 0, 1, 1, 1])
    assert compare_timing(few, few).verdict == "not judged"
    more = samples(one_op([10] * 10), ranks=[0] * 5 + [1] * 5)
    assert compare_timing(more, more).verdict == "no change"


def test_a_common_pace_is_no_change_of_an_operation() -> None:
    random = np.random.default_rng(1)

    def build(pace: float, extra: float) -> list[list[tuple[str, int, int]]]:
        return [
            [
                (op, 10_000 * at, int(random.normal(3000 * pace * (extra if op == "d" else 1), 20)))
                for at, op in enumerate("abcd")
            ]
            for _ in range(30)
        ]

    table = compare_operations(samples(build(1, 1)), samples(build(1.08, 1)))
    assert table["pace"].iloc[0] == pytest.approx(0.08, abs=0.01)
    assert not table["significant"].any()
    table = compare_operations(samples(build(1, 1)), samples(build(1.08, 1.2))).set_index("label")
    assert table["significant"].to_dict() == {"a": False, "b": False, "c": False, "d": True}


def test_a_waterfall_by_hand() -> None:
    # A: 10 of a, 5 idle, 20 of b. B: 30 of a and 10 of c that starts 5 before a ends.
    a = samples([[("a", 0, 10), ("b", 15, 20)]])
    b = samples([[("a", 0, 30), ("c", 25, 10)]])
    found = build_waterfall(a, b, bars=2)
    assert (found.a, found.b) == (35, 35)
    assert [(bar.kind, bar.label, bar.change, bar.operations) for bar in found.bars] == [
        ("operation", "a", 20, 1),
        ("operation", "b", -20, 1),
        ("rest", "", 10, 1),
        ("idle", "", -5, 0),
        ("overlap", "", -5, 0),
    ]


@given(RUNS, RUNS, st.integers(0, 4))
def test_a_waterfall_adds_up(
    one: list[list[tuple[str, int, int]]], other: list[list[tuple[str, int, int]]], bars: int
) -> None:
    a, b = samples(one), samples(other)
    found = build_waterfall(a, b, bars=bars)
    assert found.a == pytest.approx(np.mean(a.wall))
    assert found.b == pytest.approx(np.mean(b.wall))
    assert math.fsum([found.a, *(bar.change for bar in found.bars)]) == pytest.approx(found.b)
    labelled = [bar for bar in found.bars if bar.kind == "operation"]
    assert [abs(bar.change) for bar in labelled] == sorted(
        (abs(bar.change) for bar in labelled), reverse=True
    )
    # The bars say what the table of operations says.
    table = compare_operations(a, b).set_index("label")["difference"]
    for bar in labelled:
        assert bar.change == pytest.approx(table[bar.label])


def test_samples_of_a_build() -> None:
    build = layers(["ABc", "xy"], runs=3, ranks=(0, 1))
    found = sample_runs(build, build.by_name["P1"])
    assert found.wall.tolist() == [30] * 6
    assert found.busy.tolist() == [30] * 6
    assert found.rank.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.number.tolist() == [0, 1, 2, 0, 1, 2]
    half = found.select(found.rank == 1)
    assert sorted(half.label.tolist()) == sorted("ABc" * 3)
    assert half.owner.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_kernels_of_one_build_only() -> None:
    a, b = layers(["ABc", "cx"], runs=3), layers(["ABy"], runs=2)
    table = kernels_of_one_build(a, b)
    assert table.to_dict("list") == {
        "build": ["A", "A", "B"],
        "label": ["c", "x", "y"],
        "patterns": ["P1,P2", "P2", "P1"],
        "runs": [6, 3, 2],
        "count": [6, 3, 2],
        "total_dur": [60, 30, 20],
        "elsewhere": [0, 0, 0],
    }
    assert kernels_of_one_build(a, a).empty


def test_ranks_are_compared() -> None:
    a = samples(one_op([0] * 4), ranks=[0, 0, 1, 1])
    b = samples(one_op([0, 0, 50, 50, 0, 0]), ranks=[0, 0, 1, 1, 2, 2])
    table = compare_ranks(a, b)
    of_b = table[table["build"] == "B"]
    assert of_b["rank"].tolist() == [0, 1, 2]
    assert of_b["slowest"].tolist() == [False, True, False]
    assert of_b["behind"].tolist() == [0, 0.5, 0]
    assert of_b["spread"].tolist() == [0.5] * 3
    assert table[table["build"] == "A"]["spread"].tolist() == [0, 0]
