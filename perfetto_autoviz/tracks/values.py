"""Takes typed arrays out of a frame's columns; a missing value is not present."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Present = npt.NDArray[np.bool_]


def integers(column: pd.Series[Any]) -> tuple[npt.NDArray[np.int64], Present]:
    """The values of a LONG column, exact over all 64 bits; 0 where missing.

    Raises:
        TypeError: a value is no whole number.
        OverflowError: a value doesn't fit into 64 bits.
    """
    present = column.notna().to_numpy(dtype=bool)
    values = np.zeros(len(column), dtype=np.int64)
    kept = column[present]
    if pd.api.types.is_signed_integer_dtype(column.dtype):
        values[present] = kept.to_numpy(dtype=np.int64)
    else:
        values[present] = [_whole(value) for value in kept.tolist()]
    return values, present


def doubles(column: pd.Series[Any]) -> tuple[npt.NDArray[np.float64], Present]:
    """The values of a DOUBLE column; NaN counts as missing, as it does in SQL."""
    values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    return values, ~np.isnan(values)


def _whole(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    raise TypeError(f"{value!r} stands where a whole number should")
