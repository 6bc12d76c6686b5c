"""The tables and sentences of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from perfetto_autoviz.comparison.result import BuildInfo, Comparison, PairComparison
from perfetto_autoviz.reports.comparison.changes import Change, largest_changes
from perfetto_autoviz.reports.comparison.tables import pairs_table, rank_spread, timing_table
from perfetto_autoviz.reports.comparison.words import (
    bar_words,
    change_words,
    interval_words,
    medians_words,
    operations_words,
    percent,
    remarks,
    signed,
    sure_words,
)
from perfetto_autoviz.reports.page.html import Cell, Column, element, group, table
from perfetto_autoviz.reports.text import duration, plural, share
from perfetto_autoviz.steps.compare import KEYS, Edit

_MOST_SCORES = 300
"""Pairs whose scores the page shows; pairs.csv has all of them."""

_MOST_EDITS = 400
"""Edits that the page shows completely; edits.csv always has all of them."""


def builds(comparison: Comparison) -> str:
    """Where both builds are from."""
    columns = [Column("Build", "word")]
    columns += [Column(title, "text") for title in ("Name", "Captures", "Device", "By")]
    columns += [Column("Ranks"), Column("Device activities"), Column("In patterns")]
    rows = [_build("A", comparison.info_a), _build("B", comparison.info_b)]
    return table(columns, rows, "builds")


def _build(name: str, info: BuildInfo) -> list[Cell]:
    inside = info.placed / max(info.activities, 1)
    by = ", ".join(part for part in (info.framework, info.runtime) if part)
    return [
        Cell(name),
        Cell(info.label),
        Cell(", ".join(info.files)),
        Cell(info.gpu or "unknown"),
        Cell(by or "unknown"),
        Cell(f"{len(info.ranks)}", len(info.ranks)),
        Cell(f"{info.activities:,}", info.activities),
        Cell(share(inside), inside),
    ]


def matches(comparison: Comparison) -> str:
    """Partners, their scores and how the time of a run changed."""
    columns = [
        Column("A", "word"),
        Column("B", "word"),
        Column("Positions"),
        Column("Score", help="what decided; 1 if both run the same in the same order"),
        *(Column(f"by {key}") for key in KEYS),
        Column("Runs"),
        Column("Median A"),
        Column("Median B"),
        Column("Change"),
        Column("95 % interval"),
        Column("Verdict", "word"),
    ]
    rows = [_match(pair) for pair in comparison.pairs]
    notes = [element("p", line, class_="note") for line in remarks(comparison)]
    return table(columns, rows, "matches") + "".join(notes)


def _match(pair: PairComparison) -> list[Cell]:
    timing, match = pair.timing, pair.match
    return [
        Cell(pair.a.name),
        Cell(pair.b.name),
        Cell(f"{len(pair.a.elements):,} → {len(pair.b.elements):,}", len(pair.a.elements)),
        Cell(f"{match.score.score:.3f} by {match.basis}", match.score.score),
        *(Cell(f"{match.pair.by[key].score:.3f}", match.pair.by[key].score) for key in KEYS),
        Cell(f"{timing.a.runs:,} → {timing.b.runs:,}", timing.a.runs),
        *(Cell(duration(median), median) for median in pair.medians),
        Cell(percent(timing.ratio), timing.ratio, _tone(timing.verdict)),
        Cell(interval_words(timing), timing.low),
        Cell(timing.verdict, tone=_tone(timing.verdict)),
    ]


def _tone(verdict: str) -> str:
    return {"slower": "worse", "faster": "better"}.get(verdict, "")


def changes(comparison: Comparison) -> str:
    """The changes with the largest effect over A's runs."""
    found = largest_changes(comparison)
    if not found:
        return element("p", "No operation changed beyond noise.")
    columns = [
        Column("Pair", "word"),
        *_CHANGE_COLUMNS[:3],
        Column("Over A's runs", help="per run, times A's runs of the pattern"),
        *_CHANGE_COLUMNS[3:],
    ]
    rows = []
    for change in found:
        cells = _change(change)
        total = Cell(signed(change.total), change.total, _direction(change.total))
        rows.append([Cell(change.pair), *cells[:3], total, *cells[3:]])
    return table(columns, rows, "largest changes")


_CHANGE_COLUMNS = (
    Column("What", "text"),
    Column("Operations", "name"),
    Column("Per run", help="kernel time that a run spends more in B"),
    Column("Certainty", help="how much better this explains both sequences than another partner"),
)


def _change(change: Change) -> list[Cell]:
    return [
        Cell(change_words(change)),
        Cell(operations_words(change)),
        Cell(signed(change.effect), change.effect, _direction(change.effect)),
        Cell(sure_words(change), change.certainty),
    ]


