"""Injection, on activities small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.evaluation.inject import inject
from perfetto_autoviz.evaluation.plan import NONE, Plan, Target, Work, draw
from perfetto_autoviz.synth.anomaly_kinds import KINDS, Kind
from tests.evaluation.activities import Row, activities, plan, spans

ONE_STREAM: list[Row] = [
    (1_000, 100, "a", 7),
    (1_110, 200, "b", 7),
    (1_320, 300, "c", 7),
    (1_630, 400, "d", 7),
    (9_000, 100, "a", 7),
]
"""Gaps of 10 ns; the last one is another run."""
RUN = [0, 1, 2, 3]

TWO_STREAMS: list[Row] = [
    (0, 1_000, "a", 7),
    (100, 200, "x", 9),
    (1_010, 1_000, "b", 7),
    (1_100, 3_000, "y", 9),
    (4_110, 500, "c", 7),
]


def test_a_spike_lasts_five_times_as_long_and_delays_what_follows() -> None:
    result = inject(activities(ONE_STREAM), [plan("spike", RUN, 1)])
    assert spans(result.activities) == [
        (1_000, 100, "a", 7),
        (1_110, 1_000, "b", 7),
        (2_120, 300, "c", 7),
        (2_430, 400, "d", 7),
        (9_800, 100, "a", 7),
    ]
    assert result.number.tolist() == [0, 1, 2, 3, 4]


def test_a_stall_delays_its_kernel_and_all_later_ones_by_5_us() -> None:
    result = inject(activities(ONE_STREAM), [plan("stall", RUN, 2)])
    assert result.activities["ts"].tolist() == [1_000, 1_110, 6_320, 6_630, 14_000]
    assert result.activities["dur"].tolist() == [100, 200, 300, 400, 100]


def test_a_swap_exchanges_work_and_keeps_the_gaps() -> None:
    result = inject(activities(ONE_STREAM), [plan("swap", RUN, 0, 3)])
    assert spans(result.activities) == [
        (1_000, 400, "d", 7),
        (1_410, 200, "b", 7),
        (1_620, 300, "c", 7),
        (1_930, 100, "a", 7),
        (9_000, 100, "a", 7),
    ]


def test_a_drift_stretches_all_of_a_run_and_nothing_else() -> None:
    result = inject(activities(ONE_STREAM), [plan("drift", RUN)])
    assert result.activities["dur"].tolist() == [110, 220, 330, 440, 100]
    assert result.activities["ts"].tolist() == [1_000, 1_120, 1_350, 1_690, 9_100]


def test_a_missing_kernel_leaves_no_hole() -> None:
    result = inject(activities(ONE_STREAM), [plan("missing", RUN, 1)])
    assert spans(result.activities) == [
        (1_000, 100, "a", 7),
        (1_110, 300, "c", 7),
        (1_420, 400, "d", 7),
        (8_790, 100, "a", 7),
    ]
    assert result.number.tolist() == [0, NONE, 1, 2, 3]


def test_the_idle_time_before_a_run_stays_if_its_first_kernel_is_missing() -> None:
    result = inject(activities(ONE_STREAM), [plan("missing", [4], 4), plan("missing", RUN, 0)])
    assert result.activities["ts"].tolist() == [1_010, 1_220, 1_530]


def test_an_extra_kernel_takes_its_time_and_the_usual_gap() -> None:
    result = inject(activities(ONE_STREAM), [plan("extra", RUN, 1, 3)])
    assert spans(result.activities) == [
        (1_000, 100, "a", 7),
        (1_110, 200, "b", 7),
        (1_320, 400, "d", 7),
        (1_730, 300, "c", 7),
        (2_040, 400, "d", 7),
        (9_410, 100, "a", 7),
    ]
    assert result.number.tolist() == [0, 1, 3, 4, 5]
    assert (result.extra.tolist(), result.extra_after.tolist()) == ([2], [1])
    # Launched with the kernel that it follows.
    assert result.activities["correlation"].tolist()[2] == 101


def test_a_slow_collective_lasts_three_times_as_long() -> None:
    result = inject(activities(ONE_STREAM), [plan("slow_collective", RUN, 3)])
    assert result.activities["dur"].tolist() == [100, 200, 300, 1_200, 100]


def test_streams_wait_for_the_one_that_is_delayed_most() -> None:
    result = inject(activities(TWO_STREAMS), [plan("drift", [0, 1, 2, 3, 4])])
    # Stream 7 is 100 ns late behind a, 200 behind b; stream 9 is 20 late behind x, 320 behind y.
    assert spans(result.activities) == [
        (0, 1_100, "a", 7),
        (200, 220, "x", 9),
        (1_110, 1_100, "b", 7),
        (1_300, 3_300, "y", 9),
        (4_430, 550, "c", 7),
    ]


def test_what_already_runs_on_another_stream_is_not_delayed() -> None:
    result = inject(activities(TWO_STREAMS), [plan("stall", [0, 1, 2, 3, 4], 2)])
    assert result.activities["ts"].tolist() == [0, 100, 6_010, 6_100, 9_110]


def test_anomalies_in_several_runs_add_up() -> None:
    rows: list[Row] = [(1_000 * i, 900, "ab"[i % 2], 7) for i in range(6)]
    plans = [plan("stall", [0, 1], 1), plan("missing", [2, 3], 3), plan("spike", [4, 5], 4)]
    result = inject(activities(rows), plans)
    assert spans(result.activities) == [
        (0, 900, "a", 7),
        (6_000, 900, "b", 7),
        (7_000, 900, "a", 7),
        (8_000, 4_500, "a", 7),
        (12_600, 900, "b", 7),
    ]


def test_kernels_that_overlap_stay_in_order_when_one_shrinks() -> None:
    overlapping: list[Row] = [(0, 1_000, "a", 7), (200, 900, "b", 7), (1_000, 10, "c", 7)]
    result = inject(activities(overlapping), [plan("swap", [0, 1, 2], 0, 2)])
    assert result.activities["op"].tolist() == ["c", "b", "a"]
    assert (np.diff(result.activities["ts"]) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kernel_of_a_run_that_may_be_hit_is_hit(kind: Kind) -> None:
    frame = activities([(10 * i, 9, op, 7) for i, op in enumerate("abcdea")], "communication")
    target = Target(0, 0, np.arange(5))
    rng = np.random.default_rng(0)
    drawn = [draw(kind, target, Work.of(frame), rng) for _ in range(200)]
    hit = {(one.at, one.other if kind == "swap" else NONE) for one in drawn if one is not None}
    expected = {
        "spike": {(i, NONE) for i in range(5)},
        # Before the first kernel lies another run.
        "stall": {(i, NONE) for i in range(1, 5)},
        "swap": {(0, 3), (1, 4)},
        "drift": {(NONE, NONE)},
        "missing": {(i, NONE) for i in range(5)},
        # Behind the last kernel lies another run.
        "extra": {(i, NONE) for i in range(4)},
        "slow_collective": {(i, NONE) for i in range(5)},
    }
    assert hit == expected[kind]


def test_a_run_without_a_place_for_an_anomaly_gets_none() -> None:
    same = Work.of(activities([(10 * i, 9, "a", 7) for i in range(8)]))
    rng = np.random.default_rng(0)
    target = Target(0, 0, np.arange(8))
    assert draw("swap", target, same, rng) is None  # Nobody could tell them apart.
    assert draw("extra", target, same, rng) is None
    assert draw("slow_collective", target, same, rng) is None
    assert draw("missing", Target(0, 0, np.arange(2)), same, rng) is None


def test_the_extra_kernel_differs_from_both_of_its_neighbours() -> None:
    work = Work.of(activities([(10 * i, 9, op, 7) for i, op in enumerate("abcab")]))
    rng = np.random.default_rng(1)
    for _ in range(100):
        one = draw("extra", Target(0, 0, np.arange(5)), work, rng)
        assert one is not None
        assert work.op[one.other] not in (work.op[one.at], work.op[one.at + 1])


def test_kernels_that_change_places_are_three_apart_on_one_stream() -> None:
    rows: list[Row] = [(10 * i, 9, "abcdefgh"[i], 7 + i % 2) for i in range(8)]
    work = Work.of(activities(rows))
    rng = np.random.default_rng(2)
    drawn = [draw("swap", Target(0, 0, np.arange(8)), work, rng) for _ in range(50)]
    assert {(one.at, one.other) for one in drawn if one is not None} == {(0, 6), (1, 7)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(-100, 300), st.booleans()), min_size=24),
    st.integers(0, 2**32 - 1),
)
def test_whatever_is_injected_nothing_else_is_lost(
    kernels: list[tuple[int, int, bool]], seed: int
) -> None:
    rows: list[Row] = []
    ts = 0
    for i, (dur, gap, side) in enumerate(kernels):
        rows.append((ts, dur, "abcdefg"[i % 7], 9 if side else 7))
        ts += max(dur + gap, 0)
    frame = activities(sorted(rows))
    rng = np.random.default_rng(seed)
    plans: list[Plan] = []
    for start in range(0, len(rows) - 7, 8):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        one = draw(kind, Target(0, start, np.arange(start, start + 8)), Work.of(frame), rng)
        plans += [one] if one is not None else []
    result = inject(frame, plans)
    kinds = [one.kind for one in plans]
    assert len(result.activities) == len(rows) + kinds.count("extra") - kinds.count("missing")
    assert (np.diff(result.activities["ts"]) >= 0).all()
    assert (np.delete(result.number, np.flatnonzero(result.number < 0)) >= 0).all()
    touched = {one.at for one in plans} | {one.other for one in plans if one.kind == "swap"}
    drifts = {int(k) for one in plans if one.kind == "drift" for k in one.target.kernels}
    for old in set(range(len(rows))) - touched - drifts:
        new = int(result.number[old])
        assert result.activities["dur"][new] == frame["dur"][old]
        assert result.activities["correlation"][new] == frame["correlation"][old]
