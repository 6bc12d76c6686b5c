"""Turns the engine's answer to a query into a DataFrame, a batch of cells at a time.

The answer (``perfetto.protos.QueryResult``) is row-major and tagged cell by cell: one byte
per cell names its type, and one array per type holds the values in order. The text of a
batch is one string whose cells end in NUL; it is declared as UTF-8, yet a trace may hold
any bytes, so it's decoded here with replacement characters instead of by protobuf.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfetto_autoviz.engine import wire
from perfetto_autoviz.errors import EngineError

# Field numbers of QueryResult and of its CellsBatch.
_COLUMN_NAMES, _ERROR, _BATCH = 1, 2, 3
_CELLS, _INTEGERS, _FLOATS, _BLOBS, _TEXT = 1, 2, 3, 4, 5
# CellsBatch.CellType.
NULL, INTEGER, FLOAT, STRING, BLOB = 1, 2, 3, 4, 5

Codes = npt.NDArray[np.uint8]
Objects = npt.NDArray[np.object_]


@dataclass(frozen=True)
class QueryAnswer:
    """What came back: either an error in the engine's words, or a frame."""

    error: str
    frame: pd.DataFrame


@dataclass
class _Column:
    """The cells of one column so far: a type code per row, and the values of each type."""

    codes: list[Codes] = field(default_factory=list)
    values: dict[int, list[npt.NDArray[Any]]] = field(default_factory=dict)

    def add(self, codes: Codes, ranks: dict[int, npt.NDArray[np.int32]], values: Any) -> None:
        self.codes.append(codes)
        for code, of_batch in values.items():
            chosen = of_batch[ranks[code][codes == code]]
            if chosen.size:
                self.values.setdefault(code, []).append(chosen)

    def joined(self, code: int) -> npt.NDArray[Any]:
        parts = self.values.get(code)
        if not parts:
            return np.zeros(0)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def decode_query_result(answer: bytes) -> QueryAnswer:
    """Decodes a serialised ``QueryResult``.

    Returns:
        The frame has int64 columns (Int64 where NULLs occur), float64 (NULL is NaN; integers
        among them are converted), and object columns of ``str``, ``bytes`` and ``None``. A
        column without any value is an object column of ``None``. Repeated column names get
        ``:1``, ``:2``, … as in SQLite.

    Raises:
        EngineError: the bytes are no QueryResult.
    """
    names: list[str] = []
    error = ""
    batches: list[memoryview] = []
    try:
        for number, value in wire.iter_fields(memoryview(answer)):
            if isinstance(value, int):
                continue
            if number == _COLUMN_NAMES:
                names.append(_text(value))
            elif number == _ERROR:
                error = _text(value)
            elif number == _BATCH:
                batches.append(value)
        return QueryAnswer(error, _frame(_unique_names(names), batches))
    except (ValueError, IndexError) as problem:
        raise EngineError(f"the engine's answer can't be read: {problem}") from problem


def _frame(names: list[str], batches: list[memoryview]) -> pd.DataFrame:
    columns = [_Column() for _ in names]
    memo: dict[str, str] = {}
    for batch in batches:
        if names:
            _add_batch(columns, batch, memo)
    return pd.DataFrame(
        {name: _series(column) for name, column in zip(names, columns, strict=True)}
    )


def _add_batch(columns: list[_Column], batch: memoryview, memo: dict[str, str]) -> None:
    codes, values = _read_batch(batch, memo)
    if not codes.size:
        return
    by_column = codes.reshape(-1, len(columns))
    ranks = {
        code: (np.cumsum(codes == code, dtype=np.int32) - 1).reshape(by_column.shape)
        for code in values
    }
    for index, column in enumerate(columns):
        own = by_column[:, index]
        column.add(own, {code: rank[:, index] for code, rank in ranks.items()}, values)


def _read_batch(
    batch: memoryview, memo: dict[str, str]
) -> tuple[Codes, dict[int, npt.NDArray[Any]]]:
    parts: dict[int, list[memoryview]] = {}
    for number, value in wire.iter_fields(batch):
        if not isinstance(value, int):
            parts.setdefault(number, []).append(value)
    codes: Codes = np.frombuffer(b"".join(parts.get(_CELLS, ())), dtype=np.uint8)
    values: dict[int, npt.NDArray[Any]] = {}
    if _INTEGERS in parts:
        values[INTEGER] = wire.decode_packed_varints(b"".join(parts[_INTEGERS]))
    if _FLOATS in parts:
        values[FLOAT] = np.frombuffer(b"".join(parts[_FLOATS]), dtype="<f8")
    if _TEXT in parts:
        values[STRING] = _strings(b"".join(parts[_TEXT]), memo)
    if _BLOBS in parts:
        values[BLOB] = _objects([bytes(blob) for blob in parts[_BLOBS]])
    _check_counts(codes, values)
    return codes, values


def _check_counts(codes: Codes, values: dict[int, npt.NDArray[Any]]) -> None:
    counts = np.bincount(codes, minlength=BLOB + 1).tolist()
    expected = [0, counts[NULL], *(len(values.get(code, ())) for code in range(INTEGER, BLOB + 1))]
    if counts != expected:
        raise ValueError(f"cell counts by type are {counts}, values {expected}")


def _strings(text: bytes, memo: dict[str, str]) -> Objects:
    strings = text.decode("utf-8", errors="replace").split("\0")
    strings.pop()
    # Kernel names repeat by the thousand: equal strings share one object, which keeps
    # a large frame small and its later comparisons fast.
    return _objects(list(map(memo.setdefault, strings, strings)))


def _objects(items: list[Any]) -> Objects:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _series(column: _Column) -> pd.Series[Any]:
    codes = np.concatenate(column.codes) if column.codes else np.zeros(0, dtype=np.uint8)
    kinds = set(column.values)
    if kinds == {INTEGER}:
        return _integers(codes, column.joined(INTEGER))
    if kinds and kinds <= {INTEGER, FLOAT}:
        return pd.Series(_floats(codes, column))
    mixed = np.full(codes.size, None, dtype=object)
    for code in kinds:
        mixed[codes == code] = column.joined(code)
    return pd.Series(mixed, dtype=object)


def _integers(codes: Codes, values: npt.NDArray[np.int64]) -> pd.Series[Any]:
    missing = codes == NULL
    if not missing.any():
        return pd.Series(values)
    filled = np.zeros(codes.size, dtype=np.int64)
    filled[~missing] = values
    return pd.Series(pd.arrays.IntegerArray(filled, missing))


def _floats(codes: Codes, column: _Column) -> npt.NDArray[np.float64]:
    filled = np.full(codes.size, np.nan)
    for code in column.values:
        filled[codes == code] = column.joined(code)
    return filled


def _text(value: memoryview) -> str:
    return bytes(value).decode("utf-8", errors="replace")


def _unique_names(names: list[str]) -> list[str]:
    seen: set[str] = set()
    unique: list[str] = []
    for name in names:
        candidate, copies = name, 0
        while candidate in seen:
            copies += 1
            candidate = f"{name}:{copies}"
        seen.add(candidate)
        unique.append(candidate)
    return unique
