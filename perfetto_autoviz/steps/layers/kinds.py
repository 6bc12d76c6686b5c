"""What kind of layer a layer is: what it consists of, and which variant of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.layers.boundaries import Kernel

MAX_DIFFERENCE = 0.2
"""A layer whose ops differ from a kind's in a larger share of the positions is irregular."""

MIN_PLACES = 2
"""A sequence of ops that occurs at fewer layer indices is no kind of its own: the first layer
of a model has another norm than all others, and still is a layer like them."""


@dataclass(frozen=True)
class LayerOps:
    """What the kind of a layer is derived from.

    Attributes:
        group: what the layer is compared within: layers of other phases and batch sizes
            run other kernels and still are of the same kind.
        composition: from `composition`.
        index: index of the layer in its iteration.
        ops: shape (n,), codes of its ops in order, as bytes of int64.
    """

    group: Hashable
    composition: str
    index: int
    ops: bytes


def composition(kernels: Sequence[Kernel]) -> str:
    """The parts of a layer, e.g. ``attention+moe``, ``attention+mlp`` or ``attention``."""
    families = {kernel.family for kernel in kernels}
    attends = "attention" in families or any(kernel.is_plain_softmax for kernel in kernels)
    parts = ["attention"] if attends else []
    if "moe" in families:
        parts.append("moe")
    elif "activation" in families or sum(k.family == "gemm" for k in kernels) > 2:
        # Query-key-value and output projections are two; more are a feed-forward part whose
        # activation is fused into them.
        parts.append("mlp")
    return "+".join(parts) or "layer"


def kinds(layers: Sequence[LayerOps]) -> list[str]:
    """Names of the layers' kinds, the same in every group.

    Returns:
        For each layer its composition. Where layers of one composition alternate between
        several sequences of ops, those are numbered from 2 in order of first appearance.
        A layer that is like none of them is called irregular.
    """
    members: dict[tuple[Hashable, str], list[LayerOps]] = {}
    for layer in layers:
        members.setdefault((layer.group, layer.composition), []).append(layer)
    names = {key: _variants(key[1], group) for key, group in members.items()}
    return [names[layer.group, layer.composition][layer.ops] for layer in layers]


def _variants(title: str, layers: Sequence[LayerOps]) -> dict[bytes, str]:
    places: dict[bytes, set[int]] = {}
    for layer in layers:
        places.setdefault(layer.ops, set()).add(layer.index)
    kept = [ops for ops, where in places.items() if len(where) >= MIN_PLACES]
    if not kept:
        kept = [Counter(layer.ops for layer in layers).most_common(1)[0][0]]
    named = {ops: title if i == 0 else f"{title} {i + 1}" for i, ops in enumerate(kept)}
    return {ops: named.get(ops) or _nearest(ops, named, title) for ops in places}


def _nearest(ops: bytes, named: dict[bytes, str], title: str) -> str:
    differences = [(_difference(ops, known), name) for known, name in named.items()]
    least, name = min(differences, key=lambda pair: pair[0])
    return name if least <= MAX_DIFFERENCE else f"{title} irregular"


def _difference(one: bytes, other: bytes) -> float:
    if len(one) != len(other):
        return 1.0
    return float(np.mean(_codes(one) != _codes(other)))


def _codes(ops: bytes) -> NDArray[np.int64]:
    return np.frombuffer(ops, np.int64)
