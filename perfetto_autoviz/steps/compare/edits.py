"""How one loop became the other: kept, renamed, split, fused, added, removed, moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

import pandas as pd

from perfetto_autoviz.steps.compare.alignment import Alignment, Block, align
from perfetto_autoviz.steps.compare.assignment import Match
from perfetto_autoviz.steps.compare.build import Build, Loop
from perfetto_autoviz.steps.compare.costs import GAP, Costs, Item, sequence_costs

EditKind = Literal["same", "renamed", "split", "fused", "added", "removed", "moved"]

_SAME_OP_OTHER_NAME = 0.95
"""Certainty that kernels of one operation but another raw name, as of another tile size, do the
same."""


@dataclass(frozen=True)
class Edit:
    """One change, or none.

    Attributes:
        kind: what happened.
        a: positions in A, in order; empty for what was added.
        b: positions in B, in order; empty for what was removed.
        ops_a: operations at A's positions.
        ops_b: operations at B's positions.
        effect: ns that a run spends more in B.
        certainty: from 0 to 1, how much better this explains both sequences than that
            A's were removed and B's added; for those, how much better than the best
            partner that was free.
    """

    kind: EditKind
    a: tuple[int, ...]
    b: tuple[int, ...]
    ops_a: tuple[str, ...]
    ops_b: tuple[str, ...]
    effect: float
    certainty: float


@dataclass(frozen=True)
class EditScript:
    """All edits of a pair; each position of A and of B is in exactly one.

    Attributes:
        edits: in the order of B; what was removed comes where it was.
        rotation: position of B that the alignment started with.
    """

    edits: tuple[Edit, ...]
    rotation: int


def match_edits(a: Build, b: Build, match: Match, matches: Sequence[Match] = ()) -> EditScript:
    """The edit script of a matched pair.

    Args:
        a: the one build.
        b: the other.
        match: the pair.
        matches: all matches: inner loops that are partners are the same thing in both.
    """
    one, other = a.loops[match.a], b.loops[match.b]
    partner = {found.a: found.b for found in matches}
    items_a = _items(a, one, {loop: _inner_name(b, partner.get(loop)) for loop in partner})
    items_b = _items(b, other, {loop.id: _inner_name(b, loop.id) for loop in b.loops})
    starts = {0, *(_position(b, other, score.rotation) for score in match.pair.by.values())}
    return edit_script(items_a, items_b, sorted(starts))


def edit_script(
    a: Sequence[Item], b: Sequence[Item], rotations: Sequence[int] = (0,)
) -> EditScript:
    """The edits that turn one sequence into another.

    Args:
        a: the one.
        b: the other, a loop.
        rotations: positions of ``b`` with which to start; the one that costs least is taken,
            and of equal ones the first.
    """
    if not rotations:
        raise ValueError("an edit script needs a rotation to start with")
    costs = sequence_costs(a, b)
    alignment, rotation = _cheapest(costs, rotations)
    # Only then is it known how much faster one side is throughout, so that durations can
    # tell which of its kernels is which.
    pace = _pace(a, b, alignment, rotation)
    costs = sequence_costs(a, [replace(item, dur=item.dur * pace) for item in b])
    alignment, rotation = _cheapest(costs, rotations)
    edits = [_edit(a, b, costs, block, rotation) for block in alignment.blocks]
    return EditScript(tuple(_with_moves(a, b, edits)), rotation)


def _cheapest(costs: Costs, rotations: Sequence[int]) -> tuple[Alignment, int]:
    """The cheapest alignment and its rotation, of equal ones the first."""
    found = [align(_rotated(costs, rotation)) for rotation in rotations]
    # The last digits depend on the order of sums.
    order = min(range(len(found)), key=lambda number: (round(found[number].cost, 9), number))
    return found[order], rotations[order]


def _pace(a: Sequence[Item], b: Sequence[Item], alignment: Alignment, rotation: int) -> float:
    """How much longer A's kernels take than their partners, for the middle one of them."""
    pairs = [
        (a[block.a[0]].dur, b[(block.b[0] + rotation) % len(b)].dur)
        for block in alignment.blocks
        if block.a[1] - block.a[0] == block.b[1] - block.b[0] == 1
    ]
    ratios = [one / other for one, other in pairs if one > 0 and other > 0]
    return median(ratios) if ratios else 1.0


def apply_edits(a: Sequence[str], script: EditScript) -> list[str]:
    """What the script makes of A's operations: B's, by position.

    Raises:
        ValueError: the script is not one of this sequence.
    """
    size = sum(len(edit.b) for edit in script.edits)
    result = [""] * size
    for edit in script.edits:
        if tuple(a[position] for position in edit.a) != edit.ops_a:
            raise ValueError(f"the edit script doesn't fit: A has no {edit.ops_a} at {edit.a}")
        kept = edit.kind in ("same", "moved")
        for position, op in zip(edit.b, edit.ops_a if kept else edit.ops_b, strict=True):
            result[position] = op
    return result


