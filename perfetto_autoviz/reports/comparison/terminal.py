"""A comparison on the terminal: what matches, and the largest changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.comparison.result import BuildInfo, Comparison, PairComparison
from perfetto_autoviz.reports.comparison.changes import Change, largest_changes
from perfetto_autoviz.reports.comparison.words import (
    change_words,
    interval_words,
    medians_words,
    operations_words,
    percent,
    remarks,
    signed,
    sure_words,
)
from perfetto_autoviz.reports.text import plural, share
from perfetto_autoviz.steps.compare import KEYS

_COLOURS = {"slower": "red", "faster": "green"}


def view(comparison: Comparison, out: str) -> RenderableType:
    """The comparison, and where its results are."""
    parts: list[RenderableType] = [
        _build("A", comparison.info_a, len(comparison.a.loops)),
        _build("B", comparison.info_b, len(comparison.b.loops)),
        Text(),
        _matches(comparison.pairs) if comparison.pairs else Text("No pattern has a partner."),
        *(Text(line, style="dim") for line in remarks(comparison)),
        Text(),
        *_changes(largest_changes(comparison)),
        Text(),
        Text(f"Written to {out}: open report.html, or the traces below A and B"),
    ]
    return Group(*parts)


def _build(name: str, info: BuildInfo, patterns: int) -> Text:
    inside = share(info.placed / max(info.activities, 1))
    facts = [
        info.gpu,
        info.framework,
        plural(len(info.ranks), "rank"),
        f"{info.activities:,} device activities",
        f"{inside} of them in {plural(patterns, 'pattern')}",
    ]
    known = " · ".join(fact for fact in facts if fact)
    return Text.assemble((f"{name}  {info.label}", "bold"), f"  {known}")


def _matches(pairs: Sequence[PairComparison]) -> Table:
    shown = _table("A", "B", "Kernels", "Score", "Name/op/family", "Runs", "Median run")
    for title in ("Change", "95 % interval", "Verdict"):
        shown.add_column(title, justify="right", no_wrap=True)
    for pair in pairs:
        timing, scores = pair.timing, pair.match.pair.by
        shown.add_row(
            pair.a.name,
            pair.b.name,
            f"{len(pair.a.elements):,} → {len(pair.b.elements):,}",
            f"{pair.match.score.score:.2f} by {pair.match.basis}",
            " / ".join(f"{scores[key].score:.2f}" for key in KEYS),
            f"{timing.a.runs:,} → {timing.b.runs:,}",
            medians_words(pair),
            percent(timing.ratio),
            interval_words(timing),
            Text(timing.verdict, style=_COLOURS.get(timing.verdict, "")),
        )
    return shown


def _changes(changes: Sequence[Change]) -> Iterable[RenderableType]:
    if not changes:
        yield Text("No operation changed beyond noise.")
        return
    yield Text(f"The {plural(len(changes), 'largest change')}, by A's runs", style="bold")
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("Pair", no_wrap=True)
    shown.add_column("What", no_wrap=True)
    shown.add_column("Operations", overflow="ellipsis", no_wrap=True)
    for title in ("Per run", "In all", "Certainty"):
        shown.add_column(title, justify="right", no_wrap=True)
    for change in changes:
        shown.add_row(
            change.pair,
            change_words(change),
            operations_words(change, short=True),
            signed(change.effect),
            signed(change.total),
            sure_words(change),
        )
    yield shown


def _table(*right: str) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for title in right:
        shown.add_column(title, justify="left" if title in "AB" else "right", no_wrap=True)
    return shown
