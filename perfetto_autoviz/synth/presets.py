"""Scenarios by name, each after a measured capture or a documented dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.synth.arrivals import Arrivals
from perfetto_autoviz.synth.program import LaunchMode
from perfetto_autoviz.synth.scenario import ScenarioSpec

_VLLM = Arrivals(concurrency=32, spike_every=8, policy="mixed")
_SGLANG = Arrivals(concurrency=16, spike_every=10, policy="separate")

_PRESETS = (
    ScenarioSpec(
        name="vllm-gptoss20b",
        model="gpt-oss-20b-mi300x",
        framework="vllm",
        dialect="vllm-detailed",
        arrivals=_VLLM,
        asynchronous=True,
    ),
    ScenarioSpec(
        name="vllm-gptoss20b-piecewise",
        model="gpt-oss-20b-mi300x",
        framework="vllm",
        dialect="vllm",
        arrivals=_VLLM,
        prefill="piecewise",
        stray_copies=0.5,
    ),
    ScenarioSpec(
        name="vllm-gptoss120b-tp8",
        model="gpt-oss-120b-b200",
        framework="vllm",
        dialect="vllm-squares",
        ranks=8,
        arrivals=_VLLM,
        rank_offset_us=40.0,
    ),
    ScenarioSpec(
        name="vllm-old-qwen3-8b",
        model="qwen3-8b-mi300x",
        framework="vllm",
        dialect="vllm-old",
        arrivals=_VLLM,
    ),
    ScenarioSpec(
        name="sglang-qwen3-8b",
        model="qwen3-8b-mi300x",
        framework="sglang",
        dialect="sglang",
        arrivals=_SGLANG,
        asynchronous=True,
    ),
    ScenarioSpec(
        name="sglang-qwen3-8b-tp2",
        model="qwen3-8b-mi300x",
        framework="sglang",
        dialect="sglang-nested",
        ranks=2,
        arrivals=_SGLANG,
        rank_offset_us=12.0,
    ),
    ScenarioSpec(
        name="sglang-qwen3-30b-a3b-mi300x",
        model="qwen3-30b-a3b-mi300x",
        framework="sglang",
        dialect="sglang-suffixed",
        arrivals=_SGLANG,
    ),
    ScenarioSpec(
        name="sglang-qwen3-30b-a3b-b300",
        model="qwen3-30b-a3b-b300",
        framework="sglang",
        dialect="sglang-nested",
        arrivals=_SGLANG,
        asynchronous=True,
    ),
    ScenarioSpec(
        name="sglang-qwen3-8b-speculative",
        model="qwen3-8b-mi300x",
        framework="sglang",
        dialect="sglang",
        arrivals=_SGLANG,
        speculative=3,
    ),
    ScenarioSpec(
        name="atom-gptoss20b",
        model="gpt-oss-20b-mi300x",
        framework="atom",
        dialect="atom",
        arrivals=replace(_VLLM, policy="separate"),
        dummy_steps=1,
        capture_steps=2,
    ),
    ScenarioSpec(
        name="trtllm-gptoss120b",
        model="gpt-oss-120b-b200",
        framework="trtllm",
        dialect="trtllm",
        arrivals=_VLLM,
        split_streams=True,
    ),
    ScenarioSpec(
        name="sglang-qwen3-30b-a3b-shared-expert",
        model="qwen3-30b-a3b-b300",
        framework="sglang",
        dialect="sglang",
        arrivals=_SGLANG,
        shared_expert=True,
        stream_moves=0.25,
    ),
    ScenarioSpec(
        name="plain-qwen3-30b-a3b-b300",
        model="qwen3-30b-a3b-b300",
        framework="sglang",
        dialect="profiler-step",
        arrivals=_SGLANG,
        pdl=False,
    ),
)

PRESETS: Mapping[str, ScenarioSpec] = {spec.name: spec for spec in _PRESETS}
"""All presets by name."""


def preset(
    name: str,
    *,
    steps: int | None = None,
    ranks: int | None = None,
    seed: int | None = None,
    launch: LaunchMode | None = None,
    anomalies: int | None = None,
) -> ScenarioSpec:
    """A preset, with what the caller wants otherwise.

    Args:
        name: a name of ``PRESETS``.
        steps: number of real engine steps.
        ranks: number of tensor-parallel ranks.
        seed: of everything random.
        launch: how all steps are launched, prefill and decode.
        anomalies: how many of each kind go wrong.

    Raises:
        UsageError: no such preset.
    """
    if name not in PRESETS:
        raise UsageError(f"no preset {name!r}; choose one of {', '.join(PRESETS)}")
    changes: dict[str, object] = {
        "steps": steps,
        "ranks": ranks,
        "seed": seed,
        "decode": launch,
        "prefill": launch,
        "anomalies": anomalies,
    }
    wanted = {key: value for key, value in changes.items() if value is not None}
    return replace(PRESETS[name], **wanted)  # type: ignore[arg-type]
