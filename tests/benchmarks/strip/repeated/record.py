"""A capture of many steps, made of a single real one, and the truth about it."""

from __future__ import annotations

import gzip
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.benchmarks.strip.repeated.clock import HostClock, host_clock, launches
from tests.benchmarks.strip.repeated.plans import Case, Plan
from tests.benchmarks.strip.repeated.template import RUNTIME, Activity, Event, RealStep, extent
from tests.benchmarks.strip.repeated.texts import retitled, shaped
from tests.benchmarks.strip.repeated.work import SECOND, step_of

STRIDE = 1_000_000
"""Numbers of launches and operators that each step has for itself."""

IDLE = (8_000_000, 40_000_000)
"""Least and most time in ns that the server waits for requests."""

SHIFT = 3_000_000
"""By how much at most in ns the clocks of ranks differ."""

RARE, FAR = 0.004, 0.25
"""How often a kernel takes much longer, and how much: mean of the exponential of its log."""

LATENCY = (2_000, 9_000)
"""Least and most time in ns from a launch to its kernel on an idle device."""

LEAST_GAP, MOST_GAP = -1_500, 1_500
"""Time in ns between kernels that don't wait for the host."""


@dataclass(frozen=True)
class TrueStep:
    """A step as it was made.

    Attributes:
        plan: what it does.
        whole: whether all of it is recorded.
        launched: whether its launches are recorded.
        numbers: numbers of its launches.
        named: those of them inside its annotation.
    """

    plan: Plan
    whole: bool
    launched: bool
    numbers: frozenset[int]
    named: frozenset[int]


@dataclass(frozen=True)
class _Placed:
    event: Event
    start: int
    end: int
    number: int
    launch: int
    stream: tuple[int, int]


class Recording:
    """One rank's capture while it is made."""

    def __init__(self, real: RealStep, case: Case, rank: int) -> None:
        """Makes all of it."""
        self._real, self._case, self._rank = real, case, rank
        self._all = random.Random(case.seed)
        self._own = random.Random(f"{case.seed} {rank}")
        self._events: list[Event] = []
        self._busy: dict[tuple[int, int], int] = {}
        self._latest: dict[tuple[int, int], int] = {}
        self._ends: list[int] = []
        self.steps: list[TrueStep] = []
        shift = self._own.randrange(-SHIFT, SHIFT) if rank else 0
        self._start = self._host = real.span[0] + shift
        for number, plan in enumerate(case.plans):
            self._add(number, plan)

    def write(self, folder: Path) -> Path:
        """Writes it, gzipped."""
        end = max(self._host, *self._busy.values())
        outer = [
            {
                **event,
                "ts": (self._start - 300_000 + 500 * depth) / 1000,
                "dur": (end - self._start + 600_000 - 1000 * depth) / 1000,
            }
            for depth, event in enumerate(self._real.around)
        ]
        head = dict(self._real.head)
        if self._case.ranks > 1:
            ranks = {"rank": self._rank, "world_size": self._case.ranks}
            head["distributedInfo"] = {**head.get("distributedInfo", {}), **ranks}
        path = folder / f"{self._real.name}-{self._case.seed}-rank{self._rank}.pt.trace.json.gz"
        document = {**head, "traceEvents": [*outer, *self._events]}
        path.write_bytes(gzip.compress(orjson.dumps(document), 1))
        return path

    def _add(self, number: int, plan: Plan) -> None:
        case, real = self._case, self._real
        step = step_of(real, plan, second_stream=case.second_stream)
        pause = self._all.randrange(*case.pause)
        pause += self._all.randrange(*IDLE) if number in case.idle else 0
        launched, eager = number >= case.unlaunched, bool(plan.prompts)
        first = number == 0 and not launched
        if first:
            step = step[-max(1, int(case.tail * len(step))) :]
        begin = self._host + pause
        if launched and len(self._ends) > case.ahead:
            begin = max(begin, self._ends[-1 - case.ahead] + 20_000)
        speed = math.exp(self._own.gauss(0, 0.12))
        clock = host_clock(real, step, begin, speed, eager=eager)
        sites = launches(step, clock, (number + 1) * STRIDE, eager=eager)
        placed = self._place(step, sites, launched=launched)
        last = number == len(case.plans) - 1
        placed = placed[: max(1, int(case.cut * len(placed)))] if last else placed
        self._events += [one.event for one in placed]
        self._ends.append(max(one.end for one in placed))
        start, end = clock(real.named[0]), clock(real.named[1])
        self.steps.append(
            TrueStep(
                plan,
                whole=not (first and case.tail < 1) and not (last and case.cut < 1),
                launched=launched,
                numbers=frozenset(one.number for one in placed),
                named=frozenset(one.number for one in placed if start <= one.launch < end),
            )
        )
        if launched:
            self._host = clock.end
            self._record_host(number, plan, step, clock, sites, eager=eager)
            self._events += _flows(placed, real)
            self._mark(placed, plan, clock)

    def _place(
        self, step: Sequence[Activity], sites: Sequence[tuple[int, int]], *, launched: bool
    ) -> list[_Placed]:
        """Runs a step on the device, behind what ran before."""
        placed: list[_Placed] = []
        begun: set[int] = set()
        moved = {one.stream for one in step if one.stream[1] >= SECOND}
        for one, (number, launch) in zip(step, sites, strict=True):
            dur = self._duration(one)
            free = self._busy.get(one.stream, self._start - 2_000_000)
            if one.replayed and number in begun:
                start = free + round(min(one.gap, 40_000) * math.exp(self._own.gauss(0, 0.05)))
            elif not launched:
                start = free + min(max(one.gap, 500), 3_000)
            else:
                delay = min(max(one.ts - one.launch, LATENCY[0]), LATENCY[1])
                gap = min(max(one.gap, LEAST_GAP), MOST_GAP)
                start = max(free + gap, launch + delay)
            begun.add(number)
            if placed and (one.stream in moved or placed[-1].stream in moved):
                start = max(start, placed[-1].end)
            start = max(start, self._latest.get(one.stream, 0) + 1)
            start = max(start, launch + 1_500) if launched else start
            self._latest[one.stream] = start
            self._busy[one.stream] = max(free, start + dur)
            args = {**one.event["args"], "correlation": number}
            event = {**one.event, "ts": start / 1000, "dur": dur / 1000, "args": args}
            placed.append(_Placed(event, start, start + dur, number, launch, one.stream))
        return placed

    def _duration(self, one: Activity) -> int:
        log = self._own.gauss(0, self._case.jitter)
        log += self._own.expovariate(1 / FAR) if self._own.random() < RARE else 0
        return max(round(one.dur * math.exp(log)), 200)

    def _record_host(
        self,
        number: int,
        plan: Plan,
        step: Sequence[Activity],
        clock: HostClock,
        sites: Sequence[tuple[int, int]],
        *,
        eager: bool,
    ) -> None:
        base = (number + 1) * STRIDE
        graphs = {one.launch for one in step if one.replayed and eager}
        for index, event in enumerate(self._real.host):
            if event["cat"] in RUNTIME and extent(event)[0] in graphs:
                self._events += _one_by_one(event, step, sites, plan)
                continue
            start, end = (clock(time) for time in extent(event))
            args = _renumbered(event.get("args") or {}, base)
            if "Input Dims" in args:
                args["Input Dims"] = shaped(args["Input Dims"], event["name"], self._real, plan)
            named = index in self._real.titles
            name = retitled(event["name"], plan) if named else event["name"]
            times = {"ts": start / 1000, "dur": (end - start) / 1000}
            self._events.append({**event, "name": name, "args": args, **times})

    def _mark(self, placed: Sequence[_Placed], plan: Plan, clock: HostClock) -> None:
        """Repeats the step's annotations on the streams, as CUPTI and ROCm do."""
        if not self._real.marked:
            return
        for index in self._real.titles:
            event = self._real.host[index]
            start, end = (clock(time) for time in extent(event))
            inside = [one for one in placed if start <= one.launch < end]
            for stream in {one.stream for one in inside}:
                mine = [one for one in inside if one.stream == stream]
                first, last = min(one.start for one in mine), max(one.end for one in mine)
                self._events.append(
                    {
                        "ph": "X",
                        "cat": "gpu_user_annotation",
                        "name": retitled(event["name"], plan),
                        "pid": stream[0],
                        "tid": stream[1],
                        "ts": (first - 1) / 1000,
                        "dur": (last - first + 1) / 1000,
                    }
                )