def _direction(ns: float) -> str:
    return "worse" if ns > 0 else "better" if ns < 0 else ""


def pair_title(pair: PairComparison) -> str:
    """The heading of a pair."""
    timing = pair.timing
    return (
        f"{pair.a.name} → {pair.b.name}: {medians_words(pair)}, {percent(timing.ratio)},"
        f" {timing.verdict}"
    )


def verdict(pair: PairComparison) -> str:
    """What the runs say, and of how many."""
    timing = pair.timing
    left_out = timing.a.left_out + timing.b.left_out
    parts = [
        f"Median of {plural(timing.a.runs, 'run')} of A and {timing.b.runs:,} of B:"
        f" {signed(timing.difference)} ({percent(timing.ratio)})",
        f"95 % interval {interval_words(timing)}"
        if timing.low is not None
        else "not judged, as fewer than five runs show no spread",
        f"middle half of the runs {_half(timing.a.low, timing.a.high)} in A,"
        f" {_half(timing.b.low, timing.b.high)} in B",
    ]
    if left_out:
        parts.append(f"{plural(left_out, 'incomplete run')} left out")
    return "; ".join(parts) + "."


def _half(low: float, high: float) -> str:
    return f"{duration(low)} to {duration(high)}"


def bars(pair: PairComparison) -> str:
    """The waterfall's bars; the first row and all changes make the last row."""
    fall = pair.waterfall
    columns = [Column("Bar", "name"), Column("Change in µs"), Column("Run in µs")]
    rows = [[Cell("mean run of A"), Cell(""), Cell(_us(fall.a), fall.a)]]
    reached = fall.a
    for bar in fall.bars:
        reached += bar.change
        change = Cell(_signed_us(bar.change), bar.change, _direction(bar.change))
        rows.append([Cell(bar_words(bar)), change, Cell(_us(reached), reached)])
    rows.append([Cell("mean run of B"), Cell(""), Cell(_us(fall.b), fall.b)])
    return table(columns, rows, "waterfall")


def _us(ns: float) -> str:
    return f"{ns / 1e3:,.2f}"


def _signed_us(ns: float) -> str:
    words = f"{ns / 1e3:+,.2f}".replace("-", "\N{MINUS SIGN}")
    return words[1:] if words[1:] == "0.00" else words


def operations(pair: PairComparison) -> str:
    """What each operation costs per run in A and in B."""
    columns = [
        Column("Operation", "name"),
        Column("Kernels A", help="per run"),
        Column("Kernels B", help="per run"),
        Column("A in µs", help="summed duration per run"),
        Column("B in µs", help="summed duration per run"),
        Column("Difference"),
        Column("Change"),
        Column("Significant", "word", help="at 5 % after Holm's correction"),
    ]
    rows = [
        [
            Cell(str(row["label"])),
            Cell(f"{row['count_a']:.4g}", row["count_a"]),
            Cell(f"{row['count_b']:.4g}", row["count_b"]),
            Cell(_us(row["dur_a"]), row["dur_a"]),
            Cell(_us(row["dur_b"]), row["dur_b"]),
            Cell(_signed_us(row["difference"]), row["difference"], _direction(row["difference"])),
            Cell(percent(row["change"]), row["change"]),
            Cell({True: "yes", False: "no"}.get(row["significant"], "not judged")),
        ]
        for row in pair.operations.to_dict("records")
    ]
    return table(columns, rows, "operations")


def edits(pair: PairComparison) -> str:
    """The edit script in order; of a long one, what isn't the same."""
    kinds = Counter(edit.kind for edit in pair.script.edits)
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    found = [edit for edit in pair.script.edits if _shows(pair, edit)]
    left = len(pair.script.edits) - len(found)
    more = f" {left:,} that are the same are in edits.csv only." if left else ""
    columns = [
        Column("B's order"),
        Column("A's operations", "name"),
        Column("What", "word"),
        Column("B's operations", "name"),
        *_CHANGE_COLUMNS[2:],
    ]
    rows = [
        [
            Cell(f"{number}", number),
            Cell(" + ".join(edit.ops_a)),
            Cell(edit.kind),
            Cell("" if edit.ops_a == edit.ops_b else " + ".join(edit.ops_b)),
            Cell(signed(edit.effect), edit.effect, _direction(edit.effect)),
            Cell(f"{edit.certainty:.2f}", edit.certainty),
        ]
        for number, edit in enumerate(found)
    ]
    line = element("p", f"By position: {told}.{more}", class_="note")
    return line + table(columns, rows, "edits")


def _shows(pair: PairComparison, edit: Edit) -> bool:
    return len(pair.script.edits) <= _MOST_EDITS or edit.kind != "same"


