"""CSV files: right, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from perfetto_autoviz.reports.csv import csv_text


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", '=HYPERLINK("x")'])
def test_no_text_is_a_formula(name: str) -> None:
    text = csv_text(pd.DataFrame({"op": [name], "difference": [-5.0]}))
    _, (op, difference) = csv.reader(io.StringIO(text, newline=""))
    assert op == f"'{name}"
    # Numbers stay numbers.
    assert difference == "-5.0"


def test_a_carriage_return_starts_no_row() -> None:
    text = csv_text(pd.DataFrame({"op": ["a\r=1+1"]}))
    assert [*csv.reader(io.StringIO(text, newline=""))] == [["op"], ["a =1+1"]]


def test_other_text_stays_as_it_is() -> None:
    names = ["void f<a, b>(c)", 'a "quoted" name', "two\nlines", "", "x=1"]
    text = csv_text(pd.DataFrame({"op": names}))
    assert list(pd.read_csv(io.StringIO(text), keep_default_na=False)["op"]) == names
