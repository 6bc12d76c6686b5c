"""The waterfall of a pair as a picture, for where no script runs."""

from __future__ import annotations

from collections.abc import Iterator

from perfetto_autoviz.reports.comparison.fall import COLOURS, FallRow, axis_range, fall_rows
from perfetto_autoviz.reports.page.html import element, group
from perfetto_autoviz.steps.compare import Waterfall

_WIDTH, _ROW, _PAD = 800, 38, 12
"""Sizes in pixels: of the picture, of a bar with the text above it, and around them."""

_TEXT, _BAR_TOP, _BAR = 11, 16, 15
"""Of a row: where the text's line is, where the bar starts, and how high it is."""

_LETTERS = 95
"""Characters of a bar's text."""

_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1c2127}"
    "@media(prefers-color-scheme:dark){text{fill:#e5e8eb}}"
)


def waterfall_picture(waterfall: Waterfall, title: str) -> str:
    """The waterfall as SVG."""
    rows = fall_rows(waterfall)
    low, high = axis_range(rows)
    scale = (_WIDTH - 2 * _PAD) / (high - low)
    height = _ROW * len(rows) + 2 * _PAD
    parts = [element("title", title), element("style", _STYLE)]
    for at, row in enumerate(rows):
        parts += _row(row, _PAD + at * _ROW, low, scale)
    whole = group(
        "svg",
        parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=f"{_WIDTH}",
        role="img",
    )
    return f"{whole}\n"


def _row(row: FallRow, top: int, low: float, scale: float) -> Iterator[str]:
    left, right = sorted(_PAD + (max(ns, low) - low) * scale for ns in (row.start, row.end))
    shown = row.word if len(row.word) <= _LETTERS else f"{row.word[: _LETTERS - 1]}…"
    yield element("text", shown, x=f"{_PAD}", y=f"{top + _TEXT}")
    yield element(
        "rect",
        "",
        x=f"{left:.2f}",
        y=f"{top + _BAR_TOP}",
        width=f"{max(right - left, 1):.2f}",
        height=f"{_BAR}",
        fill=COLOURS[row.tone],
    )
    to_left = row.tone == "shorter"
    yield element(
        "text",
        row.text,
        x=f"{left - 4 if to_left else right + 4:.2f}",
        y=f"{top + _BAR_TOP + _TEXT + 1}",
        text_anchor="end" if to_left else "start",
    )
