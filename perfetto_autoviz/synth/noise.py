"""How much kernels vary and how they grow with the load.

The noise table was measured on steps and layers that repeat in real captures. The cost
table is a simple roofline in words: a kernel takes its launch-bound time until its rows
exceed a knee, and grows linearly from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.model import BaseLoad, KernelClass

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """The variation of one class of kernels.

    Attributes:
        sigma: standard deviation of the log duration between repeats.
        layer: standard deviation of the log of the fixed effect that belongs to a layer.
        tail_probability: probability of a heavy tail.
        tail_scale: scale of the tail, exponential, of the log.
    """

    sigma: float
    layer: float
    tail_probability: float
    tail_scale: float


NOISE: Mapping[KernelClass, Noise] = {
    "gemm": Noise(0.028, 0.015, 0.004, 0.25),
    "attention": Noise(0.018, 0.006, 0.002, 0.12),
    "norm": Noise(0.035, 0.012, 0.004, 0.20),
    "elementwise": Noise(0.050, 0.018, 0.010, 0.30),
    "reduce": Noise(0.050, 0.018, 0.005, 0.20),
    "moe_gemm": Noise(0.055, 0.100, 0.010, 0.35),
    "moe_routing": Noise(0.030, 0.010, 0.003, 0.10),
    "communication": Noise(0.095, 0.030, 0.015, 0.50),
    "copy": Noise(0.120, 0.0, 0.010, 0.50),
    "sampling": Noise(0.080, 0.0, 0.010, 0.50),
}
"""Measured on GB300, B300 and MI300X."""

CLASSES: tuple[KernelClass, ...] = tuple(NOISE)
"""Classes in the order of the noise table; an index into it stands for the class."""

ROW_KNEE: Mapping[KernelClass, float] = {
    "gemm": 512.0,
    "norm": 512.0,
    "elementwise": 512.0,
    "reduce": 512.0,
    "moe_gemm": 1024.0,
    "moe_routing": 2048.0,
    "communication": 1024.0,
    "copy": 2048.0,
    "sampling": 256.0,
}
"""Rows at which a kernel takes twice its launch-bound time. Weights of hundreds of MB are
read once for any number of rows below a few hundred, experts up to more."""

KV_KNEE = 24_000.0
"""Cached tokens at which decode attention takes twice its launch-bound time."""

CONTEXT_KNEE = 1_500_000.0
"""New times attended tokens at which prefill attention takes twice its launch-bound time."""

GAP_SIGMA = 0.12
"""Standard deviation of the log of a gap inside a stream; gaps are steady per class."""


@dataclass(frozen=True)
class Load:
    """What one step has to compute.

    Attributes:
        tokens: rows of token-wise kernels, padded to the graph's batch if one is replayed.
        requests: rows of request-wise kernels.
        kv_tokens: cached tokens that decoding requests attend to, summed.
        context_work: sum over prefilled requests of new tokens times attended tokens.
    """

    tokens: int
    requests: int
    kv_tokens: int
    context_work: int


def class_scale(cls: KernelClass, rows: str, load: Load, base: BaseLoad) -> float:
    """How much longer a kernel takes under ``load`` than under the measured ``base``."""
    return _cost(cls, rows, load) / _cost(cls, rows, base)


def _cost(cls: KernelClass, rows: str, load: Load | BaseLoad) -> float:
    if cls == "attention":
        return 1.0 + load.kv_tokens / KV_KNEE + load.context_work / CONTEXT_KNEE
    return 1.0 + (load.tokens if rows == "tokens" else load.requests) / ROW_KNEE[cls]


def layer_effect(classes: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """One fixed factor per kernel of a program, shape ``(n,)``, median 1."""
    scale = np.array([NOISE[c].layer for c in CLASSES])[classes]
    factors: Floats = np.exp(rng.standard_normal(len(classes)) * scale)
    return factors


def repeat_noise(classes: NDArray[np.int64], ranks: int, rng: np.random.Generator) -> Floats:
    """One factor per rank and kernel of one step, shape ``(ranks, n)``, median 1."""
    table = [NOISE[c] for c in CLASSES]
    shape = (ranks, len(classes))
    log = rng.standard_normal(shape) * np.array([n.sigma for n in table])[classes]
    tail = rng.random(shape) < np.array([n.tail_probability for n in table])[classes]
    log += tail * rng.standard_exponential(shape) * np.array([n.tail_scale for n in table])[classes]
    factors: Floats = np.exp(log)
    return factors
