from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from perfetto_autoviz.engine.decode import decode_query_result
from perfetto_autoviz.errors import EngineError

MESSAGES = ProtoFactory(PlatformDelegate())
CODES = {type(None): 1, int: 2, float: 3, str: 4, bytes: 5}

INTEGERS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
FLOATS = st.one_of(st.none(), st.floats(allow_nan=False))
TEXTS = st.one_of(st.none(), st.text(st.characters(exclude_characters="\0", codec="utf-8")))
BLOBS = st.one_of(st.none(), st.binary(max_size=9))


def encoded(names: list[str], *batches: list[list[Any]]) -> bytes:
    """Rows as the engine sends them, written by protobuf's own serialiser."""
    result = MESSAGES.QueryResult(column_names=names)
    for rows in batches:
        cells = [cell for row in rows for cell in row]
        result.batch.add(
            cells=[CODES[type(cell)] for cell in cells],
            varint_cells=[cell for cell in cells if type(cell) is int],
            float64_cells=[cell for cell in cells if type(cell) is float],
            string_cells="".join(cell + "\0" for cell in cells if type(cell) is str),
            blob_cells=[cell for cell in cells if type(cell) is bytes],
        )
    return bytes(result.SerializeToString())


def frame(names: list[str], *batches: list[list[Any]]) -> pd.DataFrame:
    return decode_query_result(encoded(names, *batches)).frame


@settings(deadline=None)
@given(
    st.lists(st.tuples(INTEGERS, FLOATS, TEXTS, BLOBS, st.none()), max_size=30),
    st.integers(0, 30),
)
def test_tables_come_back(rows: list[tuple[Any, ...]], cut: int) -> None:
    lists = [list(row) for row in rows]
    table = frame(["i", "f", "s", "b", "n"], lists[:cut], lists[cut:])
    assert len(table) == len(rows)
    for index, name in enumerate(table.columns):
        for got, row in zip(table[name], rows, strict=True):
            wanted = row[index]
            if wanted is None:
                assert got is None or got is pd.NA or math.isnan(got)
            else:
                assert got == wanted
                assert isinstance(got, type(wanted) if index != 0 else (int, np.integer))


def test_types() -> None:
    table = frame(["i", "n", "f", "s"], [[1, 2**63 - 1, 0.5, "a"], [2, None, None, None]])
    assert [str(dtype) for dtype in table.dtypes] == ["int64", "Int64", "float64", "object"]
    assert table["n"][0] == 2**63 - 1
    assert table["n"][1] is pd.NA
    assert math.isnan(table["f"][1])
    assert table["s"].tolist() == ["a", None]


def test_integers_among_floats_become_floats() -> None:
    table = frame(["x"], [[1], [2.5], [None]])
    assert table["x"].dtype == np.float64
    assert table["x"].tolist()[:2] == [1.0, 2.5]


def test_text_among_numbers_stays_as_it_is() -> None:
    table = frame(["x"], [[1], ["one"]], [[None], [b"\x01"], [1.5]])
    assert table["x"].tolist() == [1, "one", None, b"\x01", 1.5]


def test_a_type_that_changes_between_batches() -> None:
    assert frame(["x"], [[None], [None]], [[7]])["x"].tolist() == [pd.NA, pd.NA, 7]


def test_no_rows() -> None:
    table = frame(["a", "b"], [])
    assert table.shape == (0, 2)
    assert list(table.columns) == ["a", "b"]
    assert frame([]).shape == (0, 0)


def test_repeated_names_are_told_apart() -> None:
    table = frame(["id", "id", "name", "id"], [[1, 2, "x", 3]])
    assert list(table.columns) == ["id", "id:1", "name", "id:2"]
    assert table.iloc[0].tolist() == [1, 2, "x", 3]


def test_invalid_utf8_is_replaced_and_keeps_its_row() -> None:
    # column "s"; one batch: two STRING cells, text ff 61 00 62 00
    answer = b"\x0a\x01s" + b"\x1a\x0b" + b"\x0a\x02\x04\x04" + b"\x2a\x05\xffa\0b\0"
    assert decode_query_result(answer).frame["s"].tolist() == ["\ufffda", "b"]


def test_equal_strings_share_one_object() -> None:
    table = frame(["s"], [["kernel"]], [["kernel"]])
    assert table["s"][0] is table["s"][1]


def test_error_is_handed_on() -> None:
    answer = MESSAGES.QueryResult(error="no such table: x").SerializeToString()
    assert decode_query_result(answer).error == "no such table: x"


@pytest.mark.parametrize(
    "answer",
    [
        b"\xff\xff\xff",
        b"\x0a\x01s\x1a\x04\x0a\x02\x04\x04",  # two text cells without any text
        b"\x0a\x01s\x0a\x01t\x1a\x05\x0a\x03\x01\x01\x01",  # three cells in two columns
    ],
)
def test_broken_answers_are_refused(answer: bytes) -> None:
    with pytest.raises(EngineError, match="can't be read"):
        decode_query_result(answer)
