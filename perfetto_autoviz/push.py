"""A frame becomes a typed table in a running trace processor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.engine import Engine
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.relations import SqlType

ROWS_PER_INSERT = 20_000
"""Rows of one INSERT: larger statements grow the engine's heap, smaller ones cost round trips."""

CHARACTERS_PER_INSERT = 8 << 20
"""Bound on the text of one INSERT, far below the engine's limit of 64 MiB a message."""

_MANTISSA_BITS = 53
_EXACT_POWER = 50  # 2**50 has 16 digits, which every decimal reader takes exactly

_STAGING = "_autoviz_push_staging"
_AFFINITY: dict[SqlType, str] = {"LONG": "INTEGER", "DOUBLE": "REAL", "STRING": "TEXT"}


def push_table(
    engine: Engine, name: str, frame: pd.DataFrame, types: Mapping[str, SqlType] | None = None
) -> None:
    """Makes a typed table of a frame, replacing one of that name.

    Args:
        engine: where.
        name: name of the table.
        frame: the rows; NA, None and NaN become NULL.
        types: SQL type of each column; derived from the frame where not given.

    Raises:
        UsageError: a column has no type, or a value that its type can't hold.
    """
    types = dict(types) if types is not None else derived_types(frame)
    missing = set(types) ^ set(frame.columns)
    if missing:
        raise UsageError(
            f"table {name}: columns and types differ in {', '.join(sorted(map(str, missing)))}"
        )
    columns = ", ".join(f"{_quoted(c)} {_AFFINITY[t]}" for c, t in types.items())
    engine.execute(f"DROP TABLE IF EXISTS {_STAGING}")
    engine.execute(f"CREATE TABLE {_STAGING}({columns})")
    for statement in _inserts(frame, types):
        engine.execute(statement)
    schema = ", ".join(f"{c} {t}" for c, t in types.items())
    engine.execute(
        f"CREATE OR REPLACE PERFETTO TABLE {name}({schema}) AS"
        f" SELECT * FROM {_STAGING} ORDER BY rowid; DROP TABLE {_STAGING}"
    )


def derived_types(frame: pd.DataFrame) -> dict[str, SqlType]:
    """SQL types by the frame's own: integers and booleans, floats, anything else as text."""

    def type_of(dtype: Any) -> SqlType:
        if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_integer_dtype(dtype):
            return "LONG"
        return "DOUBLE" if pd.api.types.is_float_dtype(dtype) else "STRING"

    return {str(name): type_of(dtype) for name, dtype in frame.dtypes.items()}


def _inserts(frame: pd.DataFrame, types: Mapping[str, SqlType]) -> Iterator[str]:
    if frame.empty:
        return
    literals = [_literals(frame[name], type_) for name, type_ in types.items()]
    rows = ["(" + ",".join(row) + ")" for row in zip(*literals, strict=True)]
    start = 0
    while start < len(rows):
        end = min(start + ROWS_PER_INSERT, len(rows))
        while end > start + 1 and sum(map(len, rows[start:end])) > CHARACTERS_PER_INSERT:
            end = start + (end - start) // 2
        yield f"INSERT INTO {_STAGING} VALUES " + ",".join(rows[start:end])
        start = end


def _literals(column: pd.Series[Any], type_: SqlType) -> list[str]:
    literal = _LITERAL[type_]
    null = column.isna().to_numpy(bool)
    values = column.tolist()
    try:
        return [
            "NULL" if absent else literal(value) for absent, value in zip(null, values, strict=True)
        ]
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"column {column.name} holds what {type_} can't: {error}") from error


def _long(value: Any) -> str:
    number = int(value)
    if number != value:
        raise ValueError(f"{value} is no integer")
    if not np.iinfo(np.int64).min <= number <= np.iinfo(np.int64).max:
        raise ValueError(f"{value} needs more than 64 bits")
    return str(number)


def _double(value: Any) -> str:
    number = float(value)
    if math.isinf(number):
        return "9e999" if number > 0 else "-9e999"
    if number.is_integer() and abs(number) < 2**_MANTISSA_BITS:
        return repr(number)
    # The engine's SQL rounds long decimal fractions; whole numbers and powers of two are exact.
    fraction, exponent = math.frexp(number)
    literal, exponent = f"{int(fraction * 2**_MANTISSA_BITS)}.0", exponent - _MANTISSA_BITS
    while exponent:
        step = min(abs(exponent), _EXACT_POWER)
        literal += f"{'*' if exponent > 0 else '/'}{2**step}.0"
        exponent -= step if exponent > 0 else -step
    return literal


def _string(value: Any) -> str:
    # SQL text ends at a NUL character.
    text = str(value).replace("\0", "\N{REPLACEMENT CHARACTER}")
    if "\N{NO-BREAK SPACE}" in text:
        # The engine takes it for a space that was pasted by mistake, even inside a text.
        return f"CAST(X'{text.encode().hex()}' AS TEXT)"
    return "'" + text.replace("'", "''") + "'"


_LITERAL: dict[SqlType, Callable[[Any], str]] = {
    "LONG": _long,
    "DOUBLE": _double,
    "STRING": _string,
}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
