"""What came out of a trial, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfetto_autoviz.evaluation.labels import ALL
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.score import METHODS, Outcome, Tally

NOTHING = "nothing"
"""Stands for the kind of runs with nothing wrong, of which those that are flagged are alarms."""


@dataclass(frozen=True)
class Row:
    """What a method made of the anomalies of one kind.

    Attributes:
        kind: the kind, ``nothing`` for runs with nothing wrong.
        family: class of the kernel to blame, ``all`` for any.
        method: the method.
        flagged: share of these runs that it flags: its recall, or its false alarms.
        placed: share of the runs that are still found as runs.
        kernel: of those flagged with a kernel to blame, how many blame the right one; None
            without any.
        channel: of the same, how many blame the right channel of it, too.
    """

    kind: str
    family: str
    method: str
    flagged: Rate
    placed: Rate | None = None
    kernel: Rate | None = None
    channel: Rate | None = None


def rows(tally: Tally, kinds: Sequence[str]) -> list[Row]:
    """False alarms, then each kind: all classes of kernels together, then each of them.

    Args:
        tally: what came out.
        kinds: the kinds in their order.
    """
    found = [Row(NOTHING, ALL, method, rate) for method, rate in tally.alarms.items()]
    for kind in kinds:
        own = [one for one in tally.outcomes if one.kind == kind]
        families = sorted({one.family for one in own} - {ALL})
        found += _of_kind(kind, ALL, own)
        for family in families:
            found += _of_kind(kind, family, [one for one in own if one.family == family])
    return found


def _of_kind(kind: str, family: str, outcomes: Sequence[Outcome]) -> Iterator[Row]:
    for method in METHODS:
        own = [one for one in outcomes if one.method == method]
        if own:
            yield Row(
                kind,
                family,
                method,
                _rate([one.found for one in own]),
                _rate([one.placed for one in own]),
                _known([one.kernel for one in own]),
                _known([one.channel for one in own]),
            )


def _rate(values: Sequence[bool]) -> Rate:
    return Rate(sum(values), len(values))


def _known(values: Sequence[bool | None]) -> Rate | None:
    known = [value for value in values if value is not None]
    return _rate(known) if known else None
