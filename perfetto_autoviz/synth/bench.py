"""Large captures for benchmarks, made quickly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from perfetto_autoviz.synth.arrivals import Arrivals
from perfetto_autoviz.synth.compose import compose
from perfetto_autoviz.synth.presets import preset
from perfetto_autoviz.synth.scenario import SynthCapture

STEPS_PER_EVENT = 1 / 200
"""More steps than any number of events needs; the builder stops at the events."""


def bench_capture(path: Path, events: int, *, pdl: bool) -> SynthCapture:
    """Write a serving capture of about ``events`` events (one step more or less).

    Decode steps are replayed graphs, every tenth step or so computes prompts beside them in
    eager mode, with operators and launches. Both variants have the same kernels.

    Args:
        path: the capture; ``.gz`` at the end gzips. The truth is written beside it.
        events: wanted number of events.
        pdl: whether kernels overlap their predecessors on the stream.
    """
    spec = replace(
        preset("sglang-qwen3-30b-a3b-b300", seed=7),
        name="bench",
        framework="vllm",
        dialect="vllm-detailed",
        pdl=pdl,
        steps=max(2, round(events * STEPS_PER_EVENT)),
        arrivals=Arrivals(
            concurrency=32, output_tokens=(200, 600), spike_every=10, start_full=True
        ),
    )
    return compose(spec, [path], max_events=events)[0]
