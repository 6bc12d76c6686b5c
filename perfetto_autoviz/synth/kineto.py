"""Writes Kineto's Chrome JSON, event by event.

Events of one kind differ in a few numbers only, so that each kernel of a program gets a
template once, and a step fills in times and correlations.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from perfetto_autoviz.synth.model import Gpu, Slot
from perfetto_autoviz.synth.output import open_output

FLOW_START = '{{"ph":"s","id":%d,"pid":{pid},"tid":{pid},"ts":%d.%03d,"cat":"ac2g","name":"ac2g"}}'
FLOW_END = (
    '{{"ph":"f","id":%d,"pid":{device},"tid":{stream},"ts":%d.%03d,'
    '"cat":"ac2g","name":"ac2g","bp":"e"}}'
)

SORT_GPU = 5_000_000
"""Sort index that Kineto gives devices, so that they come after the processes."""


@dataclass
class EventWriter:
    """Writes one capture; the file appears when it is complete.

    Args:
        path: where the file will be; gzipped if the name ends in ``.gz``.
        header: the top-level members before the events.
        trace_name: the capture's own name for itself.
    """

    path: Path
    header: Mapping[str, Any]
    trace_name: str
    events: int = 0

    def __post_init__(self) -> None:
        self._output = open_output(self.path)
        head = json.dumps(dict(self.header), indent=1)[:-2]
        self._output.stream.write(f'{head},\n "traceEvents": [\n'.encode())

    def write(self, events: Sequence[str]) -> None:
        """Append events, each one complete JSON object as text."""
        if not events:
            return
        lead = ",\n" if self.events else ""
        self._output.stream.write((lead + ",\n".join(events)).encode())
        self.events += len(events)

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._output.discard()
            return
        self._output.commit(f'\n ],\n "traceName": {json.dumps(self.trace_name)}\n}}\n'.encode())


def header(gpu: Gpu, rank: int, ranks: int, devices: int, base_time_ns: int) -> dict[str, Any]:
    """The top-level members that Kineto writes before the events."""
    versions = dict(gpu.versions)
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": i, **gpu.properties} for i in range(devices)],
        **versions,
        "distributedInfo": {
            "backend": "nccl",
            "rank": rank,
            "world_size": ranks,
            "pg_count": 1,
            "pg_config": [
                {
                    "pg_name": "0",
                    "pg_desc": "default_pg",
                    "backend_config": "cuda:nccl",
                    "pg_size": ranks,
                    "ranks": list(range(ranks)),
                }
            ],
            "nccl_version": "2.27.7" if gpu.vendor == "amd" else "2.27.5",
        },
        "record_shapes": 1,
        "with_stack": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_time_ns,
    }


def metadata_events(
    pid: int, device: int, process: str, streams: Iterable[int], ts_ns: int
) -> list[str]:
    """Names and sort orders of processes and threads."""

    def meta(name: str, at: int, tid: int, key: str, value: Any) -> str:
        event = {"name": name, "ph": "M", "ts": ts_ns / 1000, "pid": at, "tid": tid}
        return json.dumps({**event, "args": {key: value}}, separators=(",", ":"))

    events = [
        meta("process_name", pid, 0, "name", process),
        meta("process_labels", pid, 0, "labels", "CPU"),
        meta("process_sort_index", pid, 0, "sort_index", pid),
        meta("thread_name", pid, pid, "name", f"thread {pid} (python)"),
        meta("thread_sort_index", pid, pid, "sort_index", pid),
        meta("process_name", device, 0, "name", process),
        meta("process_labels", device, 0, "labels", f"GPU {device}"),
        meta("process_sort_index", device, 0, "sort_index", SORT_GPU + device),
    ]
    for stream in streams:
        events.append(meta("thread_name", device, stream, "name", f"stream {stream} "))
        events.append(meta("thread_sort_index", device, stream, "sort_index", stream))
    return events


def span_event(
    category: str, name: str, pid: int, tid: int, ts: int, dur: int, args: Mapping[str, Any]
) -> str:
    """One complete event; times in ns."""
    text = json.dumps(dict(args), separators=(",", ":"))
    return (
        f'{{"ph":"X","cat":"{category}","name":{json.dumps(name)},"pid":{pid},"tid":{tid},'
        f'"ts":{micros(ts)},"dur":{micros(dur)},"args":{text}}}'
    )


def micros(ns: int) -> str:
    """A time in ns as µs with three decimals, exactly."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def device_template(
    slot: Slot, gpu: Gpu, device: int, sizes: Mapping[str, int], *, graph: bool
) -> str:
    """A device event with places for ts, dur (µs and ns each) and correlation.

    Outside a graph a place for the external id comes before the correlation.
    """
    stream = gpu.streams[slot.stream]
    args = _device_args(slot, gpu, sizes, graph=graph)
    lead = "" if graph else '"External id":%d,'
    queued = '"queued":0,' if gpu.vendor == "nvidia" and slot.category == "kernel" else ""
    context = '"context":1,' if gpu.vendor == "nvidia" else ""
    rest = "".join(f",{_literal(json.dumps(k))}:{_literal(_dump(v))}" for k, v in args.items())
    return (
        f'{{"ph":"X","cat":"{slot.category}","name":{_literal(json.dumps(slot.name))},'
        f'"pid":{device},"tid":{stream},"ts":%d.%03d,"dur":%d.%03d,"args":{{{lead}{queued}'
        f'"device":{device},{context}"stream":{stream},"correlation":%d{rest}}}}}'
    )


def _device_args(slot: Slot, gpu: Gpu, sizes: Mapping[str, int], *, graph: bool) -> dict[str, Any]:
    """What a profiler of the vendor records beside the stream and the correlation."""
    if slot.category != "kernel":
        kind = slot.name.split("(")[0].split()[-1]
        copied = slot.resources.get("bytes")
        known = {"bytes": copied} if copied is not None else {}
        return {"kind": kind, **known} if gpu.vendor == "amd" else known
    shape = {
        key: [sizes.get(size, size) for size in slot.resources[key]]
        for key in ("grid", "block")
        if key in slot.resources
    }
    if gpu.vendor == "amd":
        if graph:
            return {"kind": "Dispatch Task"}
        return {
            "kind": "Dispatch Kernel",
            "grid": [sizes["T"], 1, 1],
            "block": [256, 1, 1],
            **shape,
        }
    return _cuda_args(slot, gpu, shape)


def _cuda_args(slot: Slot, gpu: Gpu, shape: Mapping[str, Any]) -> dict[str, Any]:
    grid, block = shape.get("grid", [1, 1, 1]), shape.get("block", [128, 1, 1])
    blocks = math.prod(grid) / int(gpu.properties["numSms"])
    warps = blocks * math.prod(block) / int(gpu.properties["warpSize"])
    return {
        "registers per thread": slot.resources.get("regs", 32),
        "shared memory": slot.resources.get("smem", 0),
        "blocks per SM": round(blocks, 6),
        "warps per SM": round(warps, 6),
        "grid": grid,
        "block": block,
        "est. achieved occupancy %": slot.resources.get("occupancy", 0),
    }


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _literal(text: str) -> str:
    """Text that stays as it is when a template is filled in."""
    return text.replace("%", "%%")
