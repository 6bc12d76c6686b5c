"""What kind of layer a layer is: what it consists of, and which variant of that."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections import Counter

from perfetto_autoviz.steps.layers.boundaries import Kernel

MIN_VARIANT_SHARE = 0.02
"""A sequence of ops that fewer layers of a group share is irregular, not a variant."""


def composition(kernels: Sequence[Kernel]) -> str:
    """The parts of a layer, e.g. ``attention+moe``, ``attention+mlp`` or ``attention``."""
    families = {kernel.family for kernel in kernels}
    parts = ["attention"] if "attention" in families else []
    if "moe" in families:
        parts.append("moe")
    elif "activation" in families or sum(k.family == "gemm" for k in kernels) > 2:
        # Query-key-value and output projections are two; more are a feed-forward part whose
        # activation is fused into them.
        parts.append("mlp")
    return "+".join(parts) or "layer"


def kinds(
    groups: Sequence[Hashable], compositions: Sequence[str], signatures: Sequence[Hashable]
) -> list[str]:
    """Names that tell variants apart within each group of comparable layers.

    Args:
        groups: what each layer is compared within (phase and batch size).
        compositions: from `composition`.
        signatures: the ops of each layer, in order.

    Returns:
        For each layer its composition; variants are numbered from 2 in order of first
        appearance, so that alternating layers keep their names in every step;
        rare sequences are called irregular.
    """
    keys = list(zip(groups, compositions, strict=True))
    totals = Counter(keys)
    counts = Counter(zip(keys, signatures, strict=True))
    variants: dict[Hashable, dict[Hashable, int]] = {}
    names = []
    for key, signature in zip(keys, signatures, strict=True):
        count = counts[key, signature]
        rare = count < max(2, MIN_VARIANT_SHARE * totals[key]) and totals[key] > 1
        if rare and counts.total() > len(counts):
            names.append(f"{key[1]} irregular")
            continue
        number = variants.setdefault(key, {}).setdefault(signature, len(variants[key]) + 1)
        names.append(key[1] if number == 1 else f"{key[1]} {number}")
    return names
