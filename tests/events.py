"""Events of captures that are written by hand."""

from __future__ import annotations

from typing import Any


def slice_event(
    cat: str, name: str, pid: int, tid: int, ts: int, dur: int, correlation: int | None = None
) -> dict[str, Any]:
    """A slice with times in µs; of a kernel, process and thread are device and stream."""
    args = {} if correlation is None else {"correlation": correlation}
    if cat == "kernel":
        args |= {"device": pid, "stream": tid}
    return {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip
