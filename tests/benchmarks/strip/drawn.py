"""Captures of the strip test that are drawn from all that the synthesiser can vary."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from perfetto_autoviz.synth import EPOCH_US, RECENT_US, Arrivals, ScenarioSpec
from tests.benchmarks.strip.scenarios import DIALECTS, FAMILIES, LAUNCHES

MODELS = sorted({model for family in FAMILIES.values() for model in family.models})


def drawn_scenarios(seed: int, count: int) -> Iterator[tuple[str, ScenarioSpec]]:
    """Scenarios and their names, each drawn by a seed of its own, from ``seed`` on."""
    for number in range(seed, seed + count):
        spec = _drawn(random.Random(number), number)
        yield f"{spec.framework} {spec.decode} {spec.model}, {spec.steps} steps", spec


def _drawn(draw: random.Random, number: int) -> ScenarioSpec:
    framework = draw.choice([*DIALECTS])
    drafts = draw.choice([0, 0, 0, 2, 4]) if framework in ("sglang", "atom") else 0
    steps = draw.choice([4, 5, 6, 8, 10, 14, 20, 30, 40])
    load, of_one_kind = _load(draw, steps)
    if framework == "atom" or drafts or draw.random() < 1 / 3:
        load = replace(load, policy="separate")
    launch = draw.choice(LAUNCHES)
    return ScenarioSpec(
        name=f"drawn{number}",
        model=draw.choice(MODELS),
        framework=framework,
        dialect=draw.choice(DIALECTS[framework]),
        steps=steps,
        seed=number,
        arrivals=load,
        decode=launch,
        prefill="eager" if launch == "graph" else launch,
        layers=draw.choice([None, None, 12, 16]),
        pdl=draw.random() < 0.8,
        split_streams=draw.random() < 0.3,
        shared_expert=draw.random() < 0.2,
        stream_moves=draw.choice([0.0, 0.0, 0.1]),
        asynchronous=draw.random() < 0.5,
        speculative=drafts,
        kernels_by_kind=of_one_kind or draw.random() < 0.8,
        dummy_steps=draw.choice([0, 0, 2]),
        capture_steps=draw.choice([0, 0, 2]),
        stray_copies=draw.choice([0.0, 0.0, 0.3]),
        hole_every=draw.choice([0, 0, 6]),
        python_frames=draw.random() < 0.6,
        cpu_ops=draw.random() < 0.8,
        flows=draw.random() < 0.8,
        clock_us=draw.choice([EPOCH_US, RECENT_US, RECENT_US]),
    )


def _load(draw: random.Random, steps: int) -> tuple[Arrivals, bool]:
    """Arrivals, and whether all steps do the same, so that only kernels tell what."""
    prefill = Arrivals(
        concurrency=draw.choice([1, 4]),
        prompt_tokens=(500, 3_000),
        output_tokens=(1, 1),
        ramp_share=0.0,
        drain_share=0.0,
        policy="separate",
    )
    decode = Arrivals(
        concurrency=draw.choice([1, 8, 24, 100]), start_full=True, drain_share=(steps - 1) / steps
    )
    ramp = Arrivals(concurrency=draw.choice([4, 16, 32, 64]), spike_every=draw.choice([3, 5, 8]))
    chunked = Arrivals(
        concurrency=12, prompt_tokens=(3_000, 9_000), token_budget=2_048, drain_share=0.0
    )
    bursts = Arrivals(concurrency=24, start_full=True, spike_every=4)
    mixed = [(each, False) for each in (ramp, ramp, chunked, bursts)]
    return draw.choice([(prefill, True), (decode, True), *mixed])
