"""The changes that matter most, and how they read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfetto_autoviz.comparison import Choices
from perfetto_autoviz.reports.comparison.changes import largest_changes
from perfetto_autoviz.reports.comparison.words import (
    change_words,
    operations_words,
    percent,
    remarks,
    signed,
    sure_words,
)
from tests.comparison.builds import compared, letters, nested
from tests.steps.compare.builds import layers


def test_equal_changes_count_together_and_once_per_run() -> None:
    # 3 runs; two of its four kernels have another name, and all the same duration.
    comparison = letters(["abab"], ["acac"], runs=6)
    (change,) = [one for one in largest_changes(comparison) if one.kind == "renamed"]
    assert (change.places, change.effect, change.runs, change.total) == (2, 0, 6, 0)
    assert change_words(change) == "renamed (2 places)"
    assert operations_words(change) == "b → c"


def test_a_layer_counts_once_though_it_lies_in_a_step() -> None:
    # 5 steps of 3 layers, in which y takes 20 ns, then 27: more than the clock's resolution.
    a = nested("az", [("x", 30), ("y", 20)], repeats=3, runs=5)
    b = nested("az", [("x", 30), ("y", 27)], repeats=3, runs=5)
    (change,) = largest_changes(compared(a, b))
    assert (change.pair, change.kind, change.ops_a) == ("P1.1-P1.1", "same", ("y",))
    assert (change.effect, change.runs, change.total) == (7, 15, 105)
    assert change.significant
    assert change_words(change) == "slower"
    assert sure_words(change) == "significant"


def test_nothing_changes_between_equal_builds() -> None:
    same = nested("az", [("x", 30), ("y", 20)], repeats=3, runs=5)
    assert largest_changes(compared(same, same)) == []


def test_few_runs_are_not_judged() -> None:
    found = largest_changes(compared(layers(["ab"], runs=3), layers(["ab"], runs=3, dur=11)))
    assert {change.significant for change in found} == {None}
    assert {sure_words(change) for change in found if change.kind == "same"} == {"not judged"}


def test_only_so_many_are_told() -> None:
    comparison = letters(["abcdefghijkl"], ["ABCDEFGHIJKL"], runs=2)
    manual = compared(comparison.a, comparison.b, Choices(pairs=("P1:P1",)))
    assert len(largest_changes(manual)) == 10
    assert len(largest_changes(manual, most=2)) == 2


def test_time_between_kernels_is_told() -> None:
    a = layers(["ab"], runs=5, dur=10)
    b = layers(["ab"], runs=5, dur=10)
    b.kernels.ts.setflags(write=True)
    # The second kernel of each run starts 4 ns later.
    b.kernels.ts[1::2] += 4
    (change,) = largest_changes(compared(a, b))
    assert (change.kind, change.effect, change.total) == ("idle", 4, 20)
    assert change_words(change) == "more idle"
    assert operations_words(change) == "no kernel of the run runs"


@pytest.mark.parametrize(
    ("ns", "text"), [(4100, "+4.10 µs"), (-12, "−12 ns"), (0, "0 ns"), (2.5e6, "+2.50 ms")]
)
def test_signs(ns: float, text: str) -> None:
    assert signed(ns) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.041, "+4.1 %"), (-0.5, "−50.0 %"), (0.0, "0.0 %"), (-0.0001, "0.0 %"), (float("nan"), "-")],
)
def test_percents(ratio: float, text: str) -> None:
    assert percent(ratio) == text


def test_remarks_name_what_has_no_partner() -> None:
    lines = list(remarks(letters(["abc", "VW"], ["abc"], runs=2)))
    assert "Without partner in A: P2 (2 runs)." in lines
    assert "In no pattern of the other build: 2 operations of A." in lines


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (("decode", "mixed"), ("decode", "prefill"), "decode, mixed and prefill"),
        (("decode",), ("prefill",), "decode and prefill"),
        (("decode",), ("decode",), None),
        ((), (), None),
    ],
)
def test_remarks_say_what_phases_are_mixed(
    a: tuple[str, ...], b: tuple[str, ...], told: str | None
) -> None:
    found = letters(["abc"], ["abc"], runs=2)
    infos = {"info_a": replace(found.info_a, phases=a), "info_b": replace(found.info_b, phases=b)}
    lines = [line for line in remarks(replace(found, **infos)) if "--steady" in line]
    assert [line.split(" steps ")[0] for line in lines] == ([f"Runs in {told}"] if told else [])
    assert not [*remarks(replace(found, **infos, steady="why"))][1:]


def test_remarks_say_where_b_starts() -> None:
    lines = list(remarks(letters(["abcd"], ["cdab"])))
    assert "P1 compares with P1 read from its kernel 2." in lines


def test_remarks_say_when_the_other_assignment_differs() -> None:
    # By sets and sequences: P1 is most like B's P1, but P2 has no other partner than that.
    a = layers(["abcdefgh", "abcdefxy"])
    b = layers(["abcdefgh", "abcdefgi"])
    assert not [line for line in remarks(compared(a, b)) if "assignment" in line]
    a = layers(["abcdefgh", "abcxyzuv"])
    b = layers(["abcdefxy", "abcdeklm"])
    told = [line for line in remarks(compared(a, b, Choices(threshold=0.1))) if "differs" in line]
    differs = compared(a, b, Choices(threshold=0.1)).matching.differs
    assert bool(told) == differs
