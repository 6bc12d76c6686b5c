"""Runs a scenario step by step, without writing anything.

This is what writers and benchmarks share: one step at a time, so that memory does not grow
with the length of the capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.anomaly_kinds import StepAnomaly
from perfetto_autoviz.synth.arrivals import Phase, StepPlan, decode_work, plan_steps
from perfetto_autoviz.synth.dialects import annotation_texts
from perfetto_autoviz.synth.loops import DRAFT_STEP, STEP
from perfetto_autoviz.synth.model import Model, Slot, load_model
from perfetto_autoviz.synth.names import libraries
from perfetto_autoviz.synth.noise import Load
from perfetto_autoviz.synth.program import (
    LaunchMode,
    Program,
    empty_program,
    prologue_program,
    step_program,
)
from perfetto_autoviz.synth.scenario import Framework, ScenarioSpec
from perfetto_autoviz.synth.step_kinds import decode_model, prefill_model
from perfetto_autoviz.synth.timeline import StepTimes, Timeline
from perfetto_autoviz.synth.variants import (
    on_main_stream,
    on_streams,
    side_kernels,
    tensor_parallel,
    with_layers,
    with_shared_expert,
    without_overlap,
)

Ints = NDArray[np.int64]

GRAPH_SIZES = (1, 2, 4, *range(8, 513, 8))
"""Batch sizes that serving frameworks capture graphs for by default."""

DUMMY_KEYS = 1
"""Tokens a dummy request attends to."""

DRAFT_LAYERS = 1
"""Layers of a draft model of the usual kind (one layer that predicts the next tokens)."""

NAMESPACES: Mapping[Framework, str] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "atom": "aiter",
    "trtllm": "tensorrt_llm",
}
"""Where each framework keeps its custom all-reduce."""

SHARED_LIBRARY = {"amd": 0, "nvidia": 1}
"""By vendor, which of the libraries of products a shared expert uses."""

COLLECTIVE_NS = 9_000
"""An all-reduce of a decode batch; measured ones of 888 tokens take 25 µs."""


def collective(model: Model, framework: Framework, ranks: int) -> Slot:
    """The all-reduce after each half layer, as the vendor's builds of the framework do it."""
    if model.gpu.vendor == "nvidia":
        return Slot(
            name="void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>"
            "(c10::BFloat16*, unsigned long, unsigned int**, unsigned long, unsigned long)",
            cls="communication",
            dur_ns=COLLECTIVE_NS,
            gap_ns=model.gpu.graph_gap_ns,
            op="symm_mem::multimem_all_reduce_",
            dims=(["T", 2048], [], []),
            resources={"grid": [8, 1, 1], "block": [1024, 1, 1], "regs": 26, "smem": 0},
        )
    space = NAMESPACES[framework]
    return Slot(
        name=f"void {space}::cross_device_reduce_1stage<__hip_bfloat16, {ranks}>"
        f"({space}::RankData*, {space}::RankSignals, {space}::Signal*, __hip_bfloat16*, int, int)",
        cls="communication",
        dur_ns=COLLECTIVE_NS,
        gap_ns=model.gpu.graph_gap_ns,
        op="_C_custom_ar::all_reduce",
        dims=([], ["T", 4096], ["T", 4096], [], []),
    )


@dataclass(frozen=True)
class Stray:
    """A copy between two steps: times of call and copy, each of shape ``(ranks,)``."""

    api_ts: Ints
    api_dur: Ints
    ts: Ints
    dur: Ints


@dataclass(frozen=True)
class Step:
    """One step of all ranks.

    Attributes:
        plan: what it computes.
        program: its kernels.
        texts: its annotations, outermost first.
        graph_batch: batch size of the replayed graph, None without one.
        times: when everything happens.
        stray: a copy after it that belongs to no step.
        anomalies: what goes wrong in it.
    """

    plan: StepPlan
    program: Program
    texts: tuple[str, ...]
    graph_batch: int | None
    times: StepTimes
    stray: Stray | None
    anomalies: tuple[StepAnomaly, ...] = ()


def scenario_model(spec: ScenarioSpec) -> Model:
    """The model of a scenario with everything applied that the scenario changes."""
    model = load_model(spec.model) if isinstance(spec.model, str) else spec.model
    if spec.layers is not None:
        model = with_layers(model, spec.layers)
    shared = collective(model, spec.framework, spec.ranks)
    model = tensor_parallel(model, spec.ranks, shared)
    if spec.shared_expert:
        dense = libraries("gemm")[SHARED_LIBRARY[model.gpu.vendor]][0]
        model = with_shared_expert(model, libraries("gated_activation")[0][0], dense)
    if not spec.pdl:
        model = without_overlap(model)
    if spec.split_streams:
        model = on_streams(model, {"communication": "communication"})
    return model


