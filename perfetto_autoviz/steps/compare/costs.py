"""What it costs to take one kernel for another, or for several.

All costs are in units in which taking one kernel away and putting another in its place costs
1, so that whatever costs more is better explained by that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

GAP = 0.5
"""Of a kernel that is removed or added."""

OTHER_NAME = 0.15
"""Of any other operation in place of one: so much must be gained for a new name."""

UNLIKE_NAME = 0.45
"""Of names that have nothing in common; with ``OTHER_NAME`` still less than 1, as the libraries
of two vendors share no names."""

UNLIKE_FAMILY = 0.6
"""Of another family: more than 1 with any name that is not much alike."""

UNLIKE_DURATION = 0.2
"""Of a duration that is not comparable; little, as builds are compared because durations change."""

KNOWN_NAME = 0.3
"""Of an operation that the other side has as often: it kept its name, so it is another kernel."""

KNOWN_HELPER = 0.05
"""Of a helper in a group that the other side has too, but elsewhere."""

SAME_DURATION = 0.05
"""Of another duration of one operation: just enough to choose between equal ones."""

GROUP = 0.05
"""Of one kernel for several, beyond the cost of the best of them."""

GROUP_DURATION = 0.4
"""Of a sum of durations that is not comparable: that a group takes as long as what it
replaces is what tells it from kernels that were added beside it."""

GROUP_GROWTH = 0.3
"""Of the same for each kernel beyond two: the more are taken, the better they must fit."""

COMPANION = 0.1
"""Of a further kernel of a group that has the family of the one."""

HELPER = 0.2
"""Of a further kernel of a group that prepares or collects data."""

STRANGER = 0.3
"""Of a further kernel of a group that does neither: less than one added, as
it came where another went."""

REPEAT = 0.4
"""Of each kernel of a group that is there a second time: two equal ones, unless they prepare
data, have each a partner of their own."""

HELPERS = frozenset({"elementwise", "memory", "quantize", "norm", "other", ""})
"""Families of kernels that prepare data for another, or collect what it leaves."""

NEVER = 1e6
"""Of what can't be: more than any sequence of gaps costs."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
"""``cute:FusedAddRMSNormKernel`` has the words cute, Fused, Add, RMS, Norm, Kernel."""


@dataclass(frozen=True)
class Item:
    """One element of a sequence that is aligned.

    Attributes:
        op: its operation, or what stands for an inner loop.
        family: its family.
        dur: the ns it takes per run.
        name: its raw name.
    """

    op: str
    family: str
    dur: float
    name: str = ""


@dataclass(frozen=True)
class Costs:
    """Costs between two sequences, all of shape ``(of A, of B)``.

    Attributes:
        pair: of taking one for the other.
        core: of taking A's for a group of which B's is the main one, durations aside.
        companion_b: of B's as a further one of a group that stands for A's.
        companion_a: of A's as a further one of a group that B's stands for.
        dur_a: shape ``(of A,)``, durations in ns.
        dur_b: shape ``(of B,)``, durations in ns.
        kind_a: shape ``(of A,)``, equal for equal operations, if they are no helpers.
        kind_b: shape ``(of B,)``, the same for B's.
    """

    pair: Floats
    core: Floats
    companion_b: Floats
    companion_a: Floats
    dur_a: Floats
    dur_b: Floats
    kind_a: Ints
    kind_b: Ints

    def swapped(self) -> Costs:
        """The costs from B to A."""
        return Costs(
            self.pair.T,
            self.core.T,
            self.companion_a.T,
            self.companion_b.T,
            self.dur_b,
            self.dur_a,
            self.kind_b,
            self.kind_a,
        )


