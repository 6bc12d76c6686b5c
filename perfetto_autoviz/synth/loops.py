"""Which loops a model's kernels run in: the truth of patterns.

A step is a loop, and so are the layers in it. Layers that take turns make one loop of one layer
of each kind, in which several of a kind in a row are a loop of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from perfetto_autoviz.synth.model import Model

STEP, DRAFT_STEP, LAYERS = "step", "draft step", "layers"
"""Patterns of every model; a kind of layer that runs several times in a row is one more."""


@dataclass(frozen=True)
class LayerPlace:
    """Where a layer's kernels belong.

    Attributes:
        pattern: name of the pattern.
        start: position in the pattern of the layer's first position.
    """

    pattern: str
    start: int


def pattern_names(model: Model) -> list[str]:
    """All patterns that a model's kernels can belong to."""
    inner = [kind for kind, count in _turns(model) if count > 1]
    several = len(_turns(model)) > 1
    return [STEP, DRAFT_STEP, LAYERS, *(dict.fromkeys(inner) if several else ())]


def layer_places(model: Model) -> tuple[LayerPlace, ...]:
    """The places of the layers in one turn of all kinds; later layers follow in turn."""
    turns = _turns(model)
    if len(turns) == 1:
        return (LayerPlace(LAYERS, 0),)
    places: list[LayerPlace] = []
    start = 0
    for kind, count in turns:
        if count > 1:
            places += [LayerPlace(kind, 0)] * count
            start += 1
        else:
            places.append(LayerPlace(LAYERS, start))
            start += len(model.kinds[kind])
    return tuple(places)


def _turns(model: Model) -> list[tuple[str, int]]:
    """The kinds in turn, each with how many layers of it are neighbours."""
    return [(kind, len([*group])) for kind, group in groupby(model.pattern)]
