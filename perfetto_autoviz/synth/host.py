"""Host events of one step: annotations, python frames, operators and runtime calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perfetto_autoviz.synth.kineto import FLOW_START, micros, span_event
from perfetto_autoviz.synth.model import Model, Slot
from perfetto_autoviz.synth.scenario import Framework, ScenarioSpec
from perfetto_autoviz.synth.simulate import Step

STEP_FRAMES: Mapping[Framework, tuple[str, ...]] = {
    "vllm": (
        "torch/utils/_contextlib.py(117): decorate_context",
        "vllm/v1/worker/gpu_model_runner.py(3380): execute_model",
    ),
    "sglang": (
        "sglang/srt/managers/scheduler.py(2919): _run_batch_inner",
        "sglang/srt/managers/tp_worker.py(445): forward_batch_generation",
        "sglang/srt/model_executor/model_runner.py(3123): forward",
        "sglang/srt/model_executor/model_runner.py(3194): _forward_raw",
    ),
    "atom": ("torch/utils/_contextlib.py(117): decorate_context",),
    "trtllm": ("torch/utils/_contextlib.py(117): decorate_context",),
}
"""Python frames around a step, outermost first, as the captures show them."""

RUNTIME = {
    "amd": {
        "kernel": "hipLaunchKernel",
        "copy": "hipMemcpyAsync",
        "fill": "hipMemsetAsync",
        "graph": "hipGraphLaunch",
        "wait": "hipEventSynchronize",
    },
    "nvidia": {
        "kernel": "cudaLaunchKernel",
        "copy": "cudaMemcpyAsync",
        "fill": "cudaMemsetAsync",
        "graph": "cudaGraphLaunch",
        "wait": "cudaEventSynchronize",
    },
}
"""Names of the runtime calls by vendor."""

CALL_IDS = {
    "hipLaunchKernel": 134,
    "hipMemcpyAsync": 60,
    "hipGraphLaunch": 215,
    "cudaLaunchKernel": 211,
    "cudaLaunchKernelExC": 430,
    "cuLaunchKernelEx": 652,
    "cudaMemcpyAsync": 41,
    "cudaMemsetAsync": 51,
    "cudaGraphLaunch": 311,
    "cudaEventSynchronize": 137,
}
"""Call identifiers as profilers write them; calls that are not listed get none."""

INNER_INSET_NS = 1_000
"""How far a python frame lies inside the one around it."""


@dataclass
class HostWriter:
    """Formats the host events of one rank.

    Args:
        spec: the scenario.
        model: its model.
        pid: process and thread of the host.
        rank: the rank.
    """

    spec: ScenarioSpec
    model: Model
    pid: int
    rank: int
    correlation: int = 100_000
    external: int = 1_000
    frame: int = 0
    _dims: dict[tuple[int, int, int], str] = field(default_factory=dict)

    def annotations(self, step: Step, shift: int) -> list[str]:
        """The annotations, outermost first; one event each on the host thread."""
        events = []
        for depth, text in enumerate(step.texts):
            ts, end = self._annotated(step, depth)
            self.external += 1
            args = {"External id": self.external, "Record function id": 0}
            at = (self.pid, self.pid, ts + shift, end - ts)
            events.append(span_event("user_annotation", text, *at, args))
        return events

    def _annotated(self, step: Step, depth: int) -> tuple[int, int]:
        times, rank = step.times, self.rank
        ts = int(times.host_ts[rank])
        end = ts + int(times.host_dur[rank])
        if depth == 0:
            return ts, end
        first, stop = step.program.annotated_launches(depth)
        if stop == 0:
            return ts + 40 * INNER_INSET_NS, end - 40 * INNER_INSET_NS
        last = int(times.op_ts[rank, stop - 1] + times.op_dur[rank, stop - 1])
        return int(times.op_ts[rank, first]) - 5 * INNER_INSET_NS, last + 5 * INNER_INSET_NS

    def frames(self, step: Step, shift: int) -> Iterator[str]:
        """Python functions around the step, and modules around each layer in eager mode."""
        ts = int(step.times.host_ts[self.rank]) + shift
        end = ts + int(step.times.host_dur[self.rank])
        inset = 20 * INNER_INSET_NS
        for name in STEP_FRAMES[self.spec.framework]:
            yield self._frame(name, ts + inset, end - inset)
            inset += INNER_INSET_NS
        if step.program.mode == "eager" and len(step.program.layer_starts):
            yield from self._modules(step, shift)

    def _modules(self, step: Step, shift: int) -> Iterator[str]:
        times, program = step.times, step.program
        op_ts = (times.op_ts[self.rank] + shift).tolist()
        op_end = (times.op_ts[self.rank] + times.op_dur[self.rank] + shift).tolist()
        starts = program.launch_of[program.layer_starts[:-1]].tolist()
        stops = [*starts[1:], int(program.launch_of[program.layer_starts[-1] - 1]) + 1]
        span = (op_ts[starts[0]] - 3 * INNER_INSET_NS, op_end[stops[-1] - 1] + INNER_INSET_NS)
        yield self._frame(f"nn.Module: {self.model.architecture}_0", *span)
        for layer, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            name = f"nn.Module: {self.model.layer_module}_{layer}"
            yield self._frame(name, op_ts[start] - INNER_INSET_NS, op_end[stop - 1] + 200)

    def _frame(self, name: str, ts: int, end: int) -> str:
        self.frame += 1
        args = {"Python parent id": None, "Python id": self.frame}
        return span_event("python_function", name, self.pid, self.pid, ts, end - ts, args)

    def wait(self, step: Step, shift: int) -> list[str]:
        """The host waits for the device before the step."""
        name = RUNTIME[self.model.gpu.vendor]["wait"]
        ts = int(step.times.wait_ts[self.rank]) + shift
        dur = int(step.times.wait_dur[self.rank])
        return [self._call(name, ts, dur, self._next_correlation(), None)]

    def launches(self, step: Step, shift: int) -> tuple[list[str], list[int], list[int]]:
        """Operators, runtime calls and the starts of flows.

        Returns:
            The events, and per launch its correlation and its external id (0 for none).
        """
        times, program = step.times, step.program
        columns = (times.op_ts + shift, times.op_dur, times.api_ts + shift, times.api_dur)
        rows = zip(*(column[self.rank].tolist() for column in columns), strict=True)
        flow = FLOW_START.format(pid=self.pid)
        events: list[str] = []
        correlations: list[int] = []
        externals: list[int] = []
        for launch, (op_ts, op_dur, api_ts, api_dur) in zip(program.launches, rows, strict=True):
            correlation = self._next_correlation()
            slot = program.kernels[launch.start].slot
            external = 0
            if not launch.graph:
                self.external += 1
                external = self.external
                if self.spec.cpu_ops and slot.op:
                    events.append(self._operator(slot, step, op_ts, op_dur))
            name = self._call_name(slot, graph=launch.graph)
            events.append(self._call(name, api_ts, api_dur, correlation, external or None))
            if self.spec.flows:
                events.append(flow % (correlation, api_ts // 1000, api_ts % 1000))
            correlations.append(correlation)
            externals.append(external)
        return events, correlations, externals

    def stray_call(self, api_ts: int, api_dur: int) -> tuple[list[str], int, int]:
        """The call of a copy between steps; also its correlation and external id."""
        self.external += 1
        correlation = self._next_correlation()
        name = RUNTIME[self.model.gpu.vendor]["copy"]
        events = [self._call(name, api_ts, api_dur, correlation, self.external)]
        if self.spec.flows:
            flow = FLOW_START.format(pid=self.pid)
            events.append(flow % (correlation, api_ts // 1000, api_ts % 1000))
        return events, correlation, self.external

    def _next_correlation(self) -> int:
        self.correlation += 1
        return self.correlation

    def _operator(self, slot: Slot, step: Step, ts: int, dur: int) -> str:
        key = (id(slot), step.plan.tokens, step.plan.requests)
        if key not in self._dims:
            if len(self._dims) > MAX_CACHED_DIMS:
                self._dims.clear()
            sizes = {"T": step.plan.tokens, "R": max(step.plan.requests, 1)}
            dims = [_resolve(dim, sizes) for dim in slot.dims]
            self._dims[key] = json.dumps(dims, separators=(",", ":"))
        return (
            f'{{"ph":"X","cat":"cpu_op","name":"{slot.op}","pid":{self.pid},"tid":{self.pid},'
            f'"ts":{micros(ts)},"dur":{micros(dur)},"args":{{"External id":{self.external},'
            f'"Record function id":0,"Input Dims":{self._dims[key]}}}}}'
        )

    def _call_name(self, slot: Slot, *, graph: bool) -> str:
        names = RUNTIME[self.model.gpu.vendor]
        if graph:
            return names["graph"]
        by_category = {"gpu_memcpy": names["copy"], "gpu_memset": names["fill"]}
        return by_category.get(slot.category, slot.api or names["kernel"])

    def _call(self, name: str, ts: int, dur: int, correlation: int, external: int | None) -> str:
        category = "cuda_driver" if name.startswith("cu") and name[2].isupper() else "cuda_runtime"
        key = "cid" if self.model.gpu.vendor == "amd" else "cbid"
        call = f'"{key}":{CALL_IDS[name]},' if name in CALL_IDS else ""
        outer = f'"External id":{external},' if external else ""
        return (
            f'{{"ph":"X","cat":"{category}","name":"{name}","pid":{self.pid},"tid":{self.pid},'
            f'"ts":{micros(ts)},"dur":{micros(dur)},'
            f'"args":{{{outer}{call}"correlation":{correlation}}}}}'
        )


MAX_CACHED_DIMS = 20_000
"""Operator shapes kept as text; prefill steps rarely repeat one."""


def _resolve(dim: Any, sizes: Mapping[str, int]) -> Any:
    if not isinstance(dim, Sequence) or isinstance(dim, str):
        return sizes.get(dim, dim) if isinstance(dim, str) else dim
    return [sizes.get(size, size) if isinstance(size, str) else size for size in dim]
