"""A real step that a capture holds: what the host did in it, and what it launched."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from perfetto_autoviz.steps.dialects import parse_annotation

Event = dict[str, Any]

DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
RUNTIME = frozenset({"cuda_runtime", "cuda_driver"})
_HOST = RUNTIME | {"python_function", "cpu_op", "user_annotation"}

ATTENTION = ("unified_attention", "fmhaSm100", "paged_attention_ll4mi", "reduce_segments")
"""Parts of the names of attention kernels in the captures that this is for."""

LEAST = 100
"""Activities of a step: captures of graphs being captured run a few."""

GRAPH = 4
"""Activities of one launch that make it that of a graph."""

AROUND = 0.8
"""Part of the longest frame from which a frame around the step is one of the whole program."""


@dataclass(frozen=True)
class Activity:
    """What a device did.

    Attributes:
        event: as recorded.
        ts: start in ns.
        dur: duration in ns.
        stream: process and thread of its events.
        launch: start of its launch in ns.
        gap: time in ns since all before it on its stream ended; negative if it overlaps.
        replayed: whether a graph's launch started it.
        part: 0 before the first layer, 1 in the layers, 2 behind the last.
    """

    event: Event
    ts: int
    dur: int
    stream: tuple[int, int]
    launch: int
    gap: int
    replayed: bool
    part: int

    @property
    def name(self) -> str:
        """Of the kernel or the copy."""
        return str(self.event["name"])

    @property
    def correlation(self) -> int:
        """Number shared with the launch."""
        return int(self.event["args"]["correlation"])

    @property
    def attends(self) -> bool:
        """Whether it is a kernel of attention."""
        return any(part in self.name for part in ATTENTION)


@dataclass(frozen=True)
class RealStep:
    """A step.

    Attributes:
        name: of the capture.
        head: the document without its events.
        host: what the host did, outer events before what they contain.
        around: frames of the whole program.
        named: start and end in ns of the annotation that names the step.
        titles: indices into ``host`` of all that name it.
        marked: whether the device's rows repeat the annotations.
        device: what ran on the device, by start.
        requests: as the annotation says.
        tokens: as the annotation says.
    """

    name: str
    head: dict[str, Any]
    host: list[Event]
    around: list[Event]
    named: tuple[int, int]
    titles: list[int]
    marked: bool
    device: list[Activity]
    requests: int
    tokens: int

    @property
    def span(self) -> tuple[int, int]:
        """Start and end in ns of what the host's thread did."""
        thread = self.host[self.titles[0]]["tid"]
        mine = [extent(event) for event in self.host if event["tid"] == thread]
        return min(start for start, _ in mine), max(end for _, end in mine)


def extent(event: Event) -> tuple[int, int]:
    """Start and end of a slice in ns."""
    start = round(float(event["ts"]) * 1000)
    return start, start + round(float(event["dur"]) * 1000)


def read_step(path: Path) -> RealStep | None:
    """The step of a capture that holds a single one of a serving engine; None of others."""
    raw = path.read_bytes()
    document = orjson.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    if not isinstance(document, dict) or "traceEvents" not in document:
        return None
    slices = [event for event in document.pop("traceEvents") if event.get("ph") == "X"]
    host = [event for event in slices if event.get("cat") in _HOST]
    named = sorted(filter(_names_a_step, host), key=_outer_first)
    if not named or any(extent(one)[1] > extent(named[0])[1] for one in named):
        return None
    own, around = _parted(host, named[0])
    launches = {
        event["args"]["correlation"]: extent(event)[0] for event in own if event["cat"] in RUNTIME
    }
    device = _activities([event for event in slices if event.get("cat") in DEVICE], launches)
    if len(device) < LEAST:
        return None
    says = [parse_annotation(event["name"]) for event in named]
    told = max((one for one in says if one), key=lambda one: one.context_tokens or 0)
    return RealStep(
        name=path.name.split(".")[0],
        head=document,
        host=own,
        around=around,
        named=extent(named[0]),
        titles=[number for number, event in enumerate(own) if _names_a_step(event)],
        marked=any(event.get("cat") == "gpu_user_annotation" for event in slices),
        device=device,
        requests=(told.context_requests or 0) + (told.generation_requests or 0),
        tokens=(told.context_tokens or 0) + (told.generation_tokens or 0),
    )


def _names_a_step(event: Event) -> bool:
    # "execute_context_1(888_788544)_generation_0(0)", "step[DECODE bs=32]"
    starts = event["name"].startswith(("execute_", "step["))
    return bool(event["cat"] == "user_annotation" and starts)


def _outer_first(event: Event) -> tuple[int, int]:
    start, end = extent(event)
    return start, -end


def _parted(host: list[Event], step: Event) -> tuple[list[Event], list[Event]]:
    """What belongs to the step, and frames that hold the whole program."""
    start, end = extent(step)
    longest = max((event["dur"] for event in host if event["cat"] == "python_function"), default=0)
    own, around = [], []
    for event in sorted(host, key=_outer_first):
        first, last = extent(event)
        long = event["dur"] >= AROUND * longest and event["cat"] == "python_function"
        (around if long and first < start and last > end else own).append(event)
    thread = step["tid"]
    return [event for event in own if event["tid"] == thread], around


def _activities(events: list[Event], launches: dict[int, int]) -> list[Activity]:
    known = [event for event in events if event["args"].get("correlation") in launches]
    known.sort(key=extent)
    counts = Counter(event["args"]["correlation"] for event in known)
    layers = [i for i, event in enumerate(known) if any(x in event["name"] for x in ATTENTION)]
    first, last = (layers[0], layers[-1]) if layers else (0, len(known))
    ends: dict[tuple[int, int], int] = {}
    found = []
    for number, event in enumerate(known):
        stream, correlation = (event["pid"], event["tid"]), event["args"]["correlation"]
        start, end = extent(event)
        gap = start - ends.get(stream, start)
        ends[stream] = max(ends.get(stream, end), end)
        part = 0 if number < first else 2 if number > last else 1
        replayed = counts[correlation] >= GRAPH
        launch = launches[correlation]
        found.append(Activity(event, start, end - start, stream, launch, gap, replayed, part))
    return found
