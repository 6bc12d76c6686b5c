"""Captures without what names their steps: annotations, then shapes, then the whole host."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pandas as pd

from perfetto_autoviz.session import Session

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


class Stripped(Session):
    """A capture without what a round takes away, in the engine that has loaded all of it.

    Its steps read what they would read of a copy by `strip_capture`, whose loading takes longer
    than all that is done with it. While it is in use, the whole capture's session is not.
    """

    def __init__(self, whole: Session, stage: int) -> None:
        """Takes over the engine; ``stage`` is one of ``ROUNDS``."""
        self._stage = stage
        super().__init__(whole.engine, whole.capture, whole.options)
        self.provide("capture", whole.relation("capture"))

    def fetch(self, relation: str, columns: Iterable[str]) -> pd.DataFrame:
        """As of `Session`, without what the round takes away."""
        columns = list(columns)
        if relation == "_autoviz_annotation":
            return self.query(_UNNAMED.format(columns=", ".join(columns)))
        frame = super().fetch(relation, columns)
        if relation in _TAKEN_AWAY[self._stage]:
            return frame.iloc[:0]
        if relation == "_autoviz_activity_number" and self._stage >= 3:
            return frame.assign(**dict.fromkeys(_OF_LAUNCHES & set(columns), pd.NA))
        return frame


_UNNAMED = f"""
SELECT {{columns}} FROM (
  SELECT annotation.* FROM _autoviz_annotation AS annotation
  JOIN slice USING (id)
  WHERE
    coalesce(slice.category, '') NOT IN {tuple(sorted(_ANNOTATIONS))}
    AND slice.name NOT GLOB 'ProfilerStep*')
"""
_OF_HOST = frozenset({"_autoviz_host_call", "_autoviz_module_call"})
_TAKEN_AWAY = {
    1: frozenset[str](),
    2: frozenset({"_autoviz_operator_shape"}),
    3: _OF_HOST | {"_autoviz_operator_shape", "_autoviz_annotation"},
}
_OF_LAUNCHES = {"launch_ts", "launch_utid"}
