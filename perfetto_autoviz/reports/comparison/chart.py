"""The waterfall of a pair as a chart."""

from __future__ import annotations

import html
from itertools import accumulate
from typing import Any

import plotly.graph_objects as go

from perfetto_autoviz.comparison.result import PairComparison
from perfetto_autoviz.reports.comparison.words import bar_words, signed
from perfetto_autoviz.reports.text import duration

_LONGER, _SHORTER, _TOTAL = "#d9822b", "#2f7fc1", "#7d8793"
"""Orange and blue are told apart by everybody; grey for the two runs."""

_ROW, _FRAME = 46, 60
"""Height in pixels of a bar with the text above it, and of the axis."""

_BAR, _BAR_TOP, _TEXT_AT = 0.42, -0.02, -0.3
"""Of a row's height: of the bar, where it starts, and where the text above it is."""

_WIDE, _NARROW = 90, 34
"""Characters of a bar's text on a screen and on a phone."""

_LONG = 1e7
"""Runs from so many ns on are shown in ms."""

_MARGIN = 0.12
"""Part of the axis that is free on either side, for the numbers beside the bars."""


_NEAR = 0.3
"""An axis that would start below this part of its end starts at 0."""


def waterfall_chart(pair: PairComparison) -> dict[str, Any]:
    """A figure for plotly.js, and the bars' texts for a narrow screen.

    Returns:
        ``data``, ``layout`` and ``narrow``, the texts; plain values. The axis need not start at
        0: a change of 1 % could not be seen then.
    """
    fall = pair.waterfall
    changes = [bar.change for bar in fall.bars]
    words = ["mean run of A", *map(bar_words, fall.bars), "mean run of B"]
    values = [fall.a, *changes, fall.b]
    size, unit = (1e6, "ms") if fall.a >= _LONG else (1e3, "µs")
    texts = [duration(fall.a), *map(signed, changes), duration(fall.b)]
    figure = go.Figure(
        go.Waterfall(
            orientation="h",
            y=list(range(len(values))),
            x=[value / size for value in values],
            measure=["absolute", *["relative"] * len(changes), "total"],
            text=texts,
            customdata=[_label(word, None) for word in words],
            hovertemplate="%{customdata}<br>%{text}<extra></extra>",
            textposition="outside",
            cliponaxis=False,
            width=_BAR,
            offset=_BAR_TOP,
            increasing={"marker": {"color": _LONGER}},
            decreasing={"marker": {"color": _SHORTER}},
            totals={"marker": {"color": _TOTAL}},
            connector={"line": {"width": 1, "color": _TOTAL}},
        )
    )
    figure.update_layout(
        height=_ROW * len(values) + _FRAME,
        margin={"l": 8, "r": 8, "t": 8, "b": 48},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        dragmode=False,
        xaxis={
            "title": {"text": f"wall time of a run in {unit}"},
            "range": [edge / size for edge in _range([fall.a, *changes])],
            "fixedrange": True,
            "zeroline": False,
        },
        yaxis={
            "range": [len(values) - 0.5, -0.5],
            "fixedrange": True,
            "showgrid": False,
            "showticklabels": False,
            "zeroline": False,
        },
        annotations=[_annotation(row, word) for row, word in enumerate(words)],
    )
    plain: dict[str, Any] = figure.to_plotly_json()
    plain["layout"].pop("template", None)
    return {**plain, "narrow": [_label(word, _NARROW) for word in words]}


def _annotation(row: int, word: str) -> dict[str, Any]:
    """The text above a bar: beside it, it would leave no room for bars on a phone."""
    return {
        "text": _label(word, _WIDE),
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": row + _TEXT_AT,
        "showarrow": False,
    }


def _range(steps: list[float]) -> list[float]:
    """From the lowest to the highest of all sums in ns, with some room; 0 if that is near."""
    sums = [*accumulate(steps)]
    low, high = min(sums), max(sums)
    room = _MARGIN * (high - low or abs(high) or 1)
    start = low - 2 * room
    return [0.0 if start < _NEAR * high else start, high + room]


def _label(word: str, most: int | None) -> str:
    """Text as plotly.js shows it: it reads some tags and entities."""
    short = word if most is None or len(word) <= most else f"{word[: most - 1]}…"
    return html.escape(short, quote=False)
