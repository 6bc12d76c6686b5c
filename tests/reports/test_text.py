"""How numbers read."""

from __future__ import annotations

import pytest

from perfetto_autoviz.reports.text import (
    duration,
    interval,
    listed,
    microseconds,
    plural,
    share,
    size,
)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1.00 µs"),
        (10_743_181, "10.74 ms"),
        (1_008_570_000, "1.01 s"),
    ],
)
def test_duration(ns: int, text: str) -> None:
    assert duration(ns) == text


def test_microseconds() -> None:
    assert microseconds(161_681.6) == "161.68"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "0.0 %"),
        (0.0001, "<0.1 %"),
        (0.0004999, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.5, "50.0 %"),
        (0.9999, ">99.9 %"),
        (1.0, "100.0 %"),
    ],
)
def test_share_never_rounds_something_to_nothing(part: float, text: str) -> None:
    assert share(part) == text


def test_size() -> None:
    assert [size(n) for n in (1023, 1024, 3 << 20, 5 << 30)] == [
        "1023 B",
        "1.0 KiB",
        "3.0 MiB",
        "5.0 GiB",
    ]


def test_plural_interval_and_list() -> None:
    assert [plural(1, "copy", "copies"), plural(1993, "event")] == ["1 copy", "1,993 events"]
    assert [interval([4]), interval([9, 4, 6])] == ["4", "4-9"]
    assert [listed("ab", 2), listed("abcd", 2, "; ")] == ["a, b", "a; b and 2 more"]
