"""Rows of a statement in three forms."""

from __future__ import annotations

import csv
import io
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.reports.query_table import csv_text, json_text, table_lines

_INTS = st.integers(-(2**63), 2**63 - 1) | st.none()
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")) | st.none()
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def _frame(rows: list[tuple[int | None, str | None, float]]) -> pd.DataFrame:
    numbers, texts, floats = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "n": pd.array(numbers, dtype="Int64"),
            "t": pd.Series(texts, dtype=object),
            "d": pd.Series(floats, dtype="float64"),
        }
    )


@given(st.lists(st.tuples(_INTS, _TEXTS, _FLOATS), min_size=1, max_size=5))
def test_json_and_csv_give_back_what_went_in(
    rows: list[tuple[int | None, str | None, float]],
) -> None:
    frame = _frame(rows)
    back = [(row["n"], row["t"], row["d"]) for row in json.loads(json_text(frame))]
    assert back == rows
    header, *lines = csv.reader(io.StringIO(csv_text(frame), newline=""))
    assert header == ["n", "t", "d"]
    for (number, text, value), line in zip(rows, lines, strict=True):
        assert line[:2] == ["" if number is None else str(number), text or ""]
        assert float(line[2]) == value


@given(st.lists(st.tuples(_INTS, _TEXTS, _FLOATS), min_size=1, max_size=5))
def test_a_table_has_one_line_per_row(rows: list[tuple[int | None, str | None, float]]) -> None:
    lines = list(table_lines(_frame(rows)))
    assert len(lines) == len(rows) + 3
    assert all(line.isprintable() for line in lines)


def test_wide_characters_keep_columns_straight() -> None:
    frame = pd.DataFrame({"name": ["层", "ab"], "n": [1, 22]})
    assert list(table_lines(frame)) == ["name   n", "----  --", "层     1", "ab    22", "(2 rows)"]


def test_what_would_steer_the_terminal_is_shown() -> None:
    frame = pd.DataFrame({"name": ["a\x1b[31mb\nc"]})
    assert list(table_lines(frame))[2] == r"a\x1b[31mb\nc"


def test_long_text_is_cut_in_tables_alone() -> None:
    frame = pd.DataFrame({"name": ["k" * 500]})
    assert list(table_lines(frame))[2] == "k" * 79 + "…"
    assert "k" * 500 in csv_text(frame)
    assert "k" * 500 in json_text(frame)


def test_too_wide_for_the_terminal_becomes_blocks() -> None:
    frame = pd.DataFrame({"name": ["k" * 100, "l"], "n": [1, 2]})
    assert list(table_lines(frame, width=60)) == [
        "- row 1 -",
        "name  " + "k" * 100,
        "n     1",
        "- row 2 -",
        "name  l",
        "n     2",
        "(2 rows)",
    ]


def test_statement_without_columns() -> None:
    frame = pd.DataFrame()
    assert (list(table_lines(frame)), csv_text(frame), json_text(frame)) == (
        ["(no rows)"],
        "",
        "[]\n",
    )


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (2e-9, "2e-09"), (1234567.25, "1234567.2")]
)
def test_doubles_in_tables(value: float, text: str) -> None:
    assert list(table_lines(pd.DataFrame({"d": [value]})))[2].strip() == text


def test_blobs_are_hexadecimal() -> None:
    assert json.loads(json_text(pd.DataFrame({"b": [b"\x00\xff"]}))) == [{"b": "00ff"}]