def simulate(spec: ScenarioSpec, model: Model | None = None) -> Iterator[Step]:
    """Run a scenario; yields one step at a time, its times counted from 0 ns.

    Args:
        spec: the scenario.
        model: the scenario's model, if the caller has changed it.
    """
    run = _Run(spec, model or scenario_model(spec))
    for plan in run.plans():
        yield run.step(plan)


class _Run:
    def __init__(self, spec: ScenarioSpec, model: Model) -> None:
        self.spec = spec
        self.model = model
        seeds = np.random.SeedSequence([spec.seed, 2 + spec.build])
        self.rng = np.random.Generator(np.random.PCG64(seeds))
        self.timeline = Timeline(
            model, spec.ranks, self.rng, spec.costs, spec.asynchronous, spec.rank_sigma
        )
        self.programs: dict[tuple[str, LaunchMode, int, Phase], Program] = {}

    def plans(self) -> Iterator[StepPlan]:
        """Graph captures, then dummy batches, then the real steps."""
        spec = self.spec
        batch = spec.arrivals.concurrency
        for index in range(spec.capture_steps):
            size = max(1, batch >> index)
            work = decode_work(size, DUMMY_KEYS)
            yield StepPlan(index, "capture", "dummy", generation=work)
        before = spec.capture_steps
        for index in range(spec.dummy_steps):
            work = decode_work(batch, DUMMY_KEYS)
            yield StepPlan(before + index, "dummy", "dummy", generation=work)
        before += spec.dummy_steps
        for plan in plan_steps(spec.arrivals, spec.steps, spec.seed, spec.speculative):
            yield replace(plan, index=before + plan.index)

    def step(self, plan: StepPlan) -> Step:
        mode = self._mode(plan)
        batch = graph_batch(plan.requests) if mode == "graph" or plan.kind == "capture" else None
        program = self._program(plan, mode, self._moved(mode))
        load = Load(
            tokens=self._tokens(plan, batch),
            requests=max(plan.requests, 1),
            kv_tokens=plan.generation.queries_keys,
            context_work=plan.context.queries_keys,
        )
        times = self.timeline.step(program, load, self._hole(plan))
        stray = None
        if self.spec.stray_copies and self.rng.random() < self.spec.stray_copies:
            stray = Stray(*self.timeline.copy())
        texts = annotation_texts(plan, self.spec.dialect, batch)
        return Step(plan, program, texts, batch, times, stray)

    def _tokens(self, plan: StepPlan, batch: int | None) -> int:
        per_request = plan.tokens // plan.requests if plan.requests else 1
        return max(1, batch * per_request if batch else plan.tokens)

    def _mode(self, plan: StepPlan) -> LaunchMode:
        if plan.context.requests:
            return self.spec.prefill
        if self.spec.decode == "graph" and plan.requests > self.spec.largest_graph:
            return self.spec.prefill
        return self.spec.decode

    def _hole(self, plan: StepPlan) -> int:
        every = self.spec.hole_every
        hole = bool(every) and plan.index % every == every - 1
        return round(self.spec.hole_ms * 1e6) if hole else 0

    def _moved(self, mode: LaunchMode) -> int:
        """The kernel of a layer that a replayed graph has on the main stream, or -1."""
        moves = self.spec.stream_moves
        if not moves or mode == "eager" or self.rng.random() >= moves:
            return -1
        return int(self.rng.integers(max(side_kernels(self.model), 1)))

    def _program(self, plan: StepPlan, mode: LaunchMode, moved: int) -> Program:
        kind = DRAFT_STEP if plan.phase == "draft" else STEP
        if plan.phase == "idle" or plan.kind == "capture":
            kind = "idle" if plan.phase == "idle" else "capture"
        key = (kind, mode, moved, plan.phase if self.spec.kernels_by_kind else "decode")
        if key not in self.programs:
            self.programs[key] = self._build(*key)
        return self.programs[key]

    def _build(self, kind: str, mode: LaunchMode, moved: int, phase: Phase) -> Program:
        if kind == "idle":
            return empty_program()
        if kind == "capture":
            return prologue_program(self.model)
        # Without a graph there is nothing to gain from a second stream.
        model = on_main_stream(self.model) if mode == "eager" else self.model
        model = on_main_stream(model, moved) if moved >= 0 else model
        if self.spec.kernels_by_kind:
            prefills = phase in ("prefill", "mixed")
            model = (
                prefill_model(model, mixed=phase == "mixed") if prefills else decode_model(model)
            )
        return step_program(model, mode, DRAFT_LAYERS if kind == DRAFT_STEP else model.layers, kind)


def graph_batch(requests: int) -> int:
    """The smallest captured batch size that holds the requests."""
    fitting = (size for size in GRAPH_SIZES if size >= requests)
    return next(fitting, requests)
