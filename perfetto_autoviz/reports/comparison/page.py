"""The page of a comparison: one file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from perfetto_autoviz.comparison.result import Comparison, PairComparison
from perfetto_autoviz.reports.comparison import sections
from perfetto_autoviz.reports.comparison.changes import largest_changes
from perfetto_autoviz.reports.comparison.chart import waterfall_chart
from perfetto_autoviz.reports.comparison.html import element, escape, group

_HERE = Path(__file__).parent

_IN_SCRIPT = str.maketrans(
    {char: f"\\u{ord(char):04x}" for char in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"}
)
"""What must not stand in a script element as it is: it could end the element."""


def page(comparison: Comparison) -> str:
    """The whole page as HTML."""
    charts = {pair.name: waterfall_chart(pair.waterfall) for pair in comparison.pairs}
    title = f"{comparison.info_a.label} → {comparison.info_b.label}"
    body = [element("h1", title), *_body(comparison)]
    return whole_page(f"Comparison {title}", body, charts)


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


def _body(comparison: Comparison) -> Iterator[str]:
    yield sections.builds(comparison)
    yield element("h2", "Patterns that match")
    yield sections.matches(comparison)
    yield element("h2", "Largest changes")
    yield sections.changes(comparison)
    yield element("h2", "Pair by pair")
    largest = {change.pair for change in largest_changes(comparison, most=1)}
    for pair in comparison.pairs:
        yield _pair(pair, is_open=pair.name in largest)
    yield element("h2", "Operations of one build only")
    yield sections.unshared(comparison)
    yield element("h2", "Scores of all pairs")
    yield sections.scores(comparison)
    yield element("h2", "How to read this")
    yield sections.explanations()


def _pair(pair: PairComparison, *, is_open: bool) -> str:
    parts = [
        element("summary", sections.pair_title(pair)),
        element("p", sections.verdict(pair)),
        f'<figure data-chart="{escape(pair.name)}"></figure>',
        element("h3", "The same in numbers"),
        sections.bars(pair),
        element("h3", "Operations"),
        sections.operations(pair),
        element("h3", "What became of each kernel"),
        sections.edits(pair),
        *([element("h3", "Ranks"), sections.ranks(pair)] if _has_ranks(pair) else []),
    ]
    return group("details", parts, **({"open": ""} if is_open else {}))


def _has_ranks(pair: PairComparison) -> bool:
    return pair.ranks["rank"].nunique() > 1
