"""A page that is one file and needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from perfetto_autoviz.reports.page.html import element, escape, group

_HERE = Path(__file__).parent

_IN_SCRIPT = str.maketrans(
    {char: f"\\u{ord(char):04x}" for char in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"}
)
"""What must not stand in a script element as it is: it could end the element."""


def whole_page(title: str, body: Iterable[str], charts: Mapping[str, Any]) -> str:
    """A page of one file that needs no network.

    Everything is inside it: style, scripts, data. Its content security policy names the two
    scripts by their hashes, and allows nothing to be fetched from anywhere.

    Args:
        title: of the page.
        body: elements; a ``figure`` with ``data-chart`` is drawn when it is seen.
        charts: ``data``, ``layout`` and ``narrow`` of each chart by name, plain values.
    """
    scripts = [get_plotlyjs(), (_HERE / "page.js").read_text(encoding="utf-8")]
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(scripts))}">',
        element("title", title),
        f"<style>{style}</style>",
    ]
    data = json.dumps(charts, ensure_ascii=False, allow_nan=False).translate(_IN_SCRIPT)
    parts = [
        *body,
        f'<script type="application/json" id="charts">{data}</script>',
        *(f"<script>{script}</script>" for script in scripts),
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en">{group("head", head)}\n'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    # The chart library styles what it draws by itself.
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
