"""The waterfall of a pair as an interactive chart."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from perfetto_autoviz.reports.comparison.fall import COLOURS, axis_range, fall_rows
from perfetto_autoviz.reports.page.figure import label, plain
from perfetto_autoviz.steps.compare import Waterfall

_ROW, _FRAME = 46, 60
"""Height in pixels of a bar with the text above it, and of the axis."""

_BAR, _BAR_TOP, _TEXT_AT = 0.42, -0.02, -0.3
"""Of a row's height: of the bar, where it starts, and where the text above it is."""

_WIDE, _NARROW = 90, 34
"""Characters of a bar's text on a screen and on a phone."""

_LONG = 1e7
"""Runs from so many ns on are shown in ms."""


def waterfall_chart(waterfall: Waterfall) -> dict[str, Any]:
    """A figure for plotly.js, and the bars' texts for a narrow screen.

    Returns:
        ``data``, ``layout`` and ``narrow``, the texts; plain values.
    """
    rows = fall_rows(waterfall)
    size, unit = (1e6, "ms") if waterfall.a >= _LONG else (1e3, "µs")
    figure = go.Figure(
        go.Waterfall(
            orientation="h",
            y=list(range(len(rows))),
            x=[row.value / size for row in rows],
            measure=["absolute", *["relative"] * len(waterfall.bars), "total"],
            text=[row.text for row in rows],
            customdata=[label(row.word) for row in rows],
            hovertemplate="%{customdata}<br>%{text}<extra></extra>",
            textposition="outside",
            cliponaxis=False,
            width=_BAR,
            offset=_BAR_TOP,
            increasing={"marker": {"color": COLOURS["longer"]}},
            decreasing={"marker": {"color": COLOURS["shorter"]}},
            totals={"marker": {"color": COLOURS["total"]}},
            connector={"line": {"width": 1, "color": COLOURS["total"]}},
        )
    )
    figure.update_layout(
        height=_ROW * len(rows) + _FRAME,
        margin={"l": 8, "r": 8, "t": 8, "b": 48},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        dragmode=False,
        xaxis={
            "title": {"text": f"wall time of a run in {unit}"},
            "range": [edge / size for edge in axis_range(rows)],
            "fixedrange": True,
            "zeroline": False,
        },
        yaxis={
            "range": [len(rows) - 0.5, -0.5],
            "fixedrange": True,
            "showgrid": False,
            "showticklabels": False,
            "zeroline": False,
        },
        annotations=[_annotation(at, row.word) for at, row in enumerate(rows)],
    )
    return plain(figure, [label(row.word, _NARROW) for row in rows])


def _annotation(at: int, word: str) -> dict[str, Any]:
    """The text above a bar: beside it, it would leave no room for bars on a phone."""
    return {
        "text": label(word, _WIDE),
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": at + _TEXT_AT,
        "showarrow": False,
    }
