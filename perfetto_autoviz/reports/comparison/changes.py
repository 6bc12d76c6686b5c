"""The changes of a comparison that matter most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfetto_autoviz.comparison.result import BarKind, Comparison, PairComparison
from perfetto_autoviz.steps.compare import Edit
from perfetto_autoviz.steps.compare.edits import EditKind

MOST_CHANGES = 10
"""Changes that are shown before anything else."""


@dataclass(frozen=True)
class Change:
    """One kind of change in one pair of patterns, at one position or several.

    Attributes:
        pair: both patterns' names.
        kind: what happened; ``same`` where only the time changed; ``idle`` and ``overlap`` for
            the time between kernels.
        ops_a: A's operations.
        ops_b: B's operations.
        places: positions of a run at which it happened.
        effect: kernel time in ns that a run spends more in B.
        runs: A's runs of the pattern.
        certainty: of the least certain place.
        significant: whether the time of one of the operations, or of the run, changed beyond
            noise; None where too few runs don't allow a judgement.
    """

    pair: str
    kind: EditKind | BarKind
    ops_a: tuple[str, ...]
    ops_b: tuple[str, ...]
    places: int
    effect: float
    runs: int
    certainty: float
    significant: bool | None

    @property
    def total(self) -> float:
        """The effect over all of A's runs in ns."""
        return self.effect * self.runs


def largest_changes(comparison: Comparison, most: int = MOST_CHANGES) -> list[Change]:
    """The changes with the largest effect over A's runs.

    What stayed the same counts if its time changed beyond noise, or can't be judged. What inner
    loops do is told once, by their own pairs; so is the time between kernels.
    """
    found = [change for pair in comparison.pairs for change in pair_changes(pair)]
    return sorted(found, key=lambda change: -abs(change.total))[:most]


def pair_changes(pair: PairComparison) -> list[Change]:
    """All changes of a pair, equal ones as one, the largest effect first."""
    judged = dict(zip(pair.operations["label"], pair.operations["significant"], strict=True))
    groups: dict[tuple[EditKind, tuple[str, ...], tuple[str, ...]], list[Edit]] = {}
    for edit in pair.script.edits:
        if not _is_kept_loop(pair, edit):
            groups.setdefault((edit.kind, edit.ops_a, edit.ops_b), []).append(edit)
    changes = [
        Change(
            pair=pair.name,
            kind=kind,
            ops_a=ops_a,
            ops_b=ops_b,
            places=len(edits),
            effect=sum(edit.effect for edit in edits),
            runs=pair.a.run_count,
            certainty=min(edit.certainty for edit in edits),
            significant=_any(judged.get(op) for op in (*ops_a, *ops_b)),
        )
        for (kind, ops_a, ops_b), edits in groups.items()
    ]
    changes += _between_kernels(pair)
    real = [change for change in changes if change.ops_a != change.ops_b or _changed_time(change)]
    return sorted(real, key=lambda change: -abs(change.effect))


def _between_kernels(pair: PairComparison) -> list[Change]:
    """How idle time and overlap changed in a loop without inner ones."""
    if not (pair.a.is_innermost and pair.b.is_innermost):
        return []
    verdict = pair.timing.verdict
    judged = None if verdict == "not judged" else verdict != "no change"
    kinds: tuple[BarKind, ...] = ("idle", "overlap")
    return [
        Change(pair.name, kind, (), (), 1, pair.bar_change(kind), pair.a.run_count, 1.0, judged)
        for kind in kinds
    ]


def _changed_time(change: Change) -> bool:
    return change.significant is not False and change.effect != 0


def _is_kept_loop(pair: PairComparison, edit: Edit) -> bool:
    """Whether an edit says that an inner loop has its partner at its place."""
    return edit.kind in ("same", "moved") and pair.a.elements[edit.a[0]].inner is not None


def _any(judgements: Iterable[bool | None]) -> bool | None:
    known = [one for one in judgements if one is not None]
    return any(known) if known else None
