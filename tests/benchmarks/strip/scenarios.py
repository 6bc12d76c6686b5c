"""The captures of the strip test: frameworks, launches and models, each under a load in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from perfetto_autoviz.synth import Arrivals, ScenarioSpec
from perfetto_autoviz.synth.dialects import Dialect
from perfetto_autoviz.synth.program import LaunchMode
from perfetto_autoviz.synth.scenario import Framework

STEPS = 14

DIALECTS: Mapping[Framework, tuple[Dialect, ...]] = {
    "vllm": ("vllm-detailed", "vllm", "vllm-squares"),
    "sglang": ("sglang", "sglang-nested", "sglang-suffixed"),
    "atom": ("atom",),
    "trtllm": ("trtllm", "trtllm-old"),
}

LAUNCHES: tuple[LaunchMode, ...] = ("graph", "piecewise", "eager")


@dataclass(frozen=True)
class Family:
    """A kind of model: those that were measured, and draft tokens per step."""

    models: tuple[str, ...]
    speculative: int = 0


FAMILIES: Mapping[str, Family] = {
    "dense": Family(("qwen3-8b-mi300x",)),
    "moe": Family(("qwen3-30b-a3b-b300", "qwen3-30b-a3b-mi300x")),
    "alternating": Family(("gpt-oss-20b-mi300x", "gpt-oss-120b-b200")),
    "speculative": Family(("qwen3-8b-mi300x", "qwen3-30b-a3b-b300"), speculative=3),
}

# The first step finds its requests prefilled, and none arrives any more.
_ALL_DRAIN = (STEPS - 1) / STEPS

LOADS: Mapping[str, Arrivals] = {
    "ramp": Arrivals(concurrency=32, spike_every=5),
    "prefill": Arrivals(
        concurrency=4,
        prompt_tokens=(1_000, 2_000),
        output_tokens=(1, 1),
        ramp_share=0.0,
        drain_share=0.0,
        policy="separate",
    ),
    "decode": Arrivals(concurrency=24, start_full=True, drain_share=_ALL_DRAIN),
    "chunked": Arrivals(
        concurrency=12, prompt_tokens=(3_000, 9_000), token_budget=2_048, drain_share=0.0
    ),
}

DEVELOPED = 7_000
"""Seed of the first scenario while the steps were developed."""

RANKS = (1, 1, 2, 1, 1, 4, 1, 1, 1, 8)
"""Ranks of the scenarios in turn."""


def strip_scenarios(seed: int = DEVELOPED) -> Iterator[tuple[str, ScenarioSpec]]:
    """Each scenario with the name of its cell, e.g. ``vllm graph dense ramp``.

    Args:
        seed: of the first one; the next one has the next.
    """
    cells = product(DIALECTS, LAUNCHES, FAMILIES)
    for number, (framework, launch, family) in enumerate(cells):
        if FAMILIES[family].speculative and framework in ("vllm", "trtllm"):
            continue
        load = [*LOADS][(number + number // len(LOADS)) % len(LOADS)]
        name = f"{framework} {launch} {family} {load}"
        spec = _scenario(number, framework, launch, FAMILIES[family], LOADS[load])
        # Where all steps are of one kind, only their kernels can tell which.
        by_kind = number % 3 > 0 or load != "ramp"
        yield name, replace(spec, seed=seed + number, kernels_by_kind=by_kind)


def _scenario(
    number: int, framework: Framework, launch: LaunchMode, family: Family, load: Arrivals
) -> ScenarioSpec:
    dialects, models = DIALECTS[framework], family.models
    if framework == "atom" or family.speculative:
        load = replace(load, policy="separate")
    return ScenarioSpec(
        name=f"strip{number:02d}",
        model=models[number // len(FAMILIES) % len(models)],
        framework=framework,
        dialect=dialects[number % len(dialects)],
        steps=STEPS,
        ranks=RANKS[number % len(RANKS)],
        arrivals=load,
        decode=launch,
        prefill="eager" if launch == "graph" else launch,
        asynchronous=number % 2 > 0,
        speculative=family.speculative,
        dummy_steps=number % 5 == 4,
        python_frames=(number // 3) % 3 != 1,
        split_streams=number % 7 == 3,
        stray_copies=0.3 if number % 6 == 5 else 0.0,
        hole_every=6 if number % 8 == 6 else 0,
        rank_offset_us=20.0,
    )
