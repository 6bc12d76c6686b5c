"""Judges patterns by the truth: which kernels got the right loop and position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.patterns import Patterns, kernel_places
from perfetto_autoviz.synth.loops import DRAFT_STEP, LAYERS
from tests.benchmarks.proof.kernels import Kernels

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STRIDE = 1 << 20
"""Places are numbered with their loop: loop times this, plus the position."""

STEADY_SHARE = 0.05
"""Share of a place's kernels on a side stream from which on it is a place of that stream."""


@dataclass(frozen=True)
class Placing:
    """How well detection did.

    Attributes:
        inside: kernels that run in a true loop and have a place whatever the rotation.
        right: those with the right loop and position.
        edges: further kernels, at both ends of repeated layers, that the rotation moved out.
        named_alike: whether each true loop has the same name on all ranks.
        true_place: by found ``(pattern, position)`` what it stands for.
    """

    inside: int
    right: int
    edges: int
    named_alike: bool
    true_place: dict[tuple[int, int], tuple[int, int]]

    @property
    def share(self) -> float:
        """Right ones of those inside loops."""
        return self.right / self.inside if self.inside else 1.0


def judge(found: Patterns, kernels: Kernels) -> Placing:
    """Compare what was found with the truth.

    Each found position stands for one true position and each true one for one found position,
    those that most kernels have in common; and the true positions of a found loop must come in
    the order of the loop, from wherever it starts. Where it doesn't start as the truth does,
    the first and the last run of repeated layers lie differently: what is then left over at one
    end is not counted, and what equals the loop at the other end may belong to it.
    """
    places = kernel_places(found)
    mine = np.where(
        places.position >= 0, places.pattern.astype(np.int64) * STRIDE + places.position, -1
    )
    pattern = kernels.whole("pattern")
    true = np.where(pattern >= 0, pattern * STRIDE + kernels.whole("place"), -1)
    true = _flat_drafts(kernels, true, mine)
    chosen = _partners(mine, true, _roles(kernels, mine))
    stands_for = np.full(len(mine), -2)
    both = mine >= 0
    stands_for[both] = [chosen.get(one, -2) for one in mine[both].tolist()]
    inside = true >= 0
    right = inside & (stands_for == true)
    moved_in = inside & ~right & _rotated_in(kernels, found, stands_for, true, right)
    left_over = (
        inside & ~right & ~moved_in & _left_over(kernels, _rotations(chosen, right, mine, true))
    )
    counted = inside & ~left_over
    return Placing(
        inside=int(counted.sum()),
        right=int((right | moved_in).sum()),
        edges=int(left_over.sum()),
        named_alike=_named_alike(kernels, pattern, places.pattern),
        true_place={divmod(m, STRIDE): divmod(t, STRIDE) for m, t in chosen.items()},
    )


