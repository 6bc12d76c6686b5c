"""Pieces of HTML in which every text is escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from perfetto_autoviz.reports.text import visible


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: its heading.
        kind: ``text``, ``sentence`` (which needs room), ``word`` (never broken), ``name`` (broken
            anywhere) or ``number``.
        help: what the heading means, shown when it is pointed at.
    """

    title: str
    kind: Literal["text", "sentence", "word", "name", "number"] = "number"
    help: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: what is shown.
        value: what rows are sorted by; None sorts last.
        tone: ``worse`` or ``better``, or empty.
    """

    text: str
    value: float | str | None = None
    tone: str = ""


def escape(text: str) -> str:
    """Text for an element or a quoted attribute, each character visible."""
    return html.escape(visible(text), quote=True)


def element(tag: str, text: str, **attributes: str) -> str:
    """An element that holds a text."""
    return f"<{tag}{_attributes(attributes)}>{escape(text)}</{tag}>"


def group(tag: str, parts: Iterable[str], **attributes: str) -> str:
    """An element that holds others."""
    return f"<{tag}{_attributes(attributes)}>{''.join(parts)}</{tag}>"


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], label: str) -> str:
    """A table that is sorted by the column whose heading is pressed."""
    head = group("tr", (_heading(column) for column in columns))
    body = (group("tr", map(_cell, columns, row)) for row in rows)
    whole = group("table", [group("thead", [head]), group("tbody", body)], aria_label=label)
    return group("div", [whole], class_="scroll")


def _heading(column: Column) -> str:
    about = {"title": column.help} if column.help else {}
    button = element("button", column.title, type="button", **about)
    return group("th", [button], scope="col", class_=column.kind)


def _cell(column: Column, cell: Cell) -> str:
    classes = " ".join(part for part in (column.kind, cell.tone) if part)
    return element("td", cell.text, class_=classes, data_value=_sorted_by(cell))


def _sorted_by(cell: Cell) -> str:
    if isinstance(cell.value, float) and not math.isfinite(cell.value):
        return ""
    return "" if cell.value is None else str(cell.value)


def _attributes(attributes: dict[str, str]) -> str:
    return "".join(
        # What Python keeps for itself ends in an underscore here.
        f' {name.strip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
    )
