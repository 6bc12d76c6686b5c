"""What a capture says about itself outside its events; engines skip most of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perfetto_autoviz.ingest.mend import load, mend_text


@dataclass(frozen=True)
class CaptureMetadata:
    """The capture's own account of who recorded it, on what.

    Attributes:
        rank: rank of the recorded process.
        world_size: number of ranks of the run.
        backend: backend of the default process group, e.g. ``nccl``.
        gpu_name: name of the device that the kernels ran on; None where it is blank.
        gpu_count: number of devices the profiler lists.
        runtime: GPU runtime and version, e.g. ``cuda 12.9`` or ``hip 7.0.51831``.
        collective_library: e.g. ``nccl 2.26.6``.
        trace_name: the capture's own name for itself.
        base_time_ns: epoch offset of the capture's clock, in ns.
        schema_version: version of Kineto's JSON schema.
        other: every other top-level key, as JSON values.
    """

    rank: int | None = None
    world_size: int | None = None
    backend: str | None = None
    gpu_name: str | None = None
    gpu_count: int | None = None
    runtime: str | None = None
    collective_library: str | None = None
    trace_name: str | None = None
    base_time_ns: int | None = None
    schema_version: int | None = None
    other: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Surroundings:
    """The top-level keys before and after the events, as they stood.

    Attributes:
        before: keys before the events.
        after: keys behind the events.
        lost: bytes of metadata that could not be read.
        garbage: bytes behind the end of the trace.
        mended: what was mended in the text, by kind.
        closed: the trace ended as it should.
    """

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    lost: int
    garbage: int
    closed: bool
    mended: Mapping[str, int] = field(default_factory=dict)


def read_surroundings(preamble: bytes, trailer: bytes, *, bare: bool) -> Surroundings:
    """Decode the text around the events.

    Args:
        preamble: from the first brace up to the key of the events.
        trailer: everything behind the bracket that closes the events.
        bare: the trace is a list of events without an object around it.
    """
    if bare:
        return Surroundings({}, {}, 0, len(trailer.strip()), closed=True)
    mended: Counter[str] = Counter()
    lost = 0
    before, _ = _first_object(preamble.rstrip().rstrip(b",") + b"}", mended)
    if before is None:
        lost += len(preamble)
    text = trailer.lstrip().removeprefix(b",")
    after, garbage = _first_object(b"{" + text, mended)
    if after is None:
        lost += len(text.strip())
    closed = after is not None or b"}" in text
    return Surroundings(before or {}, after or {}, lost, garbage, closed, +mended)


def _first_object(data: bytes, mended: Counter[str]) -> tuple[dict[str, Any] | None, int]:
    """Decode the JSON object the text begins with; also the bytes that follow it."""
    try:
        value = load(data)
    except (ValueError, RecursionError):
        pass
    else:
        return (value, 0) if isinstance(value, dict) else (None, 0)
    text, counts = mend_text(data)
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None, 0
    mended.update(counts)
    return value, len(text[end:].strip().encode(errors="replace"))


def describe(top: Mapping[str, Any], kernels_by_device: Mapping[object, int]) -> CaptureMetadata:
    """Read the fields that Kineto writes; whatever has an unexpected type counts as absent.

    Args:
        top: all top-level keys but the events.
        kernels_by_device: number of device activities by their ``pid``, which is the
            device's number in Kineto captures.
    """
    distributed = top.get("distributedInfo")
    info: Mapping[str, Any] = distributed if isinstance(distributed, dict) else {}
    devices = top.get("deviceProperties")
    listed = [d for d in devices if isinstance(d, dict)] if isinstance(devices, list) else []
    runtime = _runtime(top)
    nccl = _text(info.get("nccl_version"))
    library = "rccl" if runtime is not None and runtime.startswith("hip") else "nccl"
    return CaptureMetadata(
        rank=_integer(info.get("rank")),
        world_size=_integer(info.get("world_size")),
        backend=_text(info.get("backend")),
        gpu_name=_gpu_name(listed, kernels_by_device),
        gpu_count=len(listed) if isinstance(devices, list) else None,
        runtime=runtime,
        collective_library=f"{library} {nccl}" if nccl else None,
        trace_name=_text(top.get("traceName")) or _text(top.get("trace_name")),
        base_time_ns=_integer(top.get("baseTimeNanoseconds")),
        schema_version=_integer(top.get("schemaVersion")),
        other={key: value for key, value in top.items() if key not in _READ_ABOVE},
    )


_READ_ABOVE = frozenset(
    {"traceName", "trace_name", "baseTimeNanoseconds", "schemaVersion", "traceEvents"}
)
"""Keys whose whole value is told by a field of its own."""


def _integer(value: object) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _gpu_name(devices: list[dict[str, Any]], kernels_by_device: Mapping[object, int]) -> str | None:
    """The name of the device with most kernels, or the one name that all devices share."""
    names = {device.get("id"): _text(device.get("name")) for device in devices}
    busiest = max(kernels_by_device, key=lambda key: kernels_by_device[key], default=None)
    if busiest in names:
        return names[busiest]
    distinct = set(names.values())
    return distinct.pop() if len(distinct) == 1 else None


def _runtime(top: Mapping[str, Any]) -> str | None:
    """Decode the runtime's version number.

    CUDA counts 1000 per major and 10 per minor version (12090 is 12.9, see
    cudaRuntimeGetVersion); HIP counts 10,000,000 per major and 100,000 per minor
    version (70051831 is 7.0.51831, see HIP_VERSION).
    """
    cuda = _integer(top.get("cuda_runtime_version"))
    if cuda is not None and cuda > 0:
        return f"cuda {cuda // 1000}.{cuda % 1000 // 10}"
    hip = _integer(top.get("hip_runtime_version"))
    if hip is not None and hip > 0:
        return f"hip {hip // 10_000_000}.{hip // 100_000 % 100}.{hip % 100_000}"
    return None
