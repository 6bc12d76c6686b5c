"""Frames that hold a stored relation: exact columns, exact types, NULL as NA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from perfetto_autoviz.relations import Relation, SqlType


def relation_frame(relation: Relation, columns: Mapping[str, Any]) -> pd.DataFrame:
    """A frame of a relation from its columns.

    Args:
        relation: the relation.
        columns: one array-like per column; a column that is missing is all NULL.

    Returns:
        The frame with the relation's columns in order, integers as ``Int64``, doubles as
        ``Float64``, text as ``object`` with None for NULL.
    """
    unknown = set(columns) - set(relation.types)
    if unknown:
        raise KeyError(f"{relation.name} has no column {', '.join(sorted(unknown))}")
    length = max((len(values) for values in columns.values()), default=0)
    index = pd.RangeIndex(length)
    return pd.DataFrame(
        {name: _column(columns.get(name), type_, index) for name, type_ in relation.types.items()},
        index=index,
    )


def _column(values: Any, type_: SqlType, index: pd.RangeIndex) -> pd.Series[Any]:
    if values is None:
        values = [None] * len(index)
    if type_ == "STRING":
        column = pd.Series(list(values), index=index, dtype=object)
        return column.where(column.notna(), None)
    column = pd.Series(values, index=index)
    return column.astype("Int64") if type_ == "LONG" else column.astype("Float64")
