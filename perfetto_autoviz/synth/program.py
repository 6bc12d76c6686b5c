"""Programs: the kernels of one step in order, and how they are launched.

A program is the same for all steps of one kind, so that a step only has to draw its times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.loops import STEP, LayerPlace, layer_places
from perfetto_autoviz.synth.model import Model, Slot, StreamRole
from perfetto_autoviz.synth.noise import CLASSES

LaunchMode = Literal["graph", "piecewise", "eager"]
Ints = NDArray[np.int64]

INNER_SKIPS = 2
"""Calls of the prologue that lie before an inner annotation in the measured captures."""

OUTSIDE_PARTS = ("prologue", "head", "tail", "epilogue", "outside")


@dataclass(frozen=True)
class Placed:
    """A kernel in its place.

    Attributes:
        slot: what runs.
        part: name of the part of the step it belongs to.
        layer: index of the layer, -1 outside layers.
        position: ordinal in its part, counted as in a layer that lacks no position.
        pattern: name of the innermost pattern it belongs to, empty for none.
        place: its position in that pattern.
    """

    slot: Slot
    part: str
    layer: int
    position: int
    pattern: str = ""
    place: int = -1


@dataclass(frozen=True)
class Launch:
    """One runtime call and the kernels ``start`` to ``stop`` that it starts."""

    start: int
    stop: int
    graph: bool


@dataclass(frozen=True)
class Run:
    """Neighbouring kernels of one stream, ``start`` to ``stop``.

    Attributes:
        start: first kernel.
        stop: one past the last kernel.
        stream: role of the stream.
        collective: whether it is one kernel that ends on all ranks together.
        joins: whether its first kernel waits for the side stream.
    """

    start: int
    stop: int
    stream: StreamRole
    collective: bool
    joins: bool


@dataclass(frozen=True, eq=False)
class Program:
    """The kernels of one step in launch order, with arrays of shape ``(kernels,)``."""

    mode: LaunchMode
    kernels: tuple[Placed, ...]
    launches: tuple[Launch, ...]

    def __len__(self) -> int:
        return len(self.kernels)

    @cached_property
    def classes(self) -> Ints:
        """Index of each kernel's class in the noise table."""
        return _ints(CLASSES.index(k.slot.cls) for k in self.kernels)

    @cached_property
    def dur(self) -> NDArray[np.float64]:
        """Durations in ns under the base load."""
        return _ints(k.slot.dur_ns for k in self.kernels).astype(np.float64)

    @cached_property
    def gap(self) -> Ints:
        """Gaps in ns before each kernel on its stream; negative where it overlaps."""
        return _ints(k.slot.gap_ns for k in self.kernels)

    @cached_property
    def layer(self) -> Ints:
        """Index of each kernel's layer, -1 outside."""
        return _ints(k.layer for k in self.kernels)

    @cached_property
    def position(self) -> Ints:
        """Ordinal of each kernel in its part."""
        return _ints(k.position for k in self.kernels)

    @cached_property
    def launch_of(self) -> Ints:
        """Index of the launch that starts each kernel."""
        sizes = [launch.stop - launch.start for launch in self.launches]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)

    @cached_property
    def layer_starts(self) -> Ints:
        """Index of the first kernel of each layer, and one past the last layer's end."""
        inside = np.flatnonzero(self.layer >= 0)
        if not len(inside):
            return np.empty(0, dtype=np.int64)
        starts = inside[np.flatnonzero(np.diff(self.layer[inside], prepend=-1))]
        return np.append(starts, inside[-1] + 1)

    def annotated_launches(self, depth: int) -> tuple[int, int]:
        """First launch inside the annotation at a depth of nesting, and one past its last.

        An inner annotation covers the model's forward only: it opens after the first calls of
        the prologue and closes before the epilogue, as SGLang's does.
        """
        if depth == 0 or not self.kernels:
            return 0, len(self.launches)
        stop = sum(self.kernels[launch.start].part != "epilogue" for launch in self.launches)
        return min(INNER_SKIPS, stop - 1), stop

    def runs(self, ranks: int) -> list[Run]:
        """The program cut at changes of the stream, at what joins the side, at collectives."""
        found: list[Run] = []
        joined = np.cumsum([placed.slot.joins for placed in self.kernels]).tolist()
        for (stream, collective, _), group in groupby(
            enumerate(self.kernels),
            key=lambda item: (*_run_key(item[1].slot, ranks), joined[item[0]]),
        ):
            indices = [i for i, _ in group]
            cuts = [*indices, indices[-1] + 1] if collective else [indices[0], indices[-1] + 1]
            found += [
                Run(start, stop, stream, collective, self.kernels[start].slot.joins)
                for start, stop in pairwise(cuts)
            ]
        return found


