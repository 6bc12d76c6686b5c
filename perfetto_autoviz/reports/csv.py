"""CSV files for people, who open them in spreadsheets."""

from __future__ import annotations

import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t")
"""How a cell starts that a spreadsheet would run; kernels are named by whoever wrote them."""


def csv_text(frame: pd.DataFrame) -> str:
    """CSV with a header, in which no text is a formula."""
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    safe = frame.assign(**{str(name): frame[name].map(_safe) for name in texts})
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _safe(value: object) -> object:
    if not isinstance(value, str):
        return value
    # A carriage return isn't quoted, and would start a row.
    line = value.replace("\r", " ")
    return f"'{line}" if line.startswith(_FORMULA) else line
