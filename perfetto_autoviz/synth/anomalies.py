"""Makes things go wrong in layers of a scenario, and says where.

What takes longer on one rank delays what follows on it in the same step; the ranks start the
next step together, later by as much. Kernels that are missing, extra or swapped are so in the
replayed graph, and so on all ranks. What a step lacks or has too much is never made in eager
steps, whose launches it would change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.anomaly_kinds import (
    DRIFT,
    KINDS,
    SLOW_COLLECTIVE,
    SPIKE,
    STALL_NS,
    SWAP_APART,
    Kind,
    StepAnomaly,
)
from perfetto_autoviz.synth.program import Launch, Placed, Program
from perfetto_autoviz.synth.simulate import Step
from perfetto_autoviz.synth.timeline import StepTimes

Ints = NDArray[np.int64]

_STRUCTURAL = ("swap", "missing", "extra")


def disturbed(
    steps: Iterable[Step], layers: int, real: range, each: int, seed: int
) -> Iterator[Step]:
    """Makes up to so many anomalies of each kind happen, at most one in a layer of a step.

    Args:
        steps: the steps in order.
        layers: layers of a step.
        real: numbers of the steps in which something may go wrong.
        each: anomalies of each kind; fewer if no step has a place for them.
        seed: of what goes wrong where.
    """
    rng = np.random.default_rng([seed, 5])
    count = min(each * len(KINDS), len(real) * layers)
    slots = np.sort(rng.choice(len(real) * layers, count, replace=False))
    waiting = [KINDS[i] for i in rng.permutation(np.repeat(np.arange(len(KINDS)), each))]
    delay = 0
    for step in steps:
        maker = _Maker(_later(step, delay), rng)
        if step.plan.index in real:
            own = slots[slots // layers == step.plan.index - real.start] % layers
            for layer in own.tolist():
                maker.make_first_possible(waiting, layer)
        delay += maker.delay
        yield maker.step()


class _Maker:
    """One step and what goes wrong in it; arrays have shape ``(ranks, kernels)``."""

    def __init__(self, step: Step, rng: np.random.Generator) -> None:
        self._step = step
        self._rng = rng
        self._kernels: list[Placed] = list(step.program.kernels)
        self._launches = list(step.program.launches)
        self._ts, self._dur = step.times.ts.copy(), step.times.dur.copy()
        self._anomalies: list[StepAnomaly] = []
        self.delay = 0

    def make_first_possible(self, waiting: list[Kind], layer: int) -> None:
        """Makes the first anomaly of a list that has a place in a layer, and takes it off."""
        inside = [i for i, kernel in enumerate(self._kernels) if kernel.layer == layer]
        if not inside:
            return
        graph = self._launches[self._launch_of(inside[0])].graph
        rank = int(self._rng.integers(len(self._ts)))
        for number, kind in enumerate(waiting):
            if kind in _STRUCTURAL and not graph:
                continue
            made = _MAKERS[kind](self, inside, rank)
            if made is not None:
                self._anomalies.append(replace(made, layer=layer))
                del waiting[number]
                return

    def step(self) -> Step:
        """The step with all that went wrong."""
        if not self._anomalies:
            return self._step
        program = Program(self._step.program.mode, tuple(self._kernels), tuple(self._launches))
        times = replace(self._step.times, ts=self._ts, dur=self._dur)
        return replace(self._step, program=program, times=times, anomalies=tuple(self._anomalies))

    def spike(self, inside: list[int], rank: int) -> StepAnomaly:
        at = self._any(inside)
        self._last(rank, at, round(int(self._dur[rank, at]) * SPIKE))
        return StepAnomaly("spike", rank, -1, (at,))

    def stall(self, inside: list[int], rank: int) -> StepAnomaly:
        at = self._any(inside[1:])
        own = self._ts[rank]
        own[own >= own[at]] += STALL_NS
        self.delay += STALL_NS
        return StepAnomaly("stall", rank, -1, (at,))

    def drift(self, inside: list[int], rank: int) -> StepAnomaly:
        for at in sorted(inside, key=lambda i: int(self._ts[rank, i])):
            self._last(rank, at, round(int(self._dur[rank, at]) * DRIFT))
        return StepAnomaly("drift", rank, -1, ())

    def slow_collective(self, inside: list[int], rank: int) -> StepAnomaly | None:
        collectives = [i for i in inside if self._kernels[i].slot.cls == "communication"]
        if not collectives:
            return None
        at = self._any(collectives)
        self._last(rank, at, round(int(self._dur[rank, at]) * SLOW_COLLECTIVE))
        return StepAnomaly("slow_collective", rank, -1, (at,))

    def swap(self, inside: list[int], _rank: int) -> StepAnomaly | None:
        pairs = [
            pair
            for pair in zip(inside, inside[SWAP_APART:], strict=False)
            if self._name(pair[0]) != self._name(pair[1]) and self._one_stream(*pair)
        ]
        if not pairs:
            return None
        first, second = pairs[int(self._rng.integers(len(pairs)))]
        kernels = self._kernels
        kernels[first], kernels[second] = kernels[second], kernels[first]
        for rank in range(len(self._ts)):
            before, after = self._dur[rank, [first, second]].tolist()
            self._last(rank, first, after, counts=False)
            self._last(rank, second, before, counts=False)
        return StepAnomaly("swap", -1, -1, (first, second))

    def missing(self, inside: list[int], _rank: int) -> StepAnomaly | None:
        followed = [i for i in inside if i + 1 < len(self._kernels) and self._one_stream(i, i + 1)]
        if not followed:
            return None
        at = self._any(followed)
        name = self._name(at)
        for ts in self._ts:
            ts[ts > ts[at]] -= ts[at + 1] - ts[at]
        self._ts, self._dur = np.delete(self._ts, at, axis=1), np.delete(self._dur, at, axis=1)
        del self._kernels[at]
        self._resize(at, -1)
        return StepAnomaly("missing", -1, -1, (), name)

    def extra(self, inside: list[int], _rank: int) -> StepAnomaly | None:
        followed = [i for i in inside[:-1] if self._one_stream(i, i + 1)]
        if not followed:
            return None
        at = self._any(followed)
        near = (self._name(at), self._name(at + 1))
        others = [i for i in inside if self._name(i) not in near]
        if not others:
            return None
        self._insert(at, self._any(others))
        return StepAnomaly("extra", -1, -1, (at + 1,))

    def _insert(self, at: int, copied: int) -> None:
        """Runs a kernel once more behind another one, after the gap that is usual there."""
        dur = self._dur[:, copied]
        gap = self._ts[:, at + 1] - self._ts[:, at] - self._dur[:, at]
        start = np.maximum(self._ts[:, at] + self._dur[:, at] + gap, self._ts[:, at])
        takes = np.maximum(dur + gap, 1)
        for ts, more in zip(self._ts, takes.tolist(), strict=True):
            ts[ts >= ts[at + 1]] += more
        self.delay += int(takes.max())
        self._ts = np.insert(self._ts, at + 1, start, axis=1)
        self._dur = np.insert(self._dur, at + 1, dur, axis=1)
        placed = self._kernels[at]
        more_placed = Placed(self._kernels[copied].slot, placed.part, placed.layer, -1)
        self._kernels.insert(at + 1, more_placed)
        self._resize(at, 1)

    def _last(self, rank: int, at: int, dur: int, *, counts: bool = True) -> None:
        """Gives a kernel another duration; what starts after it on its rank moves."""
        own, longer = self._ts[rank], dur - int(self._dur[rank, at])
        later = own > own[at]
        own[later] = np.maximum(own[later] + longer, own[at])
        self._dur[rank, at] = dur
        if counts:
            self.delay += longer

    def _resize(self, at: int, by: int) -> None:
        """Lets the launch of a kernel start more or fewer, and all later ones others."""
        launch = self._launch_of(at)
        self._launches[launch] = replace(
            self._launches[launch], stop=self._launches[launch].stop + by
        )
        for number in range(launch + 1, len(self._launches)):
            old = self._launches[number]
            self._launches[number] = Launch(old.start + by, old.stop + by, old.graph)
        # What was noted before lies elsewhere now.
        self._anomalies = [
            replace(one, culprits=tuple(i + by if i > at else i for i in one.culprits))
            for one in self._anomalies
        ]

    def _launch_of(self, at: int) -> int:
        return next(i for i, one in enumerate(self._launches) if one.start <= at < one.stop)

    def _any(self, kernels: list[int]) -> int:
        return kernels[int(self._rng.integers(len(kernels)))]

    def _name(self, at: int) -> str:
        return self._kernels[at].slot.name

    def _one_stream(self, *kernels: int) -> bool:
        return len({self._kernels[i].slot.stream for i in kernels}) == 1


_MAKERS: Mapping[Kind, Callable[[_Maker, list[int], int], StepAnomaly | None]] = {
    "spike": _Maker.spike,
    "stall": _Maker.stall,
    "swap": _Maker.swap,
    "drift": _Maker.drift,
    "missing": _Maker.missing,
    "extra": _Maker.extra,
    "slow_collective": _Maker.slow_collective,
}


def _later(step: Step, delay: int) -> Step:
    """A step that happens later on all ranks."""
    if not delay:
        return step
    times = step.times
    moved = ("host_ts", "wait_ts", "op_ts", "api_ts", "ts")
    later: StepTimes = replace(times, **{name: getattr(times, name) + delay for name in moved})
    stray = step.stray
    if stray is not None:
        stray = replace(stray, api_ts=stray.api_ts + delay, ts=stray.ts + delay)
    return replace(step, times=later, stray=stray)
