"""A small capture in which it is known by hand what belongs to which step.

Times are in µs. Names of events are unique, and say where an event belongs.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]

HOST, MAIN, WORKER, OTHER = 10, 10, 11, 12
GPU, STREAM = 0, 7

OF_STEP_1 = {
    # the step itself, and what runs in it on the threads that launch
    "step[DECODE bs=8]",
    "s1 op",
    "s1 launch mm",
    "s1 launch graph",
    "s1 driver call in launch graph",
    "s1 synchronize",
    "s1 instant",
    "s1 worker op",
    "s1 worker launch",
    # frames around it, up to the process
    "main",
    "loop",
    "loop of worker",
    # on the device, some long after the step's host span, beside work of the next step
    "s1 mm",
    "s1 node a",
    "s1 node b",
    "s1 node c",
    "s1 worker kernel",
    "s1 wait of stream",
    "gpu step 1",
}
"""Names of slices and instants that a cut of step 1 holds."""


def x(name: str, cat: str, pid: int, tid: int, ts: float, dur: float, **args: Any) -> Event:
    """A slice."""
    found: Event = {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
    }  # fmt: skip
    if args:
        found["args"] = args
    return found


def flow(ph: str, cat: str, number: int, pid: int, tid: int, ts: float) -> Event:
    """One end of a flow."""
    found: Event = {
        "ph": ph, "id": number, "pid": pid, "tid": tid, "ts": ts, "cat": cat, "name": cat,
    }  # fmt: skip
    return {**found, "bp": "e"} if ph == "f" else found


def call(
    name: str, ts: float, dur: float, correlation: int, cat: str = "cuda_runtime", tid: int = MAIN
) -> Event:
    """A call of the runtime."""
    return x(name, cat, HOST, tid, ts, dur, correlation=correlation)


def activity(name: str, ts: float, dur: float, correlation: int, cat: str = "kernel") -> Event:
    """An activity of the device."""
    return x(name, cat, GPU, STREAM, ts, dur, device=GPU, stream=STREAM, correlation=correlation)


def frame(name: str, ts: float, dur: float, tid: int = MAIN) -> Event:
    """A frame of Python."""
    return x(name, "python_function", HOST, tid, ts, dur)


def events() -> list[Event]:
    """The capture's events: three steps, of which the middle one is looked at."""
    return [*_metadata(), *_frames(), *_steps(), *_device(), *_flows(), *_beside()]


def _metadata() -> list[Event]:
    def meta(name: str, pid: int, tid: int, value: str) -> Event:
        return {
            "ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0.0, "args": {"name": value},
        }  # fmt: skip

    return [
        meta("process_name", HOST, 0, "python"),
        meta("process_name", GPU, 0, "GPU 0"),
        meta("process_name", 99, 0, "of nothing"),
        meta("thread_name", HOST, MAIN, "thread main"),
        meta("thread_name", HOST, WORKER, "thread worker"),
        meta("thread_name", HOST, OTHER, "thread other"),
        meta("thread_name", GPU, STREAM, "stream 7"),
    ]


def _frames() -> list[Event]:
    return [
        frame("main", 1000, 1000),
        frame("loop", 1010, 980),
        frame("between steps 0 and 1", 1205, 30),
        frame("between steps 1 and 2", 1360, 30),
        frame("loop of worker", 1000, 1000, WORKER),
        frame("earlier on worker", 1210, 20, WORKER),
        frame("other thread", 1000, 1000, OTHER),
        frame("other thread in step 1", 1260, 20, OTHER),
    ]


def _steps() -> list[Event]:
    return [
        x("step[DECODE bs=4]", "user_annotation", HOST, MAIN, 1100, 100),
        x("s0 op", "cpu_op", HOST, MAIN, 1110, 20),
        call("s0 launch", 1112, 4, 1),
        x("step[DECODE bs=8]", "user_annotation", HOST, MAIN, 1250, 100),
        x("s1 op", "cpu_op", HOST, MAIN, 1260, 20),
        call("s1 launch mm", 1262, 4, 2),
        x("s1 worker op", "cpu_op", HOST, WORKER, 1268, 12),
        call("s1 worker launch", 1270, 4, 4, tid=WORKER),
        call("s1 launch graph", 1300, 10, 3),
        call("s1 driver call in launch graph", 1302, 6, 3, "cuda_driver"),
        # It ends a little later than the step around it: the clock is read twice.
        call("s1 synchronize", 1340, 10.2, 9),
        {"ph": "i", "name": "s1 instant", "s": "t", "pid": HOST, "tid": MAIN, "ts": 1290.0},
        x("step[DECODE bs=2]", "user_annotation", HOST, MAIN, 1400, 100),
        call("s2 launch", 1412, 4, 5),
        call("after all", 1800, 4, 6),
    ]


