"""What a cut holds, counted from the events that were selected for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.ingest.columns import is_device
from perfetto_autoviz.ingest.events import (
    DEVICE_ANNOTATION,
    HOST_ANNOTATION,
    KERNEL,
    LAUNCH,
    MEMCPY,
    MEMSET,
)
from perfetto_autoviz.splitting.index import METADATA, NONE, PYTHON, Index, Ints

_KINDS = {
    "kernels": (KERNEL,),
    "copies": (MEMCPY,),
    "fills": (MEMSET,),
    "runtime_calls": (LAUNCH,),
    "annotations": (HOST_ANNOTATION, DEVICE_ANNOTATION),
    "python_frames": (PYTHON,),
}


@dataclass(frozen=True)
class Contents:
    """What a cut holds; times in ns as the trace processor counts them.

    Attributes:
        iterations: one mapping per iteration, in order.
        phases: how many of them are in which phase.
        counts: events by what they are.
        between: device activities of no iteration, which lie between some.
        ts: first start of a device activity; None without any.
        dur: from there to the last end.
    """

    iterations: tuple[dict[str, Any], ...]
    phases: dict[str, int]
    counts: dict[str, int]
    between: int
    ts: int | None
    dur: int | None

    @property
    def numbers(self) -> list[int]:
        """Numbers of its iterations; dummies between them have none."""
        return [row["number"] for row in self.iterations if row["number"] is not None]


_COLUMNS = (
    "number", "kind", "name", "phase", "evidence", "ts", "dur", "host_ts", "host_dur",
    "activity_count", "kernel_count",
)  # fmt: skip


def contents_of(index: Index, rows: Ints, iterations: pd.DataFrame) -> Contents:
    """Counts what a cut holds.

    Args:
        index: the capture.
        rows: the events of the cut.
        iterations: rows of ``autoviz_iteration`` with their ``phase``.
    """
    described = tuple(_plain(row) for row in iterations[list(_COLUMNS)].to_dict("records"))
    activities = rows[index.is_slice[rows] & is_device(index.kind[rows])]
    start = int(index.start[activities].min()) if activities.size else None
    end = int(index.end[activities].max()) if activities.size else None
    return Contents(
        described,
        dict(sorted(Counter(row["phase"] for row in described if row["phase"]).items())),
        _counts(index, rows),
        int(activities.size - iterations["activity_count"].sum()),
        start,
        None if start is None or end is None else end - start,
    )


def _counts(index: Index, rows: Ints) -> dict[str, int]:
    slices = rows[index.is_slice[rows]]
    tally = np.bincount(index.kind[slices], minlength=PYTHON + 1)
    return {
        "events": len(rows),
        **{name: int(tally[list(kinds)].sum()) for name, kinds in _KINDS.items()},
        "flow_ends": int((index.flow[rows] != NONE).sum()),
        "metadata": int((index.phase[rows] == METADATA).sum()),
    }


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    """NULL is None, and integers are those of Python."""
    return {
        str(name): None if pd.isna(value) else value.item() if hasattr(value, "item") else value
        for name, value in row.items()
    }