def _renumbered(args: dict[str, Any], base: int) -> dict[str, Any]:
    found = dict(args)
    for key in ("External id", "Ev Idx", "Python id", "Python parent id", "correlation"):
        if isinstance(found.get(key), int):
            room = 400_000 if key == "correlation" else STRIDE
            found[key] = base + found[key] % room
    return found


def _one_by_one(
    graph: Event, step: Sequence[Activity], sites: Sequence[tuple[int, int]], plan: Plan
) -> list[Event]:
    """Operators and launches of the kernels of a graph that isn't replayed."""
    place = {"ph": "X", "pid": graph["pid"], "tid": graph["tid"]}
    launch = "hipLaunchKernel" if graph["name"].startswith("hip") else "cudaLaunchKernel"
    found: list[Event] = []
    for one, (number, start) in zip(step, sites, strict=True):
        if not one.replayed:
            continue
        # The logits have a row for each request, all else one for each token.
        rows = plan.requests if one.part == 2 else plan.tokens
        dims = {"Input Dims": [[rows, 4096], [4096, 4096]], "External id": number}
        times = {"ts": (start - 1_500) / 1000, "dur": 6.5}
        found.append({**place, "cat": "cpu_op", "name": "aten::mm", "args": dims, **times})
        times = {"ts": start / 1000, "dur": 4.0}
        args = {"correlation": number}
        found.append({**place, "cat": graph["cat"], "name": launch, "args": args, **times})
    return found


def _flows(placed: Sequence[_Placed], real: RealStep) -> list[Event]:
    host = next(event for event in real.host if event["cat"] in RUNTIME)
    flow = {"cat": "ac2g", "name": "ac2g"}
    found: dict[int, Event] = {}
    ends: list[Event] = []
    for one in placed:
        start = {"ph": "s", "pid": host["pid"], "tid": host["tid"], "ts": one.launch / 1000}
        found.setdefault(one.number, {**flow, **start, "id": one.number})
        process, thread = one.stream
        end = {"ph": "f", "bp": "e", "pid": process, "tid": thread, "ts": one.start / 1000}
        ends.append({**flow, **end, "id": one.number})
    return [*found.values(), *ends]
