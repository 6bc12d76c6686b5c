"""Where the layers of one iteration lie in its sequence of kernels.

A layer is found by an anchor that occurs once in it, by default attention. Attention is in
the middle of a layer, so each layer's start is looked for between two anchors: the norm
that follows the end of the feed-forward part. What comes before the first start and after
the last end (embedding, final norm, logits, sampling) is prologue and epilogue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FEED_FORWARD = frozenset({"activation", "moe"})
"""Families of which every feed-forward part has at least one kernel."""

MIN_LAYERS = 2
"""A model of one layer can't be told from work that happens to hold one attention."""

_PROJECTION = frozenset({"gemm", "moe"})


@dataclass(frozen=True)
class Kernel:
    """What is known about one kernel of the sequence: its op and its family."""

    op: str
    family: str

    @property
    def is_plain_softmax(self) -> bool:
        """Whether it may be the middle of an attention that isn't one kernel."""
        return self.family == "elementwise" and "softmax" in self.op.lower()


@dataclass(frozen=True)
class Extent:
    """One layer: first position, position after the last, and its anchor's position."""

    start: int
    end: int
    anchor: int


def layer_extents(kernels: Sequence[Kernel], anchors: Sequence[int]) -> list[Extent]:
    """Extents of the layers, in order, without gaps between them.

    Args:
        kernels: the sequence.
        anchors: positions of the anchors, increasing, one per layer.

    Returns:
        One extent per anchor, or none if there are fewer than `MIN_LAYERS`.
    """
    if len(anchors) < MIN_LAYERS:
        return []
    starts = [_start_between(kernels, before, anchor) for before, anchor in pairwise(anchors)]
    first = _first_start(kernels, anchors, starts)
    end = _last_end(kernels, anchors, starts)
    return [
        Extent(start, stop, anchor)
        for start, stop, anchor in zip([first, *starts], [*starts, end], anchors, strict=True)
    ]


def attention_anchors(kernels: Sequence[Kernel]) -> list[int]:
    """First attention kernel of each layer.

    Attention kernels with no projection between them are one attention (a split one and
    its reduction, prefill and decode kernels of a mixed step). Attentions with no
    feed-forward part between them are in one layer (self and cross attention), where any
    feed-forward part can be seen at all. Where attention isn't one kernel, its softmax
    stands for it.
    """
    fused = any(kernel.family == "attention" for kernel in kernels)
    groups: list[int] = []
    in_group = False
    for position, kernel in enumerate(kernels):
        if kernel.family == "attention" if fused else kernel.is_plain_softmax:
            if not in_group:
                groups.append(position)
            in_group = True
        elif kernel.family in _PROJECTION:
            in_group = False
    if not any(kernel.family in FEED_FORWARD for kernel in kernels):
        return groups
    return [
        anchor
        for before, anchor in zip([None, *groups], groups, strict=False)
        if before is None or _has_feed_forward(kernels, before, anchor)
    ]


def _has_feed_forward(kernels: Sequence[Kernel], start: int, end: int) -> bool:
    return any(kernel.family in FEED_FORWARD for kernel in kernels[start:end])


def _start_between(kernels: Sequence[Kernel], before: int, anchor: int) -> int:
    """Start of the layer of ``anchor``, after the anchor ``before``.

    The feed-forward part ends the layer before. After it comes the norm that starts the
    layer, then its projections. If the norm is part of another kernel (an all-reduce, a
    quantization), the layer starts after the last projection and the communication that
    follow the feed-forward part.
    """
    fed = max(
        (i for i in range(before + 1, anchor) if kernels[i].family in FEED_FORWARD),
        default=None,
    )
    if fed is None:
        return _first_norm_of_last_run(kernels, before + 1, anchor)
    down = fed + 1
    if kernels[fed].family == "activation":
        down = _after_projection(kernels, fed + 1, anchor)
    start = _norm_before_projection(kernels, down, anchor)
    if start is not None:
        return start
    return _after_communication(kernels, down, anchor)


