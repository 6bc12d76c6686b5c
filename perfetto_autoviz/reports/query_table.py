"""The rows of a statement as a table, CSV or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from rich.cells import cell_len, set_cell_size

from perfetto_autoviz.reports.text import visible

_GAP = "  "
_NULL = ""
_DIGITS = 6
"""Digits of a double in a table; CSV and JSON give all of them."""
_LONGEST_CELL = 80
"""Longest text in a table, as kernel names have hundreds of characters; what is longer ends
in an ellipsis. Blocks, CSV and JSON give all of it."""


def table_lines(frame: pd.DataFrame, width: int | None = None) -> Iterator[str]:
    """Lines of a table; where it's wider than `width`, a block of lines for each row.

    Args:
        frame: the rows.
        width: columns of the terminal; None for as wide as it gets.
    """
    if not len(frame.columns):
        yield "(no rows)"
        return
    names = [str(name) for name in frame.columns]
    cells = [[_cell(value) for value in frame.iloc[:, i].tolist()] for i in range(len(names))]
    short = [[_shortened(cell) for cell in column] for column in cells]
    widths = [
        max(map(cell_len, (name, *column))) for name, column in zip(names, short, strict=True)
    ]
    if width is None or sum(widths) + len(_GAP) * (len(widths) - 1) <= width:
        yield from _grid(frame, names, short, widths)
    else:
        yield from _blocks(names, cells)
    yield f"({len(frame):,} {'row' if len(frame) == 1 else 'rows'})"


def csv_text(frame: pd.DataFrame) -> str:
    """CSV with a header; NULL is an empty field.

    It is for programs: texts are as the engine has them, also those that a spreadsheet would
    take for formulas.
    """
    if not len(frame.columns):
        return ""
    return str(frame.to_csv(index=False, lineterminator="\n"))


def json_text(frame: pd.DataFrame) -> str:
    """A JSON list with one object per row; NULL, and a double that is no number, is null."""
    names = [str(name) for name in frame.columns]
    columns = [[_plain(v) for v in frame.iloc[:, i].tolist()] for i in range(len(names))]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return "[" + ",\n ".join(lines) + "]\n"


def _grid(
    frame: pd.DataFrame, names: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int]
) -> Iterator[str]:
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    yield _line(names, widths, numeric)
    yield _GAP.join("-" * width for width in widths)
    for row in zip(*cells, strict=True):
        yield _line(row, widths, numeric)


def _line(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (
        " " * (width - cell_len(cell)) + cell if right else set_cell_size(cell, width)
        for cell, width, right in zip(row, widths, numeric, strict=True)
    )
    return _GAP.join(padded).rstrip()


def _blocks(names: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterator[str]:
    width = max(map(cell_len, names))
    for number, row in enumerate(zip(*cells, strict=True), 1):
        yield f"- row {number} -"
        for name, cell in zip(names, row, strict=True):
            yield f"{set_cell_size(name, width)}{_GAP}{cell}".rstrip()


def _cell(value: Any) -> str:
    value = _plain(value)
    if value is None:
        return _NULL
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}" if abs(value) < 10**_DIGITS else f"{value:.1f}"
    return visible(str(value))


def _shortened(cell: str) -> str:
    if cell_len(cell) <= _LONGEST_CELL:
        return cell
    return set_cell_size(cell, _LONGEST_CELL - 1) + "…"


def _plain(value: Any) -> Any:
    """A cell as JSON knows it."""
    if isinstance(value, bytes):
        return value.hex()
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