def _flat_drafts(kernels: Kernels, true: Ints, mine: Ints) -> Ints:
    """A draft step's only layer doesn't repeat in it: it may be a part of the draft step."""
    draft = kernels.whole("pattern") == kernels.patterns.index(DRAFT_STEP)
    rank = np.repeat(np.arange(len(kernels.ranks)), [len(one["ts"]) for one in kernels.ranks])
    step = rank * STRIDE + kernels.whole("iteration")
    in_draft = np.isin(step, step[draft]) & (kernels.whole("layer") >= 0)
    layers = ~in_draft & (kernels.whole("layer") >= 0) & (mine >= 0)
    loops = np.unique(mine[layers] // STRIDE) if layers.any() else mine[:0]
    flat = in_draft & ~np.isin(mine // STRIDE, loops)
    # A loop of its own, as its places lie between those of the draft step.
    offset = len(kernels.patterns) * STRIDE
    return np.where(flat, offset + kernels.whole("position"), true)


def _roles(kernels: Kernels, mine: Ints) -> dict[int, int]:
    """By found place the side stream it runs on at times, -1 without one.

    Its order is that of its stream; where all runs on one stream, it has another one.
    """
    stream = np.concatenate([_sides(rank["stream"]) for rank in kernels.ranks])
    pairs, count = np.unique(np.stack([mine, stream]), axis=1, return_counts=True)
    size = dict(zip(*np.unique(mine, return_counts=True), strict=True))
    roles: dict[int, int] = {}
    for (place, side), times in zip(pairs.T.tolist(), count.tolist(), strict=True):
        if side >= 0 and times >= STEADY_SHARE * size[place]:
            roles[place] = side
    return roles


def _sides(stream: Ints) -> Ints:
    """The streams of a rank's kernels, -1 for the one with most of them."""
    own, count = np.unique(stream, return_counts=True)
    return np.where(stream == own[count.argmax()], -1, stream)


def _partners(mine: Ints, true: Ints, role: Mapping[int, int]) -> dict[int, int]:
    """What each found place stands for, one to one and in the order of the loop."""
    both = (mine >= 0) & (true >= 0)
    pairs, count = np.unique(np.stack([mine[both], true[both]]), axis=1, return_counts=True)
    partner: dict[int, tuple[int, int]] = {}
    taken: set[int] = set()
    for row in np.argsort(-count, kind="stable").tolist():
        one, other = pairs[0, row].item(), pairs[1, row].item()
        if one not in partner and other not in taken:
            partner[one] = (other, count[row].item())
            taken.add(other)
    loops: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    for one, (other, weight) in sorted(partner.items()):
        key = (one // STRIDE, other // STRIDE, role.get(one, -1))
        loops.setdefault(key, []).append((one, other, weight))
    return {one: other for loop in loops.values() for one, other, _ in _heaviest_cycle(loop)}


def _heaviest_cycle(loop: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The heaviest entries whose second numbers count up, but for one step back to the start."""
    cuts = [i for i, (x, y) in enumerate(pairwise(loop), 1) if y[1] < x[1]] or [0]
    turned = [_heaviest_increasing([*loop[cut:], *loop[:cut]]) for cut in cuts]
    return max(turned, key=lambda entries: sum(weight for *_, weight in entries))


def _heaviest_increasing(loop: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    weight: list[int] = []
    before: list[int] = []
    for i, (_, value, own) in enumerate(loop):
        fitting = [j for j in range(i) if loop[j][1] < value]
        best = max(fitting, key=lambda j: weight[j], default=-1)
        weight.append(own + (weight[best] if best >= 0 else 0))
        before.append(best)
    at = int(np.argmax(weight))
    kept = []
    while at >= 0:
        kept.append(loop[at])
        at = before[at]
    return kept


def _rotated_in(
    kernels: Kernels, found: Patterns, stands_for: Ints, true: Ints, right: Bools
) -> Bools:
    """Kernels beside repeats of a loop that complete a run of it with the very same operation.

    A run of repeated layers may end with the norm before the head; one of draft steps with the
    first kernels of the step that checks them, which are those of a draft step, too.
    """
    codes = kernels.op_codes()
    op_at: dict[int, int] = dict(zip(true[right].tolist(), codes[right].tolist(), strict=True))
    same = [op_at.get(one) == code for one, code in zip(stands_for.tolist(), codes, strict=True)]
    runs = found.runs
    whole = (runs.missing <= 1) & (runs.extra == 0) & (runs.swapped == 0)
    run = kernel_places(found).run
    whole &= np.bincount(run[right], minlength=len(runs)) > 0
    rotated: Bools = np.array(same) & (run >= 0) & whole[run]
    return rotated


def _rotations(chosen: Mapping[int, int], right: Bools, mine: Ints, true: Ints) -> dict[int, int]:
    """By true loop the true place with which the found loop starts that most of it is in."""
    starts: dict[int, int] = {}
    pairs, count = np.unique(
        np.stack([mine[right] // STRIDE, true[right] // STRIDE]), axis=1, return_counts=True
    )
    for found, loop in pairs[:, np.argsort(count, kind="stable")].T.tolist():
        first = min(one for one in chosen if one // STRIDE == found)
        starts[loop] = chosen[first] % STRIDE
    return starts


def _left_over(kernels: Kernels, rotation: Mapping[int, int]) -> Bools:
    """Kernels before the first rotated run of repeated layers, and after the last one."""
    layer, pattern, place = (kernels.whole(one) for one in ("layer", "pattern", "place"))
    shape = (len(kernels.patterns), int(layer.max()) + 2)
    first, last = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    start = np.zeros(len(kernels.patterns), dtype=np.int64)
    for loop, stacks in _stacks(kernels).items():
        start[loop] = rotation.get(loop, 0)
        for stack in stacks:
            first[loop, stack[0]] = True
            last[loop, stack[-1]] = True
    before = first[pattern, layer] & (place < start[pattern])
    after = last[pattern, layer] & (place >= start[pattern]) & (start[pattern] > 0)
    return (layer >= 0) & (before | after)


def _stacks(kernels: Kernels) -> Mapping[int, list[list[list[int]]]]:
    """By loop of layers its stacks, each a list of runs, each the layers in it."""
    layer, pattern, place = (kernels.whole(one) for one in ("layer", "pattern", "place"))
    outer = kernels.patterns.index(LAYERS)
    stacks: dict[int, list[list[list[int]]]] = {}
    last: dict[int, tuple[int, int]] = {}
    for number in range(int(layer.max()) + 1):
        mine = layer == number
        loop, start = int(pattern[mine][0]), int(place[mine].min())
        before, at = last.get(loop, (-1, -1))
        if loop not in stacks or (loop != outer and before != number - 1):
            stacks.setdefault(loop, []).append([[number]])
        elif start <= at:
            stacks[loop][-1].append([number])
        else:
            stacks[loop][-1][-1].append(number)
        last[loop] = (number, start)
    return stacks


def _named_alike(kernels: Kernels, true: Ints, found: NDArray[np.int32]) -> bool:
    """Whether most kernels of a true loop have the same pattern on each rank."""
    sizes = [len(rank["ts"]) for rank in kernels.ranks]
    rank = np.repeat(np.arange(len(sizes)), sizes)
    for loop in np.unique(true[true >= 0]):
        names = {
            int(np.bincount(found[mine][found[mine] >= 0], minlength=1).argmax())
            for mine in ((true == loop) & (rank == number) for number in range(len(sizes)))
            if mine.any()
        }
        if len(names) > 1:
            return False
    return True
