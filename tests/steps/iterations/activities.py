"""Device activities made by hand, as the step that finds iterations reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

FAMILIES = {
    "attend": "attention",
    "project": "gemm",
    "norm": "norm",
    "argmax": "sampling",
    "store_kvcache": "memory",
    "Memcpy HtoD": "memory",
    "all_reduce": "communication",
}
"""Families of the operations; ``other`` for the rest."""

LAYER = ("norm", "project", "attend", "project", "norm", "project", "activate", "project")

KERNEL_NS, GAP_NS = 10_000, 1_000


def step(
    layers: int,
    layer: Sequence[str] = LAYER,
    before: Sequence[str] = ("Memcpy HtoD", "Memcpy HtoD", "positions", "embed"),
    after: Sequence[str] = ("head", "argmax"),
) -> list[str]:
    """The operations of one step of a model."""
    return [*before, *(op for _ in range(layers) for op in layer), *after]


def activities(
    steps: Sequence[Sequence[str]],
    *,
    pause: int = GAP_NS,
    launched: bool = False,
    durations: Mapping[int, int] | None = None,
) -> pd.DataFrame:
    """A frame of ``_autoviz_activity`` in which steps run one after the other.

    Args:
        steps: the operations of each step.
        pause: time in ns before each step but the first.
        launched: whether launches are recorded, 5 µs before each activity.
        durations: of activities, by number, in ns; 10 µs by default.
    """
    rows: list[dict[str, Any]] = []
    now = 1_000_000
    for number, ops in enumerate(steps):
        now += pause - GAP_NS if number else 0
        for op in ops:
            dur = (durations or {}).get(len(rows), KERNEL_NS)
            rows.append({"ts": now, "dur": dur, "op": op, "correlation": len(rows) + 1})
            now += dur + GAP_NS
    frame = pd.DataFrame(rows)
    launch = frame["ts"] - 5_000
    return frame.assign(
        pid=0,
        tid=7,
        device=0,
        stream=7,
        kind=["memcpy" if op.startswith("Memcpy") else "kernel" for op in frame["op"]],
        family=[FAMILIES.get(op, "other") for op in frame["op"]],
        launch_ts=launch if launched else pd.Series(pd.NA, frame.index, dtype="Int64"),
        launch_utid=1 if launched else pd.Series(pd.NA, frame.index, dtype="Int64"),
    )


def spans(rows: Sequence[tuple[str, int, int]], utid: int = 1) -> pd.DataFrame:
    """Host spans by name, start and end in ns, as annotations and calls are read."""
    return pd.DataFrame(
        [
            {
                "ts": start,
                "dur": end - start,
                "name": name,
                "on_device": 0,
                "pid": 1,
                "utid": utid,
            }
            for name, start, end in rows
        ],
        columns=["ts", "dur", "name", "on_device", "pid", "utid"],
    )


def starts(steps: Sequence[Sequence[str]]) -> list[int]:
    """Number of the first activity of each step."""
    found, number = [], 0
    for ops in steps:
        found.append(number)
        number += len(ops)
    return found
