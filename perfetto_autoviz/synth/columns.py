"""What the truth says of the kernels of a program, whatever their times are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.loops import pattern_names
from perfetto_autoviz.synth.model import Model
from perfetto_autoviz.synth.program import Program, part_names

Ints = NDArray[np.int64]
NameIds = Callable[[Sequence[str]], Ints]


class ProgramColumns:
    """Columns of the truth that are the same in every step of a program.

    Args:
        model: the model whose programs they are.
        name_ids: numbers of kernel names.
    """

    def __init__(self, model: Model, name_ids: NameIds) -> None:
        self.parts = part_names(model)
        self.patterns = pattern_names(model)
        self._streams = model.gpu.streams
        self._name_ids = name_ids
        self._known: dict[int, dict[str, Ints]] = {}
        self._programs: list[Program] = []

    def of(self, program: Program) -> dict[str, Ints]:
        """``stream, name, layer, position, part, pattern, place``, each ``(kernels,)``."""
        key = id(program)
        if key not in self._known:
            self._programs.append(program)  # An id is unique while its object lives.
            self._known[key] = self._columns(program)
        return self._known[key]

    def _columns(self, program: Program) -> dict[str, Ints]:
        kernels = program.kernels
        numbers = {name: number for number, name in enumerate(self.patterns)}
        return {
            "stream": _ints([self._streams[k.slot.stream] for k in kernels]),
            "name": self._name_ids([k.slot.name for k in kernels]),
            "layer": program.layer,
            "position": program.position,
            "part": _ints([self.parts.index(k.part) for k in kernels]),
            "pattern": _ints([numbers.get(k.pattern, -1) for k in kernels]),
            "place": _ints([k.place if k.pattern else -1 for k in kernels]),
        }


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