def ranks(pair: PairComparison) -> str:
    """Times of each rank, and how far they are apart."""
    columns = [Column("Rank"), Column("Build", "word"), Column("Runs"), Column("Median")]
    columns += [Column("Behind the middle rank"), Column("B less A"), Column("Verdict", "word")]
    rows = []
    for row in timing_table(pair).dropna(subset="rank").to_dict("records"):
        own = [Cell(str(row["rank"]), int(row["rank"])), Cell(str(row["build"]))]
        own += [Cell(f"{row['runs']:,}", row["runs"]), Cell(duration(row["median"]), row["median"])]
        own.append(Cell(percent(row["behind"]), row["behind"]))
        own += _rank_change(row)
        rows.append(own)
    lines = [element("p", line) for line in _spread_lines(pair)]
    return "".join(lines) + table(columns, rows, "ranks")


def _rank_change(row: Mapping[Hashable, Any]) -> list[Cell]:
    word, ns = row["verdict"], row["difference"]
    if not isinstance(word, str) or not isinstance(ns, float):
        return [Cell(""), Cell("")]
    return [Cell(signed(ns), ns, _tone(word)), Cell(word, tone=_tone(word))]


def _spread_lines(pair: PairComparison) -> Iterator[str]:
    for build in "AB":
        found = rank_spread(pair, build)
        if found:
            yield (
                f"In {build}, rank {found[0]} is slowest; slowest and fastest are"
                f" {share(found[1])} of the middle rank's time apart."
            )


def unshared(comparison: Comparison) -> str:
    """What runs in patterns of one build, and in none of the other's."""
    if comparison.unshared.empty:
        return element("p", "Patterns of both builds run the same operations.")
    columns = [Column("Build", "word"), Column("Operation", "name"), Column("Patterns", "text")]
    columns += [Column("Runs"), Column("Kernels"), Column("Time")]
    columns.append(Column("In the other build", help="kernels there, outside patterns"))
    rows = [
        [
            Cell(row["build"]),
            Cell(row["label"]),
            Cell(row["patterns"]),
            *(Cell(f"{row[name]:,}", row[name]) for name in ("runs", "count")),
            Cell(duration(row["total_dur"]), row["total_dur"]),
            Cell(f"{row['elsewhere']:,}", row["elsewhere"]),
        ]
        for row in comparison.unshared.to_dict("records")
    ]
    return table(columns, rows, "operations of one build")


def scores(comparison: Comparison) -> str:
    """How alike every pattern of A is to every one of B."""
    frame = pairs_table(comparison)
    columns = [Column("A", "word"), Column("B", "word")]
    columns += [Column(f"{key} {what}") for key in KEYS for what in _PARTS]
    columns += [Column("Greedy", "word"), Column("Optimal", "word")]
    rows: list[Sequence[Cell]] = []
    for row in frame.head(_MOST_SCORES).to_dict("records"):
        numbers = [row[f"{key}_{what}"] for key in KEYS for what in _PARTS]
        rows.append(
            [
                Cell(row["pattern_a"]),
                Cell(row["pattern_b"]),
                *(Cell(f"{number:.3g}", number) for number in numbers),
                *(Cell("yes" if row[name] else "") for name in ("greedy", "optimal")),
            ]
        )
    left = len(frame) - len(rows)
    more = element("p", f"{left:,} more are in pairs.csv.", class_="note") if left else ""
    whole = [element("summary", plural(len(frame), "pair")), table(columns, rows, "scores"), more]
    return group("details", whole)


_PARTS = ("score", "jaccard", "levenshtein", "rotation")


def explanations() -> str:
    """What the words of the page mean."""
    return "".join(element("p", line) for line in _EXPLANATIONS)


_EXPLANATIONS = (
    "Differences are B less A: what is positive takes longer in B. A pattern is a sequence of"
    " kernels that repeats, a run is one execution of it; P1.2 is a loop inside P1.",
    "A score weighs the common share of both sets of kernels (Jaccard) and the similarity of both"
    " sequences (Levenshtein) at B's best rotation. Patterns match by operation, the kernel's name"
    " without its tuning; what is left then matches by family, as between vendors.",
    "The interval is that of a bootstrap over blocks of neighbouring runs; fewer than five runs are"
    " not judged. Runs that lack a kernel or have one more are left out where they are a minority.",
    "The waterfall divides the change of the mean run without remainder: a run is the sum of its"
    " kernels, and the time in which none runs (idle), less what is counted twice as kernels run"
    " at once (overlap). Its axis need not start at 0.",
    "What became of a kernel is the cheapest way to turn A's sequence into B's. Certainty is 1 for"
    " what is certain, and near 0 where another explanation would do as well.",
    "An operation is significant if its time changed by more than its own noise, the resolution"
    " of the clock that measured it, and a pace that all operations share (a device's clock),"
    " corrected for the number of operations.",
)