def _after_communication(kernels: Sequence[Kernel], start: int, end: int) -> int:
    """Position after the communication at ``start`` and the copies around it."""
    position = start
    while position < end and kernels[position].family in ("communication", "memory"):
        position += 1
    spoke = any(kernel.family == "communication" for kernel in kernels[start:position])
    return position if spoke else start


def _after_projection(kernels: Sequence[Kernel], start: int, end: int) -> int:
    """Position after the next projection and the kernels that complete it."""
    position = next((i for i in range(start, end) if kernels[i].family == "gemm"), start - 1)
    position += 1
    # A projection split over k is completed by a reduction of its own.
    while position < end and kernels[position].family == "gemm" and _reduces(kernels[position]):
        position += 1
    return position


def _reduces(kernel: Kernel) -> bool:
    op = kernel.op.lower()
    return "splitk" in op or "reduce" in op


def _is_norm(kernel: Kernel) -> bool:
    return kernel.family == "norm" or (
        kernel.family in ("communication", "quantize") and "norm" in kernel.op.lower()
    )


def _norm_before_projection(kernels: Sequence[Kernel], start: int, end: int) -> int | None:
    """Last norm between ``start`` and the next projection: the first may end a sandwich."""
    norm = None
    for position in range(start, end):
        if _is_norm(kernels[position]):
            norm = position
        elif kernels[position].family == "gemm":
            break
    return norm


def _first_norm_of_last_run(kernels: Sequence[Kernel], start: int, end: int) -> int:
    """Without a feed-forward part: the norm nearest before the projections of the anchor."""
    gemms = [i for i in range(start, end) if kernels[i].family == "gemm"]
    norms = [i for i in range(start, end) if _is_norm(kernels[i])]
    before_gemm = [n for n in norms if any(g > n for g in gemms)]
    return (before_gemm or norms or [end])[-1]


def _first_start(kernels: Sequence[Kernel], anchors: Sequence[int], starts: Sequence[int]) -> int:
    """The first layer has no layer before it; it starts as the others do.

    Its own first norm may be another kernel than theirs (it has no residual to add), and
    what prepares its attention may differ: it starts with the norms and projections of
    another layer's start, or as far before as its families agree with another's.
    """
    heads = [kernels[start:anchor] for start, anchor in zip(starts, anchors[1:], strict=True)]
    before = kernels[: anchors[0]]
    agreed = _longest_agreement(before[::-1], [head[::-1] for head in heads])
    usual = Counter(tuple(_skeleton(head)) for head in heads).most_common(1)[0][0]
    marks = [i for i, kernel in enumerate(before) if _skeleton([kernel])][-len(usual) :]
    reach = 0
    if usual and [_skeleton([before[i]])[0] for i in marks] == list(usual):
        reach = anchors[0] - marks[0]
    return anchors[0] - max(agreed, reach if reach <= 2 * max(map(len, heads)) else 0)


def _skeleton(kernels: Sequence[Kernel]) -> list[str]:
    """Norms and projections only: what no build of a model leaves out."""
    return [
        "norm" if _is_norm(kernel) else "gemm"
        for kernel in kernels
        if _is_norm(kernel) or kernel.family == "gemm"
    ]


def _last_end(kernels: Sequence[Kernel], anchors: Sequence[int], starts: Sequence[int]) -> int:
    """The last layer ends as another does, as far as it agrees."""
    tails = [kernels[anchor:start] for anchor, start in zip(anchors, starts, strict=False)]
    return anchors[-1] + max(1, _longest_agreement(kernels[anchors[-1] :], tails))


def _longest_agreement(kernels: Sequence[Kernel], examples: Sequence[Sequence[Kernel]]) -> int:
    """How far the kernels go on like an example.

    That is the longest example that they hold whole, else as far as any goes.
    """
    tried = [
        families
        for families, _ in Counter(
            tuple(kernel.family for kernel in example) for example in examples
        ).most_common()
    ]
    agreed = [
        next(
            (i for i, (k, f) in enumerate(zip(kernels, example, strict=False)) if k.family != f),
            min(len(kernels), len(example)),
        )
        for example in tried
    ]
    whole = [n for n, example in zip(agreed, tried, strict=True) if n == len(example)]
    return max(whole or agreed)