def _device() -> list[Event]:
    return [
        activity("s0 kernel", 1150, 160, 1),  # runs while step 1 launches
        activity("s1 mm", 1310, 20, 2),
        # Programmatic dependent launch: the next begins before the last has ended.
        activity("s1 node a", 1420, 40.5, 3),
        activity("s1 node b", 1460, 20, 3, "gpu_memcpy"),
        activity("s1 node c", 1480, 10, 3, "gpu_memset"),
        activity("s1 worker kernel", 1490, 10, 4),
        activity("s2 kernel", 1500, 20, 5),
        activity("after all kernel", 1810, 20, 6),
        x("s1 wait of stream", "cuda_sync", GPU, STREAM, 1305, 1, correlation=9),
        x("gpu step 0", "gpu_user_annotation", GPU, STREAM, 1150, 160),
        x("gpu step 1", "gpu_user_annotation", GPU, STREAM, 1310, 190),
        x("gpu step 2", "gpu_user_annotation", GPU, STREAM, 1500, 20),
    ]


def _flows() -> list[Event]:
    pairs = [
        (1, MAIN, 1112, (1150,)),
        (2, MAIN, 1262, (1310,)),
        (3, MAIN, 1300, (1420, 1460, 1480)),
        (4, WORKER, 1270, (1490,)),
        (5, MAIN, 1412, (1500,)),
    ]
    found = []
    for number, tid, out, ends in pairs:
        found.append(flow("s", "ac2g", number, HOST, tid, out))
        found += [flow("f", "ac2g", number, GPU, STREAM, end) for end in ends]
    return [
        *found,
        flow("f", "ac2g", 9, HOST, MAIN, 1340),  # Kineto ends a flow at what launches nothing
        flow("s", "fwdbwd", 1, HOST, MAIN, 1110),  # from step 0 to step 1
        flow("f", "fwdbwd", 1, HOST, MAIN, 1260),
        flow("s", "fwdbwd", 2, HOST, MAIN, 1260),  # within step 1, though the number is known
        flow("f", "fwdbwd", 2, HOST, WORKER, 1268),
    ]


FLOWS_OF_STEP_1 = {("ac2g", 2), ("ac2g", 3), ("ac2g", 4), ("ac2g", 9), ("fwdbwd", 2)}


def _beside() -> list[Event]:
    return [
        {"ph": "i", "name": "start", "s": "g", "pid": "Traces", "tid": "Trace", "ts": 1000.0},
        x("PyTorch Profiler (0)", "Trace", HOST, OTHER, 1000, 1000),
        {"ph": "C", "name": "queue", "pid": GPU, "ts": 1320.0, "args": {"length": 3}},
        {"ph": "C", "name": "queue later", "pid": GPU, "ts": 1900.0, "args": {"length": 0}},
    ]


TOP = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU 0"}]}
"""Keys before the events; ``traceName`` stands behind them."""


def write(path: Path, found: Iterable[Event] | None = None) -> Path:
    """Writes the capture."""
    document = {**TOP, "traceEvents": list(found or events()), "traceName": "hand-made"}
    path.write_text(json.dumps(document))
    return path


def read(path: Path) -> Any:
    """Reads a cut with nothing but the standard library."""
    with gzip.open(path) as file:
        return json.loads(file.read())


def with_text_numbers(found: list[Event]) -> list[Event]:
    """Numbers as text, as some profilers write them."""
    for event in found:
        for key in ("ts", "dur"):
            if key in event and event["ph"] != "M":
                event[key] = f"{event[key]:.3f}"
    return found


def with_pairs(found: list[Event]) -> list[Event]:
    """Slices as a begin and an end event each, ends first where both are at one time."""
    result = []
    for event in found:
        if event["ph"] != "X":
            result.append(event)
            continue
        end = event["ts"] + event.pop("dur")
        result.append({**event, "ph": "B"})
        result.append({"ph": "E", "pid": event["pid"], "tid": event["tid"], "ts": end})
    return result


def below_zero(found: list[Event]) -> list[Event]:
    """All times before the clock's origin."""
    for event in found:
        event["ts"] -= 5000
    return found


def with_odd_types(found: list[Event]) -> list[Event]:
    """Fields of types that nobody expects, and correlations as text."""
    for event in found:
        if "args" in event and "correlation" in event["args"]:
            event["args"]["correlation"] = str(event["args"]["correlation"])
    found.append({**x("odd", "cpu_op", HOST, OTHER, 1000, 1), "args": [1], "id": {"a": 1}})
    return found


VARIANTS: dict[str, Callable[[list[Event]], list[Event]]] = {
    "plain": lambda found: found,
    "reversed, numbers as text": lambda found: with_text_numbers(found[::-1]),
    "below zero, odd types": lambda found: with_odd_types(below_zero(found)),
}


def variant(name: str) -> list[Event]:
    """The events, written otherwise."""
    return VARIANTS[name](copy.deepcopy(events()))
