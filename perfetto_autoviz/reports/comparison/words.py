"""How the parts of a comparison read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from perfetto_autoviz.comparison.result import Comparison, PairComparison
from perfetto_autoviz.reports.comparison.changes import Change
from perfetto_autoviz.reports.text import duration, listed, plural, visible
from perfetto_autoviz.steps.compare import Bar, Loop, Match, Timing
from perfetto_autoviz.steps.ops import short_label

_MINUS = "\N{MINUS SIGN}"
_BETWEEN: Mapping[str, str] = {
    "idle": "no kernel of the run runs",
    "overlap": "kernels run at once",
}
_MOST_NAMED = 8
_MOST_OPERATIONS = 4


def signed(ns: float) -> str:
    """A change of time with its sign: ``+4.10 µs``."""
    sign = "+" if ns > 0 else _MINUS if ns < 0 else ""
    return f"{sign}{duration(abs(ns))}"


def percent(ratio: float) -> str:
    """A relative change with its sign: ``+4.1 %``; a dash where there is none."""
    if not math.isfinite(ratio):
        return "-"
    words = f"{100 * ratio:+.1f} %".replace("-", _MINUS)
    return words[1:] if words[1:] == "0.0 %" else words


def interval_words(timing: Timing) -> str:
    """The interval of a change; a dash if it isn't judged."""
    if timing.low is None or timing.high is None:
        return "-"
    return f"{signed(timing.low)} to {signed(timing.high)}"


def medians_words(pair: PairComparison) -> str:
    """Median times of a run in A and in B."""
    return " → ".join(map(duration, pair.medians))


def change_words(change: Change) -> str:
    """What happened: ``renamed``, ``split in 2``, ``same, slower``, and at how many places."""
    more = change.effect > 0
    words = {
        "split": f"split in {len(change.ops_b)}",
        "fused": f"fused {len(change.ops_a)}",
        "same": "slower" if more else "faster",
        "idle": "more idle" if more else "less idle",
        "overlap": "less overlap" if more else "more overlap",
    }
    word = words.get(change.kind, change.kind)
    return word if change.places == 1 else f"{word} ({change.places} places)"


def operations_words(change: Change, *, short: bool = False) -> str:
    """The operations: ``a → b``; short for a line of a terminal."""
    if change.kind in _BETWEEN:
        return _BETWEEN[change.kind]
    sides = [
        visible(listed(map(short_label, ops) if short else ops, _MOST_OPERATIONS, " + "))
        for ops in (change.ops_a, change.ops_b)
    ]
    return sides[0] if sides[0] == sides[1] else " → ".join(side for side in sides if side)


def sure_words(change: Change) -> str:
    """How sure the change is; of what stayed the same, whether its time was judged."""
    if change.kind != "same" and change.kind not in _BETWEEN:
        judged = "" if change.significant is not None else ", not judged"
        return f"{change.certainty:.2f}{judged}"
    return "not judged" if change.significant is None else "significant"


def bar_words(bar: Bar) -> str:
    """What a bar of the waterfall stands for."""
    words = {
        "rest": f"{plural(bar.operations, 'other operation')}",
        **{kind: f"{kind}: {meaning}" for kind, meaning in _BETWEEN.items()},
    }
    return words.get(bar.kind, visible(bar.label))


def remarks(comparison: Comparison) -> Iterator[str]:
    """What else there is to say about the matches."""
    if comparison.steady:
        yield f"Only steady iterations are compared: {comparison.steady}."
    else:
        yield from _mixed_phases(comparison)
    for pair in comparison.pairs:
        rotation = pair.match.score.rotation
        if rotation:
            yield f"{pair.a.name} compares with {pair.b.name} read from its kernel {rotation}."
    for name, loops in (("A", comparison.alone_a), ("B", comparison.alone_b)):
        if loops:
            yield f"Without partner in {name}: {_named(loops)}."
    if comparison.matching.differs:
        yield _other_assignment(comparison)
    counts = comparison.unshared["build"].value_counts().to_dict()
    told = [f"{plural(count, 'operation')} of {build}" for build, count in sorted(counts.items())]
    if told:
        yield f"In no pattern of the other build: {' and '.join(told)}."


def _mixed_phases(comparison: Comparison) -> Iterator[str]:
    phases = dict.fromkeys((*comparison.info_a.phases, *comparison.info_b.phases))
    if len(phases) > 1:
        *first, last = phases
        yield (
            f"Runs in {', '.join(first)} and {last} steps are compared together, which hides small"
            " changes: --steady compares steps that do the same."
        )


def _other_assignment(comparison: Comparison) -> str:
    chosen, matching = comparison.choices.assignment, comparison.matching
    other, matches = (
        ("optimal", matching.optimal) if chosen == "greedy" else ("greedy", matching.greedy)
    )
    ours = {(pair.a.id, pair.b.id) for pair in comparison.pairs}
    differing = [match for match in matches if (match.a, match.b) not in ours]
    names = listed((_pair_name(comparison, match) for match in differing), _MOST_NAMED)
    return f"The {other} assignment differs: it has {names or 'fewer pairs'}."


def _pair_name(comparison: Comparison, match: Match) -> str:
    return f"{comparison.a.loops[match.a].name}:{comparison.b.loops[match.b].name}"


def _named(loops: Sequence[Loop]) -> str:
    return listed((f"{loop.name} ({plural(loop.run_count, 'run')})" for loop in loops), _MOST_NAMED)
