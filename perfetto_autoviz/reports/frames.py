"""Single values out of frames, NULL as None."""

from __future__ import annotations

from typing import Any

import pandas as pd


def text(value: Any) -> str | None:
    """A cell with text."""
    return None if pd.isna(value) else str(value)


def integer(value: Any) -> int | None:
    """A cell with an integer."""
    return None if pd.isna(value) else int(value)
