"""The page of a comparison: one file that needs no network."""

from __future__ import annotations

from collections.abc import Iterator

from perfetto_autoviz.comparison.result import Comparison, PairComparison
from perfetto_autoviz.reports.comparison import sections
from perfetto_autoviz.reports.comparison.changes import largest_changes
from perfetto_autoviz.reports.comparison.chart import waterfall_chart
from perfetto_autoviz.reports.page.html import element, escape, group
from perfetto_autoviz.reports.page.shell import whole_page


def page(comparison: Comparison) -> str:
    """The whole page as HTML."""
    charts = {pair.name: waterfall_chart(pair.waterfall) for pair in comparison.pairs}
    title = f"{comparison.info_a.label} → {comparison.info_b.label}"
    body = [element("h1", title), *_body(comparison)]
    return whole_page(f"Comparison {title}", body, charts)


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
