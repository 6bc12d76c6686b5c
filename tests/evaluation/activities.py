"""Activities of one rank, written down by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perfetto_autoviz.evaluation.plan import NONE, Plan, Target
from perfetto_autoviz.synth.anomaly_kinds import Kind

Row = tuple[int, int, str, int]
"""Start and duration in ns, operation, stream."""


def activities(rows: Sequence[Row], family: str = "gemm") -> pd.DataFrame:
    """A frame of ``_autoviz_activity`` with kernels of device 0."""
    ts, dur, op, stream = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "ts": np.array(ts, np.int64),
            "dur": np.array(dur, np.int64),
            "pid": 0,
            "tid": np.array(stream, np.int64),
            "correlation": np.arange(100, 100 + len(rows)),
            "device": 0,
            "stream": np.array(stream, np.int64),
            "kind": "kernel",
            "op": np.array(op, object),
            "family": family,
        }
    )


def plan(kind: Kind, run: Sequence[int], at: int = NONE, other: int = NONE) -> Plan:
    """An anomaly in the run with these activities."""
    return Plan(kind, Target(0, 0, np.array(run, np.int64)), at, other)


def spans(frame: pd.DataFrame) -> list[Row]:
    """The rows of a frame as they're written down."""
    columns = (frame[name].tolist() for name in ("ts", "dur", "op", "stream"))
    return list(zip(*columns, strict=True))