def _run_key(slot: Slot, ranks: int) -> tuple[StreamRole, bool]:
    return slot.stream, ranks > 1 and slot.cls == "communication"


def _ints(values: Iterator[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def step_program(model: Model, mode: LaunchMode, layers: int, pattern: str = STEP) -> Program:
    """A step of the model with its first ``layers`` layers, launched in ``mode``.

    Args:
        model: the model.
        mode: how it is launched.
        layers: number of layers.
        pattern: name of the pattern that such steps are runs of.
    """
    prologue = [*_part(model.prologue, "prologue", pattern)]
    inner = [*_part(model.head, "head", pattern, len(prologue))]
    # All layers together are one position of the step.
    place = len(prologue) + len(inner) + 1
    turn = layer_places(model)
    for layer in range(layers):
        kind = model.kind_of(layer)
        inner += _layer(model.kinds[kind], kind, layer, turn[layer % len(turn)])
    inner += _part(model.tail, "tail", pattern, place)
    epilogue = [*_part(model.epilogue, "epilogue", pattern, place + len(model.tail))]
    kernels = (*prologue, *inner, *epilogue)
    start, stop = len(prologue), len(prologue) + len(inner)
    launches = [
        *_eager(0, start),
        *_inner_launches(kernels, start, stop, mode),
        *_eager(stop, len(kernels)),
    ]
    return Program(mode, kernels, tuple(launches))


def prologue_program(model: Model) -> Program:
    """Only the prologue: what the device sees of a graph capture."""
    kernels = tuple(_part(model.prologue, "prologue"))
    return Program("eager", kernels, tuple(_eager(0, len(kernels))))


def empty_program() -> Program:
    """A step that does nothing on the device."""
    return Program("eager", (), ())


def part_names(model: Model) -> list[str]:
    """All parts a kernel can belong to, in the order of a step."""
    before, after = OUTSIDE_PARTS[:2], OUTSIDE_PARTS[2:]
    return [*before, *model.kinds, *after]


def _part(slots: Sequence[Slot], part: str, pattern: str = "", start: int = 0) -> Iterator[Placed]:
    for position, slot in enumerate(slots):
        yield Placed(slot, part, -1, position, pattern, start + position)


def _layer(slots: Sequence[Slot], kind: str, layer: int, at: LayerPlace) -> Iterator[Placed]:
    for position, slot in enumerate(slots):
        if layer == 0 and slot.skip_first:
            continue
        if layer == 0 and slot.first is not None:
            slot = replace(slot, name=slot.first.name, dur_ns=slot.first.dur_ns)
        yield Placed(slot, kind, layer, position, at.pattern, at.start + position)


def _eager(start: int, stop: int) -> Iterator[Launch]:
    for i in range(start, stop):
        yield Launch(i, i + 1, graph=False)


def _inner_launches(
    kernels: Sequence[Placed], start: int, stop: int, mode: LaunchMode
) -> Iterator[Launch]:
    """A piecewise step replays one graph between two attention calls."""
    if mode == "eager":
        yield from _eager(start, stop)
        return
    piece = start
    for i in range(start, stop):
        if mode == "piecewise" and kernels[i].slot.cls == "attention":
            if i > piece:
                yield Launch(piece, i, graph=True)
            yield Launch(i, i + 1, graph=False)
            piece = i + 1
    if stop > piece:
        yield Launch(piece, stop, graph=True)
