"""Composes captures: runs a scenario and writes each rank's file and its truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.anomalies import disturbed
from perfetto_autoviz.synth.columns import ProgramColumns
from perfetto_autoviz.synth.host import HostWriter
from perfetto_autoviz.synth.kineto import (
    FLOW_END,
    EventWriter,
    device_template,
    header,
    metadata_events,
    span_event,
)
from perfetto_autoviz.synth.model import Model, Slot
from perfetto_autoviz.synth.scenario import EPOCH_US, ScenarioSpec, SynthCapture
from perfetto_autoviz.synth.simulate import Step, scenario_model, simulate
from perfetto_autoviz.synth.truth import TrueIteration, TruthHeader, TruthWriter

Ints = NDArray[np.int64]

LEAD_US = 1_500
"""Time between a capture's first timestamp and its first step."""

MAX_DEVICES = 8
"""Devices of one machine; later ranks are on the next machine."""

BASE_TIME_NS = 1_767_189_312_000_000_000
"""Base time that the profiler of the measured captures subtracts from its timestamps."""

STRAY = Slot(
    name="Memcpy HtoD (Pinned -> Device)",
    cls="copy",
    dur_ns=2_000,
    gap_ns=0,
    category="gpu_memcpy",
    stream="copy",
    resources={"bytes": 2048},
)
"""The copy between two steps that belongs to none."""

PROFILER_TAIL_NS = 150_000
"""From the last activity to the profiler's own end, which waits for the device."""

MAX_CACHED_TEMPLATES = 8
"""Programs whose event texts are kept; a graph's batch size repeats, a prefill's rarely."""


def synthesise(spec: ScenarioSpec, out_dir: Path, max_events: int = 0) -> list[SynthCapture]:
    """Write the captures of a scenario, one per rank, each with its truth beside it.

    Args:
        spec: the scenario.
        out_dir: folder for the files; made if missing.
        max_events: stop after the step in which a rank reaches this many events; 0 for never.

    Returns:
        The captures in order of rank.
    """
    names = [capture_name(spec, rank) for rank in range(spec.ranks)]
    return compose(spec, [out_dir / name for name in names], max_events)


def compose(spec: ScenarioSpec, paths: list[Path], max_events: int = 0) -> list[SynthCapture]:
    """Write a scenario's captures under given names.

    Args:
        spec: the scenario.
        paths: one path per rank; ``.gz`` at the end gzips.
        max_events: stop after the step in which a rank reaches this many events; 0 for never.
    """
    model = scenario_model(spec)
    with ExitStack() as stack:
        ranks = [RankWriter(spec, model, rank, path, stack) for rank, path in enumerate(paths)]
        for step in _steps(spec, model):
            for writer in ranks:
                writer.step(step)
            if max_events and ranks[0].events >= max_events:
                break
        for writer in ranks:
            writer.finish()
    return [
        SynthCapture(w.path, truth_path(w.path), rank, w.events) for rank, w in enumerate(ranks)
    ]


def _steps(spec: ScenarioSpec, model: Model) -> Iterator[Step]:
    steps = simulate(spec, model)
    if not spec.anomalies:
        return steps
    before = spec.capture_steps + spec.dummy_steps
    real = range(before, before + spec.steps)
    return disturbed(steps, model.layers, real, spec.anomalies, spec.seed)


def capture_name(spec: ScenarioSpec, rank: int) -> str:
    """The file name that the framework would give; the rank is in it if there are several."""
    if spec.framework == "sglang":
        # 1782859605.7198358-TP-0-DECODE.trace.json.gz
        return f"{spec.name}-TP-{rank}.trace.json.gz"
    if spec.ranks == 1:
        return f"{spec.name}.pt.trace.json.gz"
    return f"{spec.name}_rank{rank}.pt.trace.json.gz"


def truth_path(path: Path) -> Path:
    """Where the truth of a capture lies: beside it, ``<name>.truth.json.gz``."""
    stem = path.name
    for suffix in (".gz", ".json", ".trace", ".pt"):
        stem = stem.removesuffix(suffix)
    return path.with_name(f"{stem}.truth.json.gz")


