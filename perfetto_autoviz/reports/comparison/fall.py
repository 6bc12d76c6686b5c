"""What the waterfall of a pair shows, however it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perfetto_autoviz.reports.comparison.words import bar_words, signed
from perfetto_autoviz.reports.text import duration
from perfetto_autoviz.steps.compare import Waterfall

Tone = Literal["longer", "shorter", "total"]

COLOURS: dict[Tone, str] = {"longer": "#d9822b", "shorter": "#2f7fc1", "total": "#7d8793"}
"""Orange and blue are told apart by everybody; grey for the two runs."""

_MARGIN = 0.12
"""Part of the axis that is free on either side, for the numbers beside the bars."""

_NEAR = 0.3
"""An axis that would start below this part of its end starts at 0."""


@dataclass(frozen=True)
class FallRow:
    """A run, or a step from one to the other; times in ns.

    Attributes:
        word: what it is.
        value: the time of a run, or the change.
        start: where the bar starts.
        end: where it ends.
        text: the value for people.
        tone: whether it is a run, or makes it longer or shorter.
    """

    word: str
    value: float
    start: float
    end: float
    text: str
    tone: Tone


def fall_rows(waterfall: Waterfall) -> list[FallRow]:
    """A's mean run, the bars, and B's mean run."""
    found = [_run("mean run of A", waterfall.a)]
    for bar in waterfall.bars:
        start = found[-1].end
        tone: Tone = "longer" if bar.change > 0 else "shorter"
        end, text = start + bar.change, signed(bar.change)
        found.append(FallRow(bar_words(bar), bar.change, start, end, text, tone))
    return [*found, _run("mean run of B", waterfall.b)]


def _run(word: str, ns: float) -> FallRow:
    return FallRow(word, ns, 0.0, ns, duration(ns), "total")


def axis_range(rows: Sequence[FallRow]) -> tuple[float, float]:
    """Ends of an axis in ns on which the steps can be seen: it need not start at 0."""
    ends = [row.end for row in rows]
    low, high = min(ends), max(ends)
    room = _MARGIN * (high - low or abs(high) or 1)
    start = low - 2 * room
    return (0.0 if start < _NEAR * high else start), high + room
