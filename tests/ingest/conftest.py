"""Helpers that look at a capture independently of the code under test."""

from __future__ import annotations

import json
from typing import Any

from perfetto_autoviz.ingest import Capture

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
LAUNCH = ("cuda_runtime", "cuda_driver", "runtime")
ANNOTATION = ("user_annotation", "gpu_user_annotation")


def refuse_constant(name: str) -> None:
    """For ``json.loads``: NaN and infinities are no standard JSON."""
    raise ValueError(name)


def events_in(data: bytes) -> list[dict[str, Any]]:
    """All events of valid, standard JSON."""
    trace = json.loads(data.decode(), parse_constant=refuse_constant)
    events: list[dict[str, Any]] = trace if isinstance(trace, list) else trace["traceEvents"]
    return events


def written_events(capture: Capture) -> list[dict[str, Any]]:
    """The events an engine gets, where the capture is handed over unpacked."""
    return events_in(b"".join(capture.chunks()).removeprefix(b"\xef\xbb\xbf"))


def slices(events: list[dict[str, Any]], *categories: str) -> list[dict[str, Any]]:
    """Complete events of some categories, whatever their case.

    Engines look at the first letter of the phase only.
    """
    return [
        event
        for event in events
        if str(event.get("ph"))[:1] == "X" and str(event.get("cat", "")).lower() in categories
    ]