class RankWriter:
    """Writes the capture and the truth of one rank, step by step."""

    def __init__(
        self, spec: ScenarioSpec, model: Model, rank: int, path: Path, stack: ExitStack
    ) -> None:
        self.path = path
        self._spec = spec
        self._model = model
        self._rank = rank
        self._device = rank % MAX_DEVICES
        pid = 1000 + rank
        offset = spec.rank_offset_us * rank / max(1, spec.ranks - 1)
        # Steps count from 0; the first waits for the host, so nothing lies before the start.
        self._shift = (spec.clock_us + LEAD_US) * 1000 + round(offset * 1000)
        self._host = HostWriter(spec, model, pid, rank)
        self._columns = ProgramColumns(model, lambda names: self._truth.name_ids(names))
        self._kinds = list(model.kinds)
        self._templates: dict[tuple[int, ...], list[str]] = {}
        self._kernels = 0
        self._profiler_end = self._shift
        self._file = stack.enter_context(self._open(path, pid))
        self._truth = stack.enter_context(
            TruthWriter(
                truth_path(path),
                TruthHeader(
                    capture=path.name,
                    rank=rank,
                    world_size=spec.ranks,
                    seed=spec.seed,
                    model=model.name,
                    dialect=spec.dialect,
                    parts=self._columns.parts,
                    kinds=self._kinds,
                    patterns=self._columns.patterns,
                ),
                spec.edits,
            )
        )
        streams = sorted(set(model.gpu.streams.values()))
        process = f"{spec.framework}::worker_TP{rank}"
        start = spec.clock_us * 1000
        self._file.write(metadata_events(pid, self._device, process, streams, start))

    @property
    def events(self) -> int:
        """Events written so far."""
        return self._file.events

    def step(self, step: Step) -> None:
        """Write one step."""
        spec, host, shift = self._spec, self._host, self._shift
        events: list[str] = []
        if int(step.times.wait_dur[self._rank]) > 0:
            events += host.wait(step, shift)
        first_annotation = host.external + 1
        events += host.annotations(step, shift)
        if spec.python_frames:
            events += host.frames(step, shift)
        launches, correlations, externals = host.launches(step, shift)
        events += launches
        ts = step.times.ts[self._rank] + shift
        dur = step.times.dur[self._rank]
        order = np.lexsort((dur, ts))
        if spec.gpu_annotations:
            events += self._gpu_annotations(step, ts, ts + dur, first_annotation)
        events += self._device_events(step, ts, dur, order, correlations, externals)
        self._file.write(events)
        self._write_truth(step, ts, dur, order, correlations)
        if step.stray is not None:
            self._stray(step)
        host_end = int(step.times.host_ts[self._rank] + step.times.host_dur[self._rank]) + shift
        self._profiler_end = max(self._profiler_end, host_end, *(ts + dur).tolist()[-1:])

    def finish(self) -> None:
        """Write the profiler's own span, which closes a capture."""
        start = self._spec.clock_us * 1000
        dur = self._profiler_end + PROFILER_TAIL_NS - start
        span = span_event("Trace", "PyTorch Profiler (0)", 0, 0, start, dur, {"Op count": 0})
        named = span.replace('"pid":0,"tid":0', '"pid":"Spans","tid":"PyTorch Profiler"')
        self._file.write([named])

    def _open(self, path: Path, pid: int) -> EventWriter:
        spec = self._spec
        devices = min(spec.ranks, MAX_DEVICES)
        base = BASE_TIME_NS if spec.clock_us < EPOCH_US else 0
        top = header(self._model.gpu, self._rank, spec.ranks, devices, base)
        return EventWriter(path, top, f"{spec.name}.{pid}.json")

    def _device_events(
        self,
        step: Step,
        ts: Ints,
        dur: Ints,
        order: Ints,
        correlations: list[int],
        externals: list[int],
    ) -> Iterator[str]:
        templates = self._device_templates(step)
        flows = [FLOW_END.format(device=self._device, stream=s) for s in self._streams(step)]
        launch_of = step.program.launch_of.tolist()
        times = zip(order.tolist(), ts[order].tolist(), dur[order].tolist(), strict=True)
        with_flows = self._spec.flows
        for i, start, length in times:
            launch = launch_of[i]
            correlation, external = correlations[launch], externals[launch]
            us, ns = divmod(start, 1000)
            span = (us, ns, length // 1000, length % 1000)
            ids = (external, correlation) if external else (correlation,)
            yield templates[i] % (*span, *ids)
            if with_flows:
                yield flows[i] % (correlation, us, ns)

    def _streams(self, step: Step) -> list[int]:
        numbers: list[int] = self._columns.of(step.program)["stream"].tolist()
        return numbers

    def _device_templates(self, step: Step) -> list[str]:
        program = step.program
        tokens = step.graph_batch or max(step.plan.tokens, 1)
        sizes = {"T": tokens, "R": max(step.plan.requests, 1)}
        key = (id(program), *sizes.values())
        if key not in self._templates:
            if len(self._templates) >= MAX_CACHED_TEMPLATES:
                self._templates.clear()
            graph = [program.launches[i].graph for i in program.launch_of.tolist()]
            self._templates[key] = [
                device_template(k.slot, self._model.gpu, self._device, sizes, graph=g)
                for k, g in zip(program.kernels, graph, strict=True)
            ]
        return self._templates[key]

    def _gpu_annotations(self, step: Step, ts: Ints, end: Ints, external: int) -> Iterator[str]:
        """Each annotation's device span, from its first start to its last end on a stream."""
        stream = self._columns.of(step.program)["stream"]
        for depth, text in enumerate(step.texts):
            first, stop = step.program.annotated_launches(depth)
            launch = step.program.launch_of
            inside = (launch >= first) & (launch < stop)
            for number in np.unique(stream[inside]).tolist():
                covered = inside & (stream == number)
                start = int(ts[covered].min())
                span = (start, int(end[covered].max()) - start)
                args = {"External id": external + depth}
                yield span_event("gpu_user_annotation", text, self._device, number, *span, args)

    def _stray(self, step: Step) -> None:
        stray = step.stray
        if stray is None:
            return
        rank, shift = self._rank, self._shift
        call = (int(stray.api_ts[rank]) + shift, int(stray.api_dur[rank]))
        events, correlation, external = self._host.stray_call(*call)
        ts, dur = int(stray.ts[rank]) + shift, int(stray.dur[rank])
        template = device_template(STRAY, self._model.gpu, self._device, {}, graph=False)
        span = (ts // 1000, ts % 1000, dur // 1000, dur % 1000)
        events.append(template % (*span, external, correlation))
        stream = self._model.gpu.streams[STRAY.stream]
        if self._spec.flows:
            flow = FLOW_END.format(device=self._device, stream=stream)
            events.append(flow % (correlation, ts // 1000, ts % 1000))
        self._file.write(events)
        values = {
            "ts": ts,
            "dur": dur,
            "stream": stream,
            "correlation": correlation,
            "name": int(self._truth.name_ids([STRAY.name])[0]),
            "iteration": -1,
            "layer": -1,
            "position": 0,
            "part": self._columns.parts.index("outside"),
            "pattern": -1,
            "place": -1,
        }
        kernels = {key: np.array([value], dtype=np.int64) for key, value in values.items()}
        self._truth.chunk([], {}, kernels)
        self._kernels += 1

    def _write_truth(
        self, step: Step, ts: Ints, dur: Ints, order: Ints, correlations: list[int]
    ) -> None:
        program = step.program
        constant = self._columns.of(program)
        kernels = {
            "ts": ts,
            "dur": dur,
            "correlation": np.array(correlations, dtype=np.int64)[program.launch_of],
            "iteration": np.full(len(program), step.plan.index, dtype=np.int64),
            **constant,
        }
        self._truth.anomalies += self._anomalies(step, kernels)
        layers = self._layers(step, ts, ts + dur, order)
        ordered = {column: values[order] for column, values in kernels.items()}
        self._truth.chunk([self._iteration(step, ts, ts + dur)], layers, ordered)
        self._kernels += len(program)

    def _anomalies(self, step: Step, kernels: Mapping[str, Ints]) -> Iterator[dict[str, Any]]:
        """What goes wrong on this rank."""
        for one in step.anomalies:
            if one.rank not in (-1, self._rank):
                continue
            inside = step.program.layer == one.layer
            start = int(kernels["ts"][inside].min())
            end = int((kernels["ts"] + kernels["dur"])[inside].max())
            yield {
                "kind": one.kind,
                "ts": start,
                "dur": end - start,
                "culprits": [
                    {key: int(kernels[key][i]) for key in ("ts", "dur", "stream", "correlation")}
                    for i in one.culprits
                ],
                "name": one.missing,
                "channel": one.channel,
            }

    def _layers(self, step: Step, ts: Ints, end: Ints, order: Ints) -> dict[str, Ints]:
        bounds = step.program.layer_starts
        if not len(bounds):
            return {}
        starts, inside = bounds[:-1], slice(0, int(bounds[-1]))
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        number += self._kernels
        first = np.minimum.reduceat(ts[inside], starts)
        count = len(starts)
        kinds = [self._kinds.index(self._model.kind_of(i)) for i in range(count)]
        return {
            "iteration": np.full(count, step.plan.index, dtype=np.int64),
            "index": np.arange(count, dtype=np.int64),
            "kind": np.array(kinds, dtype=np.int64),
            "first": np.minimum.reduceat(number[inside], starts),
            "last": np.maximum.reduceat(number[inside], starts),
            "ts": first,
            "dur": np.maximum.reduceat(end[inside], starts) - first,
        }

    def _iteration(self, step: Step, ts: Ints, end: Ints) -> TrueIteration:
        plan, times = step.plan, step.times
        first = int(ts.min()) if len(ts) else None
        return TrueIteration(
            index=plan.index,
            kind=plan.kind,
            phase=plan.phase,
            name=step.texts[0] if step.texts else None,
            host_ts=int(times.host_ts[self._rank]) + self._shift,
            host_dur=int(times.host_dur[self._rank]),
            ts=first,
            dur=int(end.max()) - first if first is not None else None,
            requests=plan.requests,
            context_requests=plan.context.requests,
            generation_requests=plan.generation.requests,
            context_tokens=plan.context.queries,
            generation_tokens=plan.generation.queries,
            graph_batch=step.graph_batch,
            launch=step.program.mode,
            kernels=len(step.program),
        )
