"""Figures as plotly.js takes them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go


def label(text: str, most: int | None = None) -> str:
    """Text as plotly.js shows it: it reads some tags and entities.

    Args:
        text: any text.
        most: characters to show; None for all.
    """
    short = text if most is None or len(text) <= most else f"{text[: most - 1]}…"
    return html.escape(short, quote=False)


def plain(figure: go.Figure, narrow: Sequence[str] = ()) -> dict[str, Any]:
    """A figure for plotly.js, without the template, which holds what no chart uses.

    Args:
        figure: the figure.
        narrow: texts of its annotations on a narrow screen.

    Returns:
        ``data``, ``layout`` and ``narrow``; plain values.
    """
    values: dict[str, Any] = figure.to_plotly_json()
    values["layout"].pop("template", None)
    # An empty list is left out, but the page goes through them where it's narrow.
    values["layout"].setdefault("annotations", [])
    return {**values, "narrow": list(narrow)}
