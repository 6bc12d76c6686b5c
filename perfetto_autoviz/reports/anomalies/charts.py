"""Charts of abnormal runs: all durations of a pattern, and what the network makes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from perfetto_autoviz.reports.page.figure import label, plain

COLOURS = {
    "duration": "#d97706",
    "kernel": "#dc2626",
    "drift": "#7c3aed",
    "sequence": "#db2777",
    "normal": "#64748b",
    "rebuilt": "#0d9488",
}
"""By test, and of what is normal."""

MOST_POINTS = 4_000
"""Runs that are drawn as they are. Of more, each stretch is drawn by its shortest and its longest:
drawing all would need WebGL, of which a page may have few charts, and some browsers none."""

_HEIGHT = 320
_LABEL = 28


def series_chart(runs: pd.DataFrame, flagged: pd.DataFrame) -> dict[str, Any]:
    """Durations of all runs of a pattern on one rank in their order, flagged ones coloured.

    Args:
        runs: ``number`` and ``dur`` in ns, by number.
        flagged: rows of the relation ``run_anomaly`` with ``number``.
    """
    runs = _outline(runs)
    figure = go.Figure(
        go.Scatter(
            x=runs["number"].astype(int).tolist(),
            y=(runs["dur"].astype(float) / 1_000).tolist(),
            mode="markers",
            marker={"size": 4, "color": COLOURS["normal"]},
            name="run",
            hovertemplate="#%{x}: %{y:.1f} µs<extra></extra>",
        )
    )
    for test, own in flagged.groupby("test"):
        figure.add_trace(
            go.Scatter(
                x=own["number"].astype(int).tolist(),
                y=(own["dur"].astype(float) / 1_000).tolist(),
                mode="markers",
                marker={"size": 8, "color": COLOURS[str(test)]},
                name=str(test),
                text=[label(text) for text in own["explanation"]],
                hovertemplate="#%{x}: %{text}<extra></extra>",
            )
        )
    return _laid_out(figure, "run", "duration in µs")


def rebuilt_chart(
    ops: Sequence[str],
    times: NDArray[np.float64],
    usual: NDArray[np.float64],
    rebuilt: NDArray[np.float64],
    channel: str,
) -> dict[str, Any]:
    """One channel of a run by position: as it was, as it is normally, as it is reconstructed.

    Args:
        ops: operation at each position.
        times: in ns, NaN where nothing ran.
        usual: normal times in ns.
        rebuilt: what the network reconstructs, in ns.
        channel: name of the channel.
    """
    figure = go.Figure()
    names = [label(op, _LABEL) for op in ops]
    for name, values, colour in (
        ("normal", usual, COLOURS["normal"]),
        ("reconstruction", rebuilt, COLOURS["rebuilt"]),
        ("run", times, COLOURS["kernel"]),
    ):
        figure.add_trace(
            go.Scatter(
                x=list(range(len(ops))),
                y=[None if np.isnan(value) else round(float(value) / 1_000, 3) for value in values],
                mode="lines+markers" if len(ops) <= 100 else "lines",
                name=name,
                line={"color": colour, "width": 1},
                text=names,
                hovertemplate="%{x} %{text}: %{y:.2f} µs<extra></extra>",
            )
        )
    return _laid_out(figure, "position", f"{channel} in µs")


def _outline(runs: pd.DataFrame) -> pd.DataFrame:
    """All runs, or of many those that show how far each stretch of them reaches."""
    if len(runs) <= MOST_POINTS:
        return runs
    stretch = np.arange(len(runs)) * (MOST_POINTS // 2) // len(runs)
    dur = runs["dur"].astype(np.int64).reset_index(drop=True).groupby(stretch)
    return runs.iloc[np.unique([*dur.idxmin(), *dur.idxmax()])]


def _laid_out(figure: go.Figure, x: str, y: str) -> dict[str, Any]:
    figure.update_layout(
        height=_HEIGHT,
        margin={"l": 60, "r": 8, "t": 8, "b": 48},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "y": 1.1},
        xaxis={"title": {"text": x}},
        yaxis={"title": {"text": y}, "rangemode": "tozero"},
    )
    return plain(figure)