def edits_frame(script: EditScript) -> pd.DataFrame:
    """The script as a table, in order.

    Returns:
        Columns ``kind``, ``a`` and ``b`` (operations, joined by `` + ``), ``positions_a`` and
        ``positions_b`` (comma-separated), ``effect`` in ns and ``certainty``.
    """
    rows = [
        (
            edit.kind,
            " + ".join(edit.ops_a),
            " + ".join(edit.ops_b),
            ",".join(map(str, edit.a)),
            ",".join(map(str, edit.b)),
            edit.effect,
            edit.certainty,
        )
        for edit in script.edits
    ]
    columns = ["kind", "a", "b", "positions_a", "positions_b", "effect", "certainty"]
    return pd.DataFrame(rows, columns=columns).astype({"effect": float, "certainty": float})


def _rotated(costs: Costs, rotation: int) -> Costs:
    order = [*range(rotation, len(costs.dur_b)), *range(rotation)]
    return replace(
        costs,
        pair=costs.pair[:, order],
        core=costs.core[:, order],
        companion_a=costs.companion_a[:, order],
        companion_b=costs.companion_b[:, order],
        dur_b=costs.dur_b[order],
        kind_b=costs.kind_b[order],
    )


def _edit(a: Sequence[Item], b: Sequence[Item], costs: Costs, block: Block, rotation: int) -> Edit:
    at_a = tuple(range(*block.a))
    at_b = tuple((position + rotation) % len(b) for position in range(*block.b))
    kind = _kind(a, b, at_a, at_b)
    return _make(kind, a, b, at_a, at_b, _certainty(kind, a, b, costs, (at_a, at_b), block.cost))


def _make(
    kind: EditKind,
    a: Sequence[Item],
    b: Sequence[Item],
    at_a: tuple[int, ...],
    at_b: tuple[int, ...],
    certainty: float,
) -> Edit:
    effect = sum(b[position].dur for position in at_b) - sum(a[position].dur for position in at_a)
    return Edit(
        kind,
        at_a,
        at_b,
        tuple(a[position].op for position in at_a),
        tuple(b[position].op for position in at_b),
        effect,
        certainty,
    )


def _kind(
    a: Sequence[Item], b: Sequence[Item], at_a: tuple[int, ...], at_b: tuple[int, ...]
) -> EditKind:
    if not at_a:
        return "added"
    if not at_b:
        return "removed"
    if len(at_a) > 1:
        return "fused"
    if len(at_b) > 1:
        return "split"
    return "same" if a[at_a[0]].op == b[at_b[0]].op else "renamed"


def _certainty(
    kind: EditKind,
    a: Sequence[Item],
    b: Sequence[Item],
    costs: Costs,
    at: tuple[tuple[int, ...], tuple[int, ...]],
    cost: float,
) -> float:
    if kind == "same":
        return 1.0 if a[at[0][0]].name == b[at[1][0]].name else _SAME_OP_OTHER_NAME
    if kind == "removed":
        return min(float(costs.pair[at[0][0]].min(initial=1.0)), 1.0)
    if kind == "added":
        return min(float(costs.pair[:, at[1][0]].min(initial=1.0)), 1.0)
    return max(1 - cost / (GAP * (len(at[0]) + len(at[1]))), 0.0)


def _with_moves(a: Sequence[Item], b: Sequence[Item], edits: list[Edit]) -> list[Edit]:
    """What was removed here and added there is one kernel that moved."""
    removed: dict[str, list[Edit]] = {}
    for edit in edits:
        if edit.kind == "removed":
            removed.setdefault(edit.ops_a[0], []).append(edit)
    found = []
    for edit in edits:
        waiting = removed.get(edit.ops_b[0], []) if edit.kind == "added" else []
        if waiting:
            # Each of several equal ones may be the one that moved here.
            certainty = _SAME_OP_OTHER_NAME / len(waiting)
            found.append(_make("moved", a, b, waiting.pop(0).a, edit.b, certainty))
        else:
            found.append(edit)
    left = {edit.a for edits_ in removed.values() for edit in edits_}
    return [edit for edit in found if edit.kind != "removed" or edit.a in left]


def _items(build: Build, loop: Loop, inner: Mapping[int, str]) -> list[Item]:
    return [
        Item(element.op, element.family, element.dur, element.name)
        if element.inner is None
        else _inner_item(build, element.inner, element.dur, inner)
        for element in loop.elements
    ]


def _inner_item(build: Build, loop: int, dur: float, inner: Mapping[int, str]) -> Item:
    # A loop without partner is called by its own name, which says that it is A's.
    name = inner.get(loop, f"A's loop {build.loops[loop].name}")
    return Item(name, "loop", dur, name)


def _inner_name(build: Build, loop: int | None) -> str:
    return "" if loop is None else f"loop {build.loops[loop].name}"


def _position(build: Build, loop: Loop, kernel: int) -> int:
    """The position of a loop that holds its kernel of a number, inner loops opened."""
    for position, element in enumerate(loop.elements):
        size = 1 if element.inner is None else len(build.expand(build.loops[element.inner]))
        if kernel < size:
            return position
        kernel -= size
    return 0
