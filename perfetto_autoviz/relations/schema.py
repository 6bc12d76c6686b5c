"""How a stored relation is described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCHEMA_VERSION = 1
"""Raised when a stored relation changes so that older readers would misread it."""

SqlType = Literal["LONG", "DOUBLE", "STRING"]


@dataclass(frozen=True)
class Column:
    """One column: its name, its SQL type (any value may be NULL) and what it holds."""

    name: str
    type: SqlType
    doc: str


@dataclass(frozen=True)
class Relation:
    """A relation made by a step.

    Attributes:
        name: the short name, e.g. ``iteration``.
        doc: what a row is.
        columns: all columns, in order. A timed relation starts with ``ts`` and ``dur``.
        timed: whether a row is a span of time, stored as a slice on a visible track; a
            timed row whose ``ts`` is NULL, and every row of an untimed relation, is
            stored as an instant on the collapsed data track.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    timed: bool = False

    @property
    def source(self) -> str:
        """The private SQL name the public views read."""
        return f"_autoviz_src_{self.name}"

    @property
    def category(self) -> str:
        """The slice category under which an enriched trace stores the rows."""
        return f"autoviz.{self.name}"

    @property
    def types(self) -> dict[str, SqlType]:
        """Column name to SQL type, in order."""
        return {column.name: column.type for column in self.columns}


SPAN = (
    Column("ts", "LONG", "Start in ns; NULL if no device activity belongs to the row."),
    Column("dur", "LONG", "Duration in ns; NULL if no device activity belongs to the row."),
)
"""The columns that a timed relation starts with."""

SEGMENT = (
    Column("first_ts", "LONG", "Start in ns of the first device activity."),
    Column("first_dur", "LONG", "Duration in ns of the first device activity."),
    Column("first_pid", "LONG", "Process of the first device activity."),
    Column("first_tid", "LONG", "Thread of the first device activity."),
    Column("first_correlation", "LONG", "Correlation of the first device activity."),
    Column("first_tie", "LONG", "Number among device activities equal in all of these."),
    Column("activity_count", "LONG", "Device activities of the segment."),
)
"""A stretch of device activities: the durable key of its first one, and how many."""
