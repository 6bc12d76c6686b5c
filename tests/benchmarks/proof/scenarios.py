"""Random scenarios of each family of models, by seed.

Thresholds and costs were chosen on the tuning seeds; what is published comes from the proof
seeds, which were not looked at before. The suite has seeds of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from perfetto_autoviz.synth import Arrivals, EditPlan, ScenarioSpec
from perfetto_autoviz.synth.model import Model, load_model

TUNING_SEEDS = range(400)
SUITE_SEEDS = range(500, 504)
PROOF_SEEDS = range(30_000, 30_040)

RANKS = (1, 2, 4, 8)
STEPS = (6, 14)
SPECULATIVE_STEPS = (40, 80)
"""A draft and its check are two steps."""


DRAFTS = (2, 6)
"""Tokens of a draft."""

DIFFICULTIES: Mapping[str, Callable[[np.random.Generator], EditPlan]] = {
    "few": lambda rng: EditPlan(int(rng.integers(1, 4))),
    "many": lambda rng: EditPlan(int(rng.integers(4, 8))),
    "touching": lambda rng: EditPlan(int(rng.integers(3, 8)), touching=True),
    "ported": lambda rng: EditPlan(
        int(rng.integers(4, 9)),
        touching=True,
        pace=float(rng.uniform(0.4, 0.9)),
        kinds=("renamed", "renamed", "renamed", "split", "fused", "added", "removed", "faster"),
    ),
}
"""A few edits apart from each other, many of them, neighbours, and a port to a faster device on
which most kernels have another name."""


def scenario(family: str, seed: int) -> ScenarioSpec:
    """A scenario of a family, at random but for the family."""
    rng = np.random.default_rng([seed, [*FAMILIES].index(family)])
    spec = FAMILIES[family](rng)
    concurrency = int(rng.choice([4, 8, 16, 32]))
    separate = spec.speculative or rng.random() < 0.5
    return replace(
        spec,
        name=f"{family}-{seed}",
        seed=seed,
        steps=int(rng.integers(*(SPECULATIVE_STEPS if spec.speculative else STEPS))),
        pdl=bool(rng.random() < 0.7),
        asynchronous=bool(rng.random() < 0.5),
        prefill=str(rng.choice(["eager", "piecewise", "graph"])),  # type: ignore[arg-type]
        arrivals=Arrivals(
            concurrency=concurrency,
            spike_every=int(rng.integers(4, 10)),
            policy="separate" if separate else "mixed",
            # A capture of speculative decoding that consists of prompts mostly shows none.
            output_tokens=(200, 600) if spec.speculative else (64, 256),
            start_full=bool(spec.speculative),
        ),
        rank_sigma=float(rng.uniform(0, 0.02)),
    )


def _spec(model: Model | str, ranks: int, **changes: object) -> ScenarioSpec:
    dialect = "none"
    return ScenarioSpec("", model, "sglang", dialect, ranks=ranks, **changes)  # type: ignore[arg-type]


def _one_of(rng: np.random.Generator, *names: str) -> str:
    return str(rng.choice(names))


def _dense(rng: np.random.Generator) -> ScenarioSpec:
    return _spec("qwen3-8b-mi300x", int(rng.choice(RANKS)), layers=int(rng.integers(16, 64)))


def _moe(rng: np.random.Generator) -> ScenarioSpec:
    name = _one_of(rng, "qwen3-30b-a3b-mi300x", "qwen3-30b-a3b-b300")
    return _spec(name, int(rng.choice(RANKS)), layers=int(rng.integers(16, 64)))


def _alternating(rng: np.random.Generator) -> ScenarioSpec:
    name = _one_of(rng, "gpt-oss-20b-mi300x", "gpt-oss-120b-b200")
    return _spec(name, int(rng.choice(RANKS)), layers=2 * int(rng.integers(6, 19)))


def _several_of_a_kind(rng: np.random.Generator) -> ScenarioSpec:
    """Three or five layers of one kind, then one of another that differs in its attention."""
    model = load_model(_one_of(rng, "gpt-oss-20b-mi300x", "gpt-oss-120b-b200"))
    first, second = model.pattern
    times = int(rng.choice([3, 5]))
    model = replace(model, pattern=(first,) * times + (second,))
    layers = (times + 1) * int(rng.integers(4, 11))
    return _spec(model, int(rng.choice(RANKS)), layers=layers)


def _streams(rng: np.random.Generator) -> ScenarioSpec:
    """Collectives on a stream of their own, a shared expert beside the others, or both."""
    name = _one_of(rng, "qwen3-30b-a3b-mi300x", "qwen3-30b-a3b-b300")
    shared = bool(rng.random() < 0.7)
    return _spec(
        name,
        int(rng.choice(RANKS[1:])),
        layers=int(rng.integers(16, 49)),
        split_streams=not shared or bool(rng.random() < 0.5),
        shared_expert=shared,
    )


def _moved_streams(rng: np.random.Generator) -> ScenarioSpec:
    """A shared expert of which some replays have a kernel on the main stream."""
    spec = _streams(rng)
    return replace(spec, shared_expert=True, stream_moves=0.25)


def _speculative(rng: np.random.Generator) -> ScenarioSpec:
    name = _one_of(rng, "qwen3-8b-mi300x", "qwen3-30b-a3b-mi300x", "qwen3-30b-a3b-b300")
    ranks, drafts = int(rng.choice(RANKS)), int(rng.integers(*DRAFTS))
    return _spec(name, ranks, layers=int(rng.integers(16, 49)), speculative=drafts)


FAMILIES: Mapping[str, Callable[[np.random.Generator], ScenarioSpec]] = {
    "dense": _dense,
    "MoE": _moe,
    "alternating": _alternating,
    "multi-stream": _streams,
    "speculative": _speculative,
    "several of a kind": _several_of_a_kind,
    "moved streams": _moved_streams,
}

HARDER = ("several of a kind", "moved streams")
"""Families that are reported for themselves, beyond the bars."""
