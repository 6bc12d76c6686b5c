"""Kernels of a scenario as detection reads them, and damage done to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.ops import classify
from perfetto_autoviz.steps.patterns import RankKernels
from perfetto_autoviz.synth import ScenarioSpec, synth_arrays
from perfetto_autoviz.synth.loops import DRAFT_STEP, STEP

Ints = NDArray[np.int64]

LOSS, STRAYS = 0.001, 0.0005
"""Of noisy captures: the shares of kernels that are missing, and of extra copies."""

STRAY = "Memcpy DtoD (Device -> Device)"


@dataclass(frozen=True)
class Kernels:
    """The kernels of all ranks with their truth.

    Attributes:
        names: kernel names.
        patterns: names of the loops they run in.
        parts: what they can be a part of.
        ranks: columns of the truth by rank, ``(kernels,)`` each.
    """

    names: Sequence[str]
    patterns: Sequence[str]
    parts: Sequence[str]
    ranks: tuple[Mapping[str, Ints], ...]

    def whole(self, column: str) -> Ints:
        """A column of all ranks, one after the other."""
        return np.concatenate([rank[column] for rank in self.ranks])

    def detectable(self) -> list[RankKernels]:
        """What pattern detection reads; without iterations and layers."""
        codes: dict[str, int] = {}
        ops = np.array([codes.setdefault(classify(n).op, len(codes)) for n in self.names])
        return [
            RankKernels(
                rank=number,
                device=np.zeros(len(rank["ts"]), dtype=np.int64),
                stream=rank["stream"],
                ts=rank["ts"],
                dur=rank["dur"],
                op=ops[rank["name"]],
            )
            for number, rank in enumerate(self.ranks)
        ]

    def step_sizes(self) -> dict[str, float]:
        """Kernels of a step of each kind on the first rank."""
        pattern, iteration = self.ranks[0]["pattern"], self.ranks[0]["iteration"]
        size = np.bincount(iteration[iteration >= 0])
        steps = {
            kind: np.unique(iteration[pattern == self.patterns.index(kind)])
            for kind in (STEP, DRAFT_STEP)
        }
        return {kind: float(np.median(size[own])) for kind, own in steps.items() if len(own)}

    def op_codes(self) -> Ints:
        """The code of each kernel of all ranks."""
        return np.concatenate([rank.op for rank in self.detectable()])

    def ops(self) -> NDArray[np.object_]:
        """The operations by the codes of ``detectable``."""
        return np.array([*dict.fromkeys(classify(name).op for name in self.names)], object)


def kernels_of(spec: ScenarioSpec) -> Kernels:
    """The kernels of a scenario, complete."""
    made = synth_arrays(spec)
    return Kernels(made.names, made.patterns, made.parts, made.ranks)


def damaged(kernels: Kernels, rng: np.random.Generator) -> Kernels:
    """The kernels without a few, and with copies that belong nowhere."""
    names = [*kernels.names, STRAY]
    ranks = []
    for rank in kernels.ranks:
        kept = rng.random(len(rank["ts"])) >= LOSS
        strays = np.flatnonzero(rng.random(len(rank["ts"])) < STRAYS)
        columns = {}
        for column, values in rank.items():
            extra = _stray(column, values, strays, len(names) - 1, rank)
            columns[column] = np.concatenate([values[kept], extra])
        order = np.argsort(columns["ts"], kind="stable")
        ranks.append({column: values[order] for column, values in columns.items()})
    return replace(kernels, names=names, ranks=tuple(ranks))


def _stray(column: str, values: Ints, after: Ints, name: int, rank: Mapping[str, Ints]) -> Ints:
    if column == "ts":
        return values[after] + rank["dur"][after]
    return np.full(
        len(after), {"dur": 1, "name": name, "stream": rank["stream"][0]}.get(column, -1)
    )


def lacking(kernels: Kernels, rng: np.random.Generator) -> Kernels:
    """The kernels without one position of the layers on the last rank."""
    last = kernels.ranks[-1]
    inside = last["layer"] >= 0
    part, position = last["part"][inside], last["position"][inside]
    chosen = int(rng.integers(len(part)))
    gone = inside & (last["part"] == part[chosen]) & (last["position"] == position[chosen])
    rest = {column: values[~gone] for column, values in last.items()}
    return replace(kernels, ranks=(*kernels.ranks[:-1], rest))


def shuffled(kernels: Kernels, rng: np.random.Generator) -> Kernels:
    """The same kernels in any order."""
    ranks = []
    for rank in kernels.ranks:
        order = rng.permutation(len(rank["ts"]))
        ranks.append({**rank, "name": rank["name"][order]})
    return replace(kernels, ranks=tuple(ranks))