def sequence_costs(a: Sequence[Item], b: Sequence[Item]) -> Costs:
    """Costs between the elements of two sequences."""
    same = np.array([one.op for one in a], object)[:, None] == np.array(
        [other.op for other in b], object
    )
    same = same.astype(bool).reshape(len(a), len(b))
    family = _codes([one.family for one in a], [other.family for other in b])
    unlike_family = family[0][:, None] != family[1]
    dur_a, dur_b = (np.array([item.dur for item in side], np.float64) for side in (a, b))
    known = _known(a, b)[:, None], _known(b, a)[None, :]
    core = _other_name(a, b) + KNOWN_NAME * (known[0] + known[1]) + UNLIKE_FAMILY * unlike_family
    off = mismatch(dur_a[:, None], dur_b)
    return Costs(
        pair=np.where(same, SAME_DURATION * off, core + UNLIKE_DURATION * off),
        core=np.where(same, NEVER, core),
        companion_b=_companions(b, ~unlike_family, same, known[1], by_row=False),
        companion_a=_companions(a, ~unlike_family, same, known[0], by_row=True),
        dur_a=dur_a,
        dur_b=dur_b,
        kind_a=_kinds(a),
        kind_b=_kinds(b),
    )


def mismatch(one: Floats, other: Floats) -> Floats:
    """0 for equal durations, towards 1 the more they differ."""
    longer = np.maximum(one, other)
    off: Floats = 1 - np.minimum(one, other) / np.where(longer > 0, longer, 1)
    return np.where(longer > 0, off, 0.0)


@lru_cache(maxsize=1 << 16)
def name_similarity(one: str, other: str) -> float:
    """How alike two names are, by their words or by their letters, from 0 to 1."""
    words = [[word.lower() for word in _WORD.findall(name)] for name in (one, other)]
    by_word = Indel.normalized_similarity(sorted(words[0]), sorted(words[1]))
    return float(max(by_word, Indel.normalized_similarity(one.lower(), other.lower())))


def _known(side: Sequence[Item], other: Sequence[Item]) -> Floats:
    """1 for each operation that the other side has at least as often, else 0.

    Where the other side has fewer of them, some became something else.
    """
    here, there = Counter(item.op for item in side), Counter(item.op for item in other)
    return np.array([float(there[item.op] >= here[item.op]) for item in side])


def _other_name(a: Sequence[Item], b: Sequence[Item]) -> Floats:
    """Of another name: how unlike the two are."""
    ops_a, ops_b = ([item.op for item in side] for side in (a, b))
    distinct_a, distinct_b = sorted(set(ops_a)), sorted(set(ops_b))
    alike = np.array([[name_similarity(x, y) for y in distinct_b] for x in distinct_a])
    rows = [distinct_a.index(op) for op in ops_a]
    columns = [distinct_b.index(op) for op in ops_b]
    unlike = 1 - alike.reshape(len(distinct_a), len(distinct_b))[np.ix_(rows, columns)]
    cost: Floats = OTHER_NAME + UNLIKE_NAME * unlike
    return cost


def _companions(
    side: Sequence[Item], same_family: Bools, same: Bools, known: Floats, *, by_row: bool
) -> Floats:
    helper = np.array([item.family in HELPERS for item in side], bool)
    helper = helper[:, None] if by_row else helper[None, :]
    cost = np.where(same_family, COMPANION, np.where(helper, HELPER, STRANGER))
    # What the other side runs too was hardly made for the group, unless it is what any kernel
    # may need. A group that holds the very operation is that operation and others beside it.
    cost = cost + np.where(helper, KNOWN_HELPER, KNOWN_NAME) * known
    return np.where(same, NEVER, cost)


def _kinds(side: Sequence[Item]) -> Ints:
    first: dict[str, int] = {}
    return np.array(
        [
            number if item.family in HELPERS else first.setdefault(item.op, number)
            for number, item in enumerate(side)
        ],
        np.int64,
    )


def _codes(one: Sequence[str], other: Sequence[str]) -> tuple[Ints, Ints]:
    code: dict[str, int] = {}
    for text in (*one, *other):
        code.setdefault(text, len(code))
    return (
        np.array([code[text] for text in one], np.int64),
        np.array([code[text] for text in other], np.int64),
    )
