"""When things happen: host calls and kernels of one step on all ranks.

The host issues launches one after another; a kernel starts when its launch has arrived and
its predecessor on the stream has ended (plus the gap), and a collective ends on all ranks
together. All times are integers in ns on one common clock; arrays have shape
``(ranks, launches)`` or ``(ranks, kernels)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.synth.model import Model, StreamRole
from perfetto_autoviz.synth.noise import (
    CLASSES,
    GAP_SIGMA,
    Load,
    class_scale,
    layer_effect,
    repeat_noise,
)
from perfetto_autoviz.synth.program import Program, Run

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HostCosts:
    """What the host needs, in ns; measured with python stacks recorded, as captures are.

    Attributes:
        lead: from the annotation's start to the first launch.
        tail: from the last launch to the annotation's end.
        between: python time before a launch in eager mode.
        op: from an operator's start to its launch, and again to its end in part.
        kernel: a kernel launch.
        copy: an asynchronous copy.
        graph: the launch of a whole graph.
        piece: the launch of a graph piece.
        arrival: from a launch's end to the earliest start of its kernel.
        graph_arrival: from a graph launch's start to the earliest start of its first kernel.
        wake: from the device's end to the host's return from a synchronisation.
        gap: between two steps, scheduling and detokenising.
        jitter: standard deviation of the log of all of these.
    """

    lead: int = 260_000
    tail: int = 90_000
    between: int = 40_000
    op: int = 7_000
    kernel: int = 6_600
    copy: int = 14_000
    graph: int = 620_000
    piece: int = 26_000
    arrival: int = 3_200
    graph_arrival: int = 45_000
    wake: int = 14_000
    gap: int = 380_000
    jitter: float = 0.18


@dataclass(frozen=True)
class StepTimes:
    """The times of one step.

    Attributes:
        host_ts: start of the annotation, ``(ranks,)``.
        host_dur: duration of the annotation, ``(ranks,)``.
        wait_ts: start of the synchronisation before the step, ``(ranks,)``.
        wait_dur: its duration, 0 without one, ``(ranks,)``.
        op_ts: start of each launch's operator.
        op_dur: duration of each launch's operator.
        api_ts: start of each runtime call.
        api_dur: duration of each runtime call.
        ts: start of each kernel.
        dur: duration of each kernel.
    """

    host_ts: Ints
    host_dur: Ints
    wait_ts: Ints
    wait_dur: Ints
    op_ts: Ints
    op_dur: Ints
    api_ts: Ints
    api_dur: Ints
    ts: Ints
    dur: Ints


@dataclass
class Timeline:
    """The state of host and device between steps.

    Args:
        model: the model, for its device and base load.
        ranks: number of ranks.
        rng: source of all noise.
        costs: what the host needs.
        asynchronous: whether the host runs up to one step ahead of the device.
        rank_sigma: standard deviation of the log of a rank's fixed speed factor.
    """

    model: Model
    ranks: int
    rng: np.random.Generator
    costs: HostCosts
    asynchronous: bool
    rank_sigma: float

    def __post_init__(self) -> None:
        self.host = np.zeros(self.ranks, dtype=np.int64)
        self.free: dict[StreamRole, Ints] = {}
        self.ends = [self.host, self.host]
        spread = self.rng.standard_normal((self.ranks, 1)) * self.rank_sigma
        self.speed: Floats = np.exp(spread)
        self._effects: dict[int, Floats] = {}
        self._runs: dict[int, list[Run]] = {}
        self._programs: list[Program] = []

    def step(self, program: Program, load: Load, hole_ns: int = 0) -> StepTimes:
        """Advance by one step.

        Args:
            program: the step's kernels.
            load: the work that durations scale with.
            hole_ns: extra time the host is away before the step.
        """
        host_ts, wait_ts, wait_dur = self._begin(hole_ns)
        op_ts, op_dur, api_ts, api_dur = self._launches(program, host_ts)
        last = op_ts[:, -1] + op_dur[:, -1] if len(program) else host_ts + self.costs.lead
        self.host = last + self._jittered(self.costs.tail, (self.ranks,))
        ts, dur = self._kernels(program, load, api_ts, api_dur)
        end = np.max(ts + dur, axis=1) if len(program) else self.ends[-1]
        self.ends = [self.ends[-1], np.maximum(end, self.ends[-1])]
        times = (host_ts, self.host - host_ts, wait_ts, wait_dur)
        return StepTimes(*times, op_ts, op_dur, api_ts, api_dur, ts, dur)

    def copy(self) -> tuple[Ints, Ints, Ints, Ints]:
        """A copy that the host starts between two steps on the copy stream.

        Returns:
            Start and duration of the call and of the copy, each of shape ``(ranks,)``.
        """
        shape = (self.ranks,)
        api_ts = self.host + self._jittered(self.costs.between, shape)
        api_dur = self._jittered(self.costs.copy, shape)
        self.host = api_ts + api_dur
        ready = api_ts + api_dur + self.costs.arrival
        ts = np.maximum(ready, self.free.get("copy", ready) + 1)
        dur = self._quantised(self._jittered(2_000, shape))
        self.free["copy"] = ts + dur
        return api_ts, api_dur, ts, dur

    def _begin(self, hole_ns: int) -> tuple[Ints, Ints, Ints]:
        """All ranks start a step together, as one scheduler tells them to."""
        wait_ts = self.host + 2_000
        device = self.ends[0] if self.asynchronous else self.ends[1]
        wait_end = np.maximum(wait_ts + 1_500, device + self.costs.wake)
        gap = int(self._jittered(self.costs.gap, (1,))[0]) + hole_ns
        start = int(wait_end.max()) + gap
        host_ts = start + self.rng.integers(0, 20_000, self.ranks, dtype=np.int64)
        return host_ts, wait_ts, wait_end - wait_ts

    def _launches(self, program: Program, host_ts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        costs, shape = self.costs, (self.ranks, len(program.launches))
        api_base = np.array([self._api_cost(program, i) for i in range(shape[1])], dtype=float)
        before = self._jittered(costs.between, shape)
        if shape[1]:
            before[:, 0] += self._jittered(costs.lead, (self.ranks,))
        lead, trail = self._jittered(costs.op, shape), self._jittered(costs.op // 3, shape)
        api_dur = np.maximum(500, api_base * self._factors(shape)).astype(np.int64)
        op_dur = lead + api_dur + trail
        op_ts = host_ts[:, None] + np.cumsum(before + op_dur, axis=1) - op_dur
        return op_ts, op_dur, op_ts + lead, api_dur

    def _api_cost(self, program: Program, index: int) -> int:
        launch = program.launches[index]
        if launch.graph:
            return self.costs.graph if program.mode == "graph" else self.costs.piece
        category = program.kernels[launch.start].slot.category
        return self.costs.kernel if category == "kernel" else self.costs.copy

    def _kernels(
        self, program: Program, load: Load, api_ts: Ints, api_dur: Ints
    ) -> tuple[Ints, Ints]:
        dur = self._durations(program, load)
        gap = self._gaps(program, dur)
        graph = np.array([launch.graph for launch in program.launches], dtype=bool)
        ready = api_ts + np.where(graph, self.costs.graph_arrival, api_dur + self.costs.arrival)
        ready = ready[:, program.launch_of] if len(program) else ready
        ts = np.empty_like(dur)
        for run in self._runs_of(program):
            self._place(run, ready, gap, ts, dur)
        return ts, dur

    def _place(self, run: Run, ready: Ints, gap: Ints, ts: Ints, dur: Ints) -> None:
        """Chain the kernels of one run; main and side streams wait for one another.

        The start of kernel i is max(ready_i, end of i-1 + gap_i). Taking the sum of all
        earlier durations and gaps away turns that recurrence into a running maximum.
        """
        cut = slice(run.start, run.stop)
        busy = dur[:, cut] + np.roll(gap[:, cut], -1, axis=1)
        ahead = np.cumsum(busy, axis=1) - busy
        floor = self._floor(run, gap[:, run.start])
        slack = ready[:, cut] - ahead
        slack[:, 0] = np.maximum(slack[:, 0], floor)
        ts[:, cut] = np.maximum.accumulate(slack, axis=1) + ahead
        if run.collective:
            end = ts[:, run.start].max() + dur[0, run.start]
            dur[:, run.start] = end - ts[:, run.start]
        self.free[run.stream] = ts[:, run.stop - 1] + dur[:, run.stop - 1]

    def _floor(self, run: Run, gap: Ints) -> Ints:
        """Earliest start of a run's first kernel; copies and the side let the main one run on."""
        start = np.zeros(self.ranks, dtype=np.int64)
        if run.stream in self.free:
            start = self.free[run.stream] + gap
        waits: list[StreamRole] = ["communication" if run.stream == "main" else "main"]
        if run.joins:
            waits.append("side")
        for other in waits:
            if other in self.free:
                start = np.maximum(start, self.free[other] + np.maximum(gap, 0))
        return start

    def _durations(self, program: Program, load: Load) -> Ints:
        base = self.model.base
        scale = {
            (cls, rows): class_scale(cls, rows, load, base)
            for cls in CLASSES
            for rows in ("tokens", "requests")
        }
        factors = np.array([scale[k.slot.cls, k.slot.rows] for k in program.kernels])
        mean = program.dur * factors * self._effect(program)
        noisy = mean * repeat_noise(program.classes, self.ranks, self.rng) * self.speed
        return self._quantised(noisy)

    def _gaps(self, program: Program, dur: Ints) -> Ints:
        factors = np.exp(self.rng.standard_normal(dur.shape) * GAP_SIGMA)
        gap = np.rint(program.gap * factors).astype(np.int64)
        # A gap of a nanosecond or two is the clock's rounding and does not scale.
        tiny = self.rng.integers(0, 3, dur.shape, dtype=np.int64)
        gap = np.where(np.abs(program.gap) <= 2, tiny, gap)
        if len(program):
            gap[:, 0] = np.maximum(gap[:, 0], 0)
            # A kernel starts at the earliest when its predecessor is nearly at work.
            gap[:, 1:] = np.maximum(gap[:, 1:], -(dur[:, :-1] * 9 // 10))
        return gap

    def _effect(self, program: Program) -> Floats:
        key = self._key(program)
        if key not in self._effects:
            self._effects[key] = layer_effect(program.classes, self.rng)
        return self._effects[key]

    def _runs_of(self, program: Program) -> list[Run]:
        key = self._key(program)
        if key not in self._runs:
            self._runs[key] = program.runs(self.ranks)
        return self._runs[key]

    def _key(self, program: Program) -> int:
        """Programs by identity; the list keeps them alive so that an id is never reused."""
        key = id(program)
        if key not in self._effects and key not in self._runs:
            self._programs.append(program)
        return key

    def _quantised(self, dur: Floats | Ints) -> Ints:
        """Durations as the device's clock measures them, at least one tick."""
        tick = self.model.gpu.quantum_ns
        ticks = np.maximum(1, np.rint(np.asarray(dur) / tick)).astype(np.int64)
        # AMD timestamps leave one nanosecond between touching kernels.
        measured: Ints = ticks * tick - (1 if self.model.gpu.vendor == "amd" else 0)
        return measured

    def _jittered(self, mean: int, shape: tuple[int, ...]) -> Ints:
        return np.rint(mean * self._factors(shape)).astype(np.int64)

    def _factors(self, shape: tuple[int, ...]) -> Floats:
        factors: Floats = np.exp(self.rng.standard_normal(shape) * self.costs.jitter)
        return factors
