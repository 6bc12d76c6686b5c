"""Judges edit scripts by the truth.

An edit is right if its kind and its positions on both sides are. Scores are given over all
entries of the scripts, of which most say that nothing changed, and over changes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from perfetto_autoviz.steps.compare import Match, match_edits, match_loops, score_pairs
from perfetto_autoviz.steps.ops import classify
from perfetto_autoviz.synth import TrueEdit
from perfetto_autoviz.synth.loops import DRAFT_STEP, STEP
from tests.benchmarks.proof.builds import Detected

Place = tuple[str, int]
Entry = tuple[str, tuple[Place, ...], tuple[Place, ...]]

KEPT = ("same", "slower", "faster", "retuned")
"""True kinds that keep the operation."""


@dataclass
class Tally:
    """Right, wrong and overlooked entries by kind."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    overlooked: Counter[str] = field(default_factory=Counter)

    def add(self, found: Iterable[Entry], true: Iterable[Entry]) -> None:
        """Count the entries of one script."""
        mine, theirs = Counter(found), Counter(true)
        for target, entries in (
            (self.right, mine & theirs),
            (self.wrong, mine - theirs),
            (self.overlooked, theirs - mine),
        ):
            for entry, times in entries.items():
                target[entry[0]] += times

    def update(self, other: Tally) -> None:
        """Add another tally."""
        self.right.update(other.right)
        self.wrong.update(other.wrong)
        self.overlooked.update(other.overlooked)

    def f1(self, kinds: Sequence[str] | None = None) -> float:
        """Harmonic mean of precision and recall over some kinds; all without."""
        right, odd = (
            sum(n for kind, n in counter.items() if kinds is None or kind in kinds)
            for counter in (self.right, self.wrong + self.overlooked)
        )
        return 2 * right / (2 * right + odd) if right + odd else 1.0


@dataclass(frozen=True)
class Judged:
    """What came out of comparing a pair.

    Attributes:
        partners: true loops that run in both builds.
        matched: of those, the ones whose partner is the true one.
        found: the edit scripts of layers.
        by_name: the same for a plain diff of the names.
    """

    partners: int
    matched: int
    found: Tally
    by_name: Tally


def judge_pair(a: Detected, b: Detected, edits: Sequence[TrueEdit]) -> Judged:
    """Match two builds, align their layers, and count what is right."""
    matches = match_loops(a.build, b.build, score_pairs(a.build, b.build)).greedy
    partners = {(a.loop_of(match.a), b.loop_of(match.b)) for match in matches}
    loops = _main_loops(a) & _main_loops(b)
    parts = {edit.part for edit in edits}
    # A rotation may put kernels of one kind of layer into the loop of its neighbours.
    entries = {
        entry
        for match in matches
        if a.loop_of(match.a) not in (None, STEP, DRAFT_STEP)
        for entry in _found_entries(a, b, match, matches)
        if any(part in parts for part, _ in (*entry[1], *entry[2]))
    }
    found, by_name = Tally(), Tally()
    true = canonical(edits)
    found.add(entries, true)
    by_name.add(_diff_entries(edits, parts), true)
    return Judged(len(loops), sum((loop, loop) in partners for loop in loops), found, by_name)


def _main_loops(one: Detected) -> set[str]:
    """True loops of which a found one consists."""
    return {name for loop in one.build.loops if (name := one.loop_of(loop.id)) is not None}


def canonical(edits: Sequence[TrueEdit]) -> list[Entry]:
    """The true script in terms of operations, as other tile sizes are no other operation."""
    entries: list[Entry] = []
    for edit in edits:
        a, b = ([(edit.part, at) for at in side] for side in (edit.a, edit.b))
        ops_a, ops_b = ([_op(name) for name in side] for side in (edit.names_a, edit.names_b))
        kind = "same" if edit.kind in KEPT else str(edit.kind)
        kept = [(i, j) for i, x in enumerate(ops_a) for j, y in enumerate(ops_b) if x == y]
        if kind == "renamed" and kept:
            kind = "same"
        if kind in ("split", "fused") and kept:
            # A group that holds the very operation is that operation and others beside it.
            i, j = kept[0]
            entries.append(("same", (a[i],), (b[j],)))
            entries += [("removed", (one,), ()) for n, one in enumerate(a) if n != i]
            entries += [("added", (), (one,)) for n, one in enumerate(b) if n != j]
            continue
        entries.append((kind, tuple(a), tuple(b)))
    return _with_moves(entries, edits)


def _with_moves(entries: list[Entry], edits: Sequence[TrueEdit]) -> list[Entry]:
    """An operation that went here and came there has moved, whatever was meant."""
    name_a = {(e.part, at): n for e in edits for at, n in zip(e.a, e.names_a, strict=True)}
    name_b = {(e.part, at): n for e in edits for at, n in zip(e.b, e.names_b, strict=True)}
    removed = {_op(name_a[entry[1][0]]): entry for entry in entries if entry[0] == "removed"}
    moved: list[Entry] = []
    for entry in entries:
        gone = removed.pop(_op(name_b[entry[2][0]]), None) if entry[0] == "added" else None
        moved.append(("moved", gone[1], entry[2]) if gone else entry)
    gone_to = {entry[1] for entry in moved if entry[0] == "moved"}
    return [entry for entry in moved if entry[0] != "removed" or entry[1] not in gone_to]


def _found_entries(a: Detected, b: Detected, match: Match, matches: Sequence[Match]) -> list[Entry]:
    script = match_edits(a.build, b.build, match, matches)

    def places(one: Detected, loop: int, at: Sequence[int]) -> tuple[Place, ...]:
        return tuple(sorted(one.part_places.get((loop, i), ("", i)) for i in at))

    return [
        (edit.kind, places(a, match.a, edit.a), places(b, match.b, edit.b)) for edit in script.edits
    ]


def _diff_entries(edits: Sequence[TrueEdit], parts: set[str]) -> list[Entry]:
    """What a plain diff of the raw names says, given the right rotation."""
    entries: list[Entry] = []
    for part in sorted(parts):
        mine = [edit for edit in edits if edit.part == part]
        a = [n for _, n in sorted(p for e in mine for p in zip(e.a, e.names_a, strict=True))]
        b = [n for _, n in sorted(p for e in mine for p in zip(e.b, e.names_b, strict=True))]
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            if tag == "equal":
                pairs = zip(range(i1, i2), range(j1, j2), strict=True)
                entries += [("same", ((part, i),), ((part, j),)) for i, j in pairs]
            else:
                entries += [("removed", ((part, i),), ()) for i in range(i1, i2)]
                entries += [("added", (), ((part, j),)) for j in range(j1, j2)]
    return entries


def _op(name: str) -> str:
    return classify(name).op
