"""Scoring, on runs and labels written down by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfetto_autoviz.evaluation.labels import Label
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.results import NOTHING, rows
from perfetto_autoviz.evaluation.score import (
    METHODS,
    Blamed,
    Finding,
    Found,
    Tally,
    outcomes,
    untouched,
)

SPIKE = Label("spike", 0, 1_000, 100, "gemm", "run time", culprits=(17,), op=None)
MISSING = replace(SPIKE, kind="missing", culprits=(), op="norm", channel="order")
DRIFT = replace(SPIKE, kind="drift", culprits=(), channel=None)


def found(
    ts: list[int], flagged: list[bool], blamed: dict[int, Blamed] | None = None, dur: int = 100
) -> Found:
    """Runs of rank 0 of which every method says the same."""
    finding = Finding(np.ones(len(ts), bool), np.array(flagged), blamed or {})
    return Found(
        np.zeros(len(ts), np.int64),
        np.array(ts, np.int64),
        np.full(len(ts), dur, np.int64),
        12,
        dict.fromkeys(METHODS, finding),
    )


@pytest.mark.parametrize(
    ("ts", "dur", "placed"),
    [(1_000, 100, True), (1_050, 100, True), (951, 100, True), (1_051, 100, False),
     (1_000, 50, True), (1_000, 49, False), (1_000, 200, True), (1_000, 201, False)],
)  # fmt: skip
def test_a_run_is_in_the_place_of_a_label_if_half_of_both_is_common(
    ts: int, dur: int, *, placed: bool
) -> None:
    (first, *_) = outcomes([SPIKE], [found([ts], [True], dur=dur)])
    assert (first.placed, first.found) == (placed, placed)


def test_a_run_of_another_rank_is_not_in_its_place() -> None:
    (first, *_) = outcomes([replace(SPIKE, rank=1)], [found([1_000], [True])])
    assert not first.placed


def test_what_is_found_but_not_flagged_is_missed() -> None:
    (first, *_) = outcomes([SPIKE], [found([1_000], [False])])
    assert (first.placed, first.found, first.kernel) == (True, False, None)


@pytest.mark.parametrize(
    ("label", "blamed", "kernel", "channel"),
    [
        (SPIKE, Blamed(17, "gemm", "run time"), True, True),
        (SPIKE, Blamed(17, "gemm", "idle time"), True, False),
        (SPIKE, Blamed(16, "gemm", "run time"), False, False),
        (replace(SPIKE, culprits=(16, 17)), Blamed(16, "a", "run time"), True, True),
        (MISSING, Blamed(-1, "norm", "order"), True, True),
        (MISSING, Blamed(-1, "gemm", "order"), False, False),
        (MISSING, Blamed(17, "norm", "run time"), False, False),
        (replace(SPIKE, channel=None), Blamed(17, "gemm", "run time"), True, None),
        (DRIFT, Blamed(17, "gemm", "run time"), None, None),
    ],
)
def test_kernel_and_channel_must_be_those_of_the_label(
    label: Label, blamed: Blamed, *, kernel: bool | None, channel: bool | None
) -> None:
    (first, *_) = outcomes([label], [found([1_000], [True], {0: blamed})])
    assert (first.kernel, first.channel) == (kernel, channel)


def test_a_flag_that_blames_nothing_is_not_right() -> None:
    (first, *_) = outcomes([SPIKE], [found([1_000], [True])])
    assert first.kernel is False


def test_runs_with_any_time_in_common_with_a_label_are_no_false_alarms() -> None:
    clear = untouched([SPIKE], found([800, 900, 901, 1_050, 1_099, 1_100], [True] * 6))
    assert clear.tolist() == [True, True, False, False, False, True]


def test_rows_count_by_kind_and_class() -> None:
    labels = [SPIKE, replace(SPIKE, ts=2_000), replace(SPIKE, ts=3_000, family="norm"), MISSING]
    runs = found([1_000, 2_000], [True, False], {0: Blamed(17, "gemm", "run time")})
    tally = Tally([one for one in outcomes(labels, [runs]) if one.method == "combined"])
    tally.add_alarms("combined", Rate(1, 50))
    by_key = {(row.kind, row.family): row for row in rows(tally, ["spike", "missing"])}
    assert by_key[NOTHING, "all"].flagged == Rate(1, 50)
    assert by_key["spike", "all"].flagged == Rate(1, 3)
    assert by_key["spike", "all"].placed == Rate(2, 3)
    assert by_key["spike", "all"].kernel == Rate(1, 1)
    assert by_key["spike", "gemm"].flagged == Rate(1, 2)
    assert by_key["spike", "norm"].flagged == Rate(0, 1)
    assert by_key["missing", "all"].kernel == Rate(0, 1)


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    # Newcombe 1998, table I, and its rules for none and all.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)  # fmt: skip
def test_intervals_are_those_of_the_literature(
    hits: int, count: int, low: float, high: float
) -> None:
    assert Rate(hits, count).interval == pytest.approx((low, high), abs=5e-5)
    mirrored = Rate(count - hits, count).interval
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=5e-5)
