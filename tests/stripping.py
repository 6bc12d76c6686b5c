"""Captures without what names their steps: annotations, then shapes, then the whole host."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import orjson

ROUNDS = (1, 2, 3)
"""1: no annotations; 2: no shapes either; 3: nothing but what ran on the device."""

_ANNOTATIONS = frozenset({"user_annotation", "gpu_user_annotation", "nvtx", "NVTX"})
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"})
_SHAPES = frozenset(
    {"Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Input dims", "Input Types"}
)
# ProfilerStep#7; old profilers write it as an operator.
_PROFILER_STEP = re.compile(r"^ProfilerStep\b")


def strip_capture(path: Path, out: Path, stage: int) -> Path:
    """Write a copy of a Kineto capture without what a round takes away.

    Args:
        path: the capture, gzipped or not.
        out: the copy, gzipped.
        stage: one of ``ROUNDS``.
    """
    raw = path.read_bytes()
    document = orjson.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    if isinstance(document, list):
        document = {"traceEvents": document}
    kept = (_without(event, stage) for event in document["traceEvents"])
    document["traceEvents"] = [event for event in kept if event is not None]
    out.write_bytes(gzip.compress(orjson.dumps(document), 1))
    return out


def _without(event: dict[str, Any], stage: int) -> dict[str, Any] | None:
    category = event.get("cat")
    if category in _ANNOTATIONS or _PROFILER_STEP.match(str(event.get("name"))):
        return None
    if stage >= 3 and event.get("ph") != "M" and category not in _DEVICE:
        return None
    if stage >= 2 and not _SHAPES.isdisjoint(event.get("args") or {}):
        args = {key: value for key, value in event["args"].items() if key not in _SHAPES}
        return {**event, "args": args}
    return event
