"""What a search for iterations finds: levels of them, and which searches found how much."""

from __future__ import annotations

from dataclasses import dataclass

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.spans import Span

GOOD, DEGRADED, NOT_SPLITTABLE = "good", "degraded", "not splittable"

GOOD_COVERAGE, LEAST_COVERAGE = 0.95, 0.75
"""Shares of the device time that iterations with what lies before and after them must cover to
be good, and to be any."""


@dataclass
class Level:
    """The iterations of one level: spans, parents, evidence, and each activity's owner.

    Attributes:
        spans: host spans, or spans on the device where the evidence lies there.
        parents: the span that each lies in, None at level 0.
        evidence: what each was derived from.
        confidence: how sure that is.
        owner: shape (activities,), index into the spans, -1 for none.
        on_host: whether the spans lie on the host.
    """

    spans: list[Span]
    parents: list[Span | None]
    evidence: list[str]
    confidence: list[float]
    owner: Ints
    on_host: list[bool]


@dataclass(frozen=True)
class Attempt:
    """One kind of evidence that was tried: a row of the relation ``iteration_evidence``.

    Attributes:
        evidence: what was tried.
        iterations: real outermost iterations that it gives.
        coverage: share of the device time in its outermost iterations, with what lies
            before and after them.
        grade: good, degraded or not splittable.
        reason: why it is not good; None if it is.
    """

    evidence: str
    iterations: int
    coverage: float
    grade: str
    reason: str | None

    @property
    def holds(self) -> bool:
        """Whether its iterations can be used."""
        return self.grade != NOT_SPLITTABLE


def refused(evidence: str, reason: str, coverage: float = 0.0, iterations: int = 0) -> Attempt:
    """An attempt that gives no iterations."""
    return Attempt(evidence, iterations, coverage, NOT_SPLITTABLE, reason)


def graded(evidence: str, iterations: int, coverage: float) -> Attempt:
    """An attempt by what it covers."""
    share = f"its iterations cover {100 * coverage:.1f} % of the device time"
    if coverage < LEAST_COVERAGE:
        return refused(evidence, share, coverage, iterations)
    if coverage < GOOD_COVERAGE:
        return Attempt(evidence, iterations, coverage, DEGRADED, share)
    return Attempt(evidence, iterations, coverage, GOOD, None)
