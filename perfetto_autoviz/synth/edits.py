"""Changes from one build to the next, and their truth.

A build differs from another in the kernels of its layers: some got another name, one became
several, several became one, some came, went, or run elsewhere, and durations changed. What
may become what is taken from pairs of measured builds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from perfetto_autoviz.synth.model import Slot
from perfetto_autoviz.synth.names import libraries, library_of, role_class, role_of

EditKind = Literal[
    "same",
    "slower",
    "faster",
    "retuned",
    "renamed",
    "split",
    "fused",
    "added",
    "removed",
    "moved",
]

EDIT_KINDS: tuple[EditKind, ...] = tuple(kind for kind in get_args(EditKind) if kind != "same")
"""All kinds that are changes."""

SPLITS: Mapping[str, tuple[tuple[tuple[str, float], ...], ...]] = {
    "gemm": ((("gemm", 0.75), ("splitk_reduce", 0.25)),),
    "attention": (
        (("attention", 0.85), ("attention_reduce", 0.15)),
        (
            ("mean", 0.07),
            ("absolute", 0.04),
            ("maximum", 0.07),
            ("quantize", 0.08),
            ("attention", 0.74),
        ),
    ),
    "add_norm": ((("add", 0.45), ("norm", 0.55)),),
    "rope_store": ((("rope", 0.5), ("store", 0.5)),),
    "gated_activation": ((("activation", 0.5), ("multiply", 0.5)),),
    "moe_gemm": ((("moe_gemm", 0.85), ("moe_finalize", 0.15)),),
    "moe_topk": ((("moe_topk", 0.4), ("moe_sort", 0.6)),),
    "moe_sort": ((("moe_sort", 0.55), ("moe_offsets", 0.45)),),
}
"""By role, what one kernel becomes in another build: roles and shares of the duration."""

FUSIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("rope", "store"), "rope_store"),
    (("rope", "copy", "quantize", "store"), "rope_store"),
    (("attention", "attention_reduce"), "attention"),
    (("gemm", "splitk_reduce"), "gemm"),
    (("norm", "copy", "norm"), "norm"),
    (("copy", "norm", "copy", "norm"), "norm"),
    (("moe_topk", "moe_sort"), "moe_topk"),
    (("moe_topk", "moe_sort", "moe_offsets"), "moe_topk"),
    (("moe_topk", "moe_offsets", "moe_offsets", "moe_sort"), "moe_topk"),
    (("moe_gemm", "moe_finalize"), "moe_gemm"),
)
"""Neighbouring roles that are one kernel in another build, and its role."""

ADDED_ROLES: Mapping[str, tuple[int, int]] = {
    "fill": (1_500, 6_000),
    "copy": (2_000, 9_000),
    "quantize": (2_500, 9_000),
    "add": (2_000, 12_000),
    "mean": (2_000, 9_000),
    "multiply": (2_000, 9_000),
}
"""What builds add here and there, and the ns it takes."""

SLOWER, FASTER = (1.15, 1.8), (0.55, 0.87)
"""Factors of the duration of an operation that got slower, or faster."""

RENAMED = (0.6, 1.5)
"""The same for a kernel of another library."""

RETUNED = (0.85, 1.15)
"""The same for another tile size."""

SPLIT, FUSED = (0.8, 1.3), (0.6, 1.0)
"""The same for the sum of what was split, and for what was fused: fusing pays."""

MOVE = 3
"""Fewest kernels that a kernel moves across; of two that change places either one moved."""

ATTEMPTS = 40
"""Draws for one edit before there is none more to find a place for."""


@dataclass(frozen=True)
class TrueEdit:
    """What became of neighbouring kernels.

    Attributes:
        kind: what happened.
        part: the kind of layer it happened in.
        a: positions in the part before; empty for what was added.
        b: positions in the part after; empty for what was removed.
        names_a: names of the kernels before.
        names_b: names of the kernels after.
        factor: duration after over duration before; None where one side is empty.
    """

    kind: EditKind
    part: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    names_a: tuple[str, ...]
    names_b: tuple[str, ...]
    factor: float | None


@dataclass(frozen=True)
class EditPlan:
    """How much a build is changed.

    Attributes:
        edits: edits in each kind of layer, as far as there is a place for them.
        touching: whether edits may be neighbours; otherwise an unchanged kernel lies between.
        pace: factor of all durations, as of another device.
        kinds: the kinds of edits to draw from, each as often.
    """

    edits: int = 4
    touching: bool = False
    pace: float = 1.0
    kinds: tuple[EditKind, ...] = EDIT_KINDS


def edit_layer(
    slots: Sequence[Slot], part: str, plan: EditPlan, gap_ns: int, rng: np.random.Generator
) -> tuple[tuple[Slot, ...], tuple[TrueEdit, ...]]:
    """Another build of one kind of layer.

    Args:
        slots: its kernels before.
        part: its name.
        plan: how much to change.
        gap_ns: gap before a kernel that wasn't there.
        rng: source of all choices.

    Returns:
        The kernels after, and what became of each in the order of the positions after; what
        was removed comes where it was.
    """
    draft = _Draft(slots, plan, gap_ns, rng)
    for _ in range(plan.edits):
        draft.draw()
    return draft.finish(part)


@dataclass(frozen=True)
class _Change:
    """``start`` to ``stop`` of the old slots become the new ones, at gap ``at`` if not there."""

    kind: EditKind
    start: int
    stop: int
    new: tuple[Slot, ...]
    at: int

    @property
    def is_local(self) -> bool:
        return self.at == self.start


class _Draft:
    def __init__(
        self, slots: Sequence[Slot], plan: EditPlan, gap_ns: int, rng: np.random.Generator
    ) -> None:
        self.slots = tuple(slots)
        self.roles = [role_of(slot) for slot in slots]
        self.plan = plan
        self.gap_ns = gap_ns
        self.rng = rng
        self.changes: list[_Change] = []
        self.taken = np.zeros(len(slots), dtype=bool)
        self.gaps: set[int] = set()

    def draw(self) -> None:
        """Add one change where there is a place for it."""
        for _ in range(ATTEMPTS):
            kind = self.plan.kinds[int(self.rng.integers(len(self.plan.kinds)))]
            change = self._propose(kind)
            if change is not None and self._fits(change):
                self.changes.append(change)
                self.taken[change.start : change.stop] = True
                if not change.is_local or change.start == change.stop:
                    self.gaps.add(change.at)
                return

    def _propose(self, kind: EditKind) -> _Change | None:
        start = int(self.rng.integers(len(self.slots)))
        if kind == "added":
            return self._addition(start)
        if kind == "moved":
            return self._move(start)
        if kind == "fused":
            return self._fusion(start)
        new = self._replacement(kind, self.slots[start], self.roles[start])
        return None if new is None else _Change(kind, start, start + 1, new, start)

    def _replacement(self, kind: EditKind, slot: Slot, role: str | None) -> tuple[Slot, ...] | None:
        if kind == "removed":
            # Without its collectives a model would no longer count as sharded.
            return None if slot.cls == "communication" else ()
        if kind in ("slower", "faster"):
            return (self._timed(slot, SLOWER if kind == "slower" else FASTER),)
        if role is None:
            return None
        if kind == "retuned":
            name = self._pick([name for name in library_of(slot.name) if name != slot.name])
            return None if name is None else (self._named(slot, name, RETUNED),)
        if kind == "renamed":
            name = self._other_library(role, [slot])
            return None if name is None else (self._named(slot, name, RENAMED),)
        return self._split(slot, role)

    def _split(self, slot: Slot, role: str) -> tuple[Slot, ...] | None:
        parts = SPLITS.get(role, ())
        if not parts:
            return None
        factor = self.rng.uniform(*SPLIT)
        found = []
        for number, (new_role, share) in enumerate(parts[int(self.rng.integers(len(parts)))]):
            name = self._other_library(new_role, [slot])
            if name is None:
                return None
            dur = max(1_000, round(slot.dur_ns * share * factor))
            part = replace(slot, name=name, cls=role_class(new_role), dur_ns=dur, first=None)
            found.append(part if number == 0 else replace(part, gap_ns=self.gap_ns))
        return tuple(found)

    def _fusion(self, start: int) -> _Change | None:
        fitting = [
            (len(roles), role)
            for roles, role in FUSIONS
            if tuple(self.roles[start : start + len(roles)]) == roles
        ]
        if not fitting:
            return None
        size, role = fitting[int(self.rng.integers(len(fitting)))]
        old = self.slots[start : start + size]
        name = self._other_library(role, old)
        if name is None:
            return None
        dur = round(sum(slot.dur_ns for slot in old) * self.rng.uniform(*FUSED))
        heaviest = max(old, key=lambda slot: slot.dur_ns)
        new = replace(
            heaviest,
            name=name,
            cls=role_class(role),
            dur_ns=dur,
            gap_ns=old[0].gap_ns,
            first=None,
            skip_first=False,
        )
        return _Change("fused", start, start + size, (new,), start)

    def _addition(self, at: int) -> _Change | None:
        roles = [*ADDED_ROLES]
        role = roles[int(self.rng.integers(len(roles)))]
        by_library = libraries(role)
        name = self._pick(by_library[int(self.rng.integers(len(by_library)))])
        if name is None or self._beside(at, library_of(name)):
            return None
        dur = int(self.rng.integers(*ADDED_ROLES[role]))
        slot = Slot(name, role_class(role), dur, self.gap_ns, op=None, api=self._api())
        return _Change("added", at, at, (slot,), at)

    def _move(self, start: int) -> _Change | None:
        slot = self.slots[start]
        at = int(self.rng.integers(len(self.slots)))
        crossed = at - start - 1 if at > start else start - at
        equals = sum(other.name in library_of(slot.name) for other in self.slots)
        if crossed < MOVE or equals > 1:
            return None
        return _Change("moved", start, start + 1, (slot,), at)

    def _fits(self, change: _Change) -> bool:
        """Whether nothing else is there, and what happened can be told."""
        reach = 0 if self.plan.touching else 1
        low, high = max(change.start - reach, 0), change.stop + reach
        if self.taken[low:high].any():
            return False
        inside = range(change.start + (1 - reach), change.stop + reach)
        if change.start < change.stop and self.gaps & set(inside):
            return False
        if change.kind == "removed" and self._beside(
            change.start, library_of(self.slots[change.start].name), but=change.start
        ):
            return False
        if change.kind in ("added", "moved"):
            around = slice(max(change.at - 1, 0), change.at + 1)
            if change.at in self.gaps or (self.taken[around].any() and not self.plan.touching):
                return False
            # Between two that became one there is no place.
            if any(one.start < change.at < one.stop for one in self.changes):
                return False
        return True

    def _beside(self, at: int, names: Sequence[str], but: int | None = None) -> bool:
        """Whether a neighbour has one of the names, so that neither is told from the other."""
        near = range(max(at - 1, 0), min(at + 2, len(self.slots)))
        return any(self.slots[i].name in names for i in near if i != but)

    def _other_library(self, role: str, old: Sequence[Slot]) -> str | None:
        """A name of the role from a library that none of the old ones is of."""
        old_names = {name for slot in old for name in library_of(slot.name)}
        free = [names for names in libraries(role) if not old_names & set(names)]
        return self._pick(free[int(self.rng.integers(len(free)))]) if free else None

    def _pick(self, names: Sequence[str]) -> str | None:
        return names[int(self.rng.integers(len(names)))] if names else None

    def _named(self, slot: Slot, name: str, factors: tuple[float, float]) -> Slot:
        return replace(self._timed(slot, factors), name=name, first=None)

    def _timed(self, slot: Slot, factors: tuple[float, float]) -> Slot:
        factor = self.rng.uniform(*factors)
        first = slot.first
        if first is not None:
            first = replace(first, dur_ns=round(first.dur_ns * factor))
        return replace(slot, dur_ns=round(slot.dur_ns * factor), first=first)

    def _api(self) -> str | None:
        return next((slot.api for slot in self.slots if slot.api), None)

    def finish(self, part: str) -> tuple[tuple[Slot, ...], tuple[TrueEdit, ...]]:
        """The new slots, and the truth."""
        by_start = {one.start: one for one in self.changes if one.start < one.stop}
        by_gap = {one.at: one for one in self.changes if one.start == one.stop or not one.is_local}
        new: list[Slot] = []
        edits: list[TrueEdit] = []
        at = 0
        while at < len(self.slots):
            if at in by_gap:
                self._write(by_gap[at], part, new, edits)
            change = by_start.get(at, _Change("same", at, at + 1, (self.slots[at],), at))
            if change.is_local:
                self._write(change, part, new, edits)
            at = change.stop
        return tuple(new), tuple(edits)

    def _write(self, change: _Change, part: str, new: list[Slot], edits: list[TrueEdit]) -> None:
        old = self.slots[change.start : change.stop]
        pace = self.plan.pace
        placed = [replace(slot, dur_ns=round(slot.dur_ns * pace)) for slot in change.new]
        edits.append(
            TrueEdit(
                kind=change.kind,
                part=part,
                a=tuple(range(change.start, change.stop)),
                b=tuple(range(len(new), len(new) + len(placed))),
                names_a=tuple(slot.name for slot in old),
                names_b=tuple(slot.name for slot in placed),
                factor=_ratio(placed, old),
            )
        )
        new += placed


def _ratio(new: Sequence[Slot], old: Sequence[Slot]) -> float | None:
    if not new or not old:
        return None
    return sum(slot.dur_ns for slot in new) / sum(slot.dur_ns for slot in old)
