"""Which device activities belong to which span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints, containing, runs, span_by_group
from perfetto_autoviz.steps.iterations.spans import Span
from perfetto_autoviz.steps.keys import DurableKeys


@dataclass(frozen=True)
class Activities:
    """Device activities in the order of their durable key; all arrays have shape (n,).

    Attributes:
        ts: starts in ns.
        dur: durations in ns.
        device: device numbers.
        stream: numbers that tell the streams of all devices apart.
        launch_ts: starts in ns of the launches, meaningless where ``launched`` is False.
        launch_thread: utid of the launching thread.
        launched: whether a launch is recorded.
        is_kernel: whether it is a kernel, not a copy or a fill.
    """

    ts: Ints
    dur: Ints
    device: Ints
    stream: Ints
    launch_ts: Ints
    launch_thread: Ints
    launched: NDArray[np.bool_]
    is_kernel: NDArray[np.bool_]

    @classmethod
    def of(cls, kernels: pd.DataFrame) -> Activities:
        """From the frame of ``_autoviz_activity``, sorted by ``seq``."""

        def ints(name: str) -> Ints:
            return kernels[name].fillna(-1).to_numpy(np.int64)

        device, stream = ints("device"), ints("stream")
        return cls(
            ints("ts"),
            ints("dur"),
            device,
            pd.factorize(pd.MultiIndex.from_arrays([device, stream]))[0].astype(np.int64),
            ints("launch_ts"),
            ints("launch_utid"),
            kernels["launch_ts"].notna().to_numpy(),
            (kernels["kind"] == "kernel").to_numpy(bool),
        )


def by_launch(activities: Activities, spans: list[Span]) -> Ints:
    """Span in which each activity was launched.

    The thread that carries the span is asked first; a launch from a thread without spans
    of its own (a worker, autograd) belongs to the span that is open at that time.

    Returns:
        Shape (n,), index into ``spans``, -1 for none.
    """
    owner = np.full(len(activities.ts), -1)
    threads = dict.fromkeys(span.thread for span in spans)
    for thread in threads:
        index = [i for i, span in enumerate(spans) if span.thread == thread]
        mine = np.flatnonzero(activities.launched & (activities.launch_thread == thread))
        owner[mine] = _owner_at(spans, index, activities.launch_ts[mine])
    others = np.flatnonzero(activities.launched & ~np.isin(activities.launch_thread, list(threads)))
    owner[others] = _owner_at(spans, range(len(spans)), activities.launch_ts[others])
    return owner


def by_start(activities: Activities, spans: list[Span]) -> Ints:
    """Span in which each activity starts, for spans that lie on a device."""
    return _owner_at(spans, range(len(spans)), activities.ts)


def adopt_unlaunched(activities: Activities, owner: Ints, spans: int) -> Ints:
    """Gives activities without a recorded launch to the span they run in the middle of.

    Profilers lose launch records; an activity between the first and the last one of a
    single span, on the same stream, belongs to it. Work of an earlier step, which also
    has no launch, runs before the first one and stays without an owner. Other streams tell
    only where nothing on its own has an owner: a step's first copies may run beside the end
    of the step before.
    """
    owned = owner >= 0
    orphans = ~owned & ~activities.launched
    if not owned.any() or not orphans.any():
        return owner
    result = owner.copy()
    for stream in np.unique(activities.stream[orphans]):
        here = activities.stream == stream
        lost = np.flatnonzero(orphans & here)
        if not (owned & here).any():
            here = activities.device == activities.device[lost[0]]
        members = owned & here
        first, last, count = span_by_group(
            owner[members], activities.ts[members], activities.dur[members], spans
        )
        present = np.flatnonzero(count)
        present = present[np.argsort(first[present], kind="stable")]
        index = containing(first[present], last[present], activities.ts[lost])
        result[lost] = (
            np.where(index >= 0, present[np.maximum(index, 0)], -1) if len(present) else -1
        )
    return result


def _owner_at(spans: list[Span], index: range | list[int], times: Ints) -> Ints:
    order = sorted(index, key=lambda i: spans[i].ts)
    starts = np.array([spans[i].ts for i in order], np.int64)
    ends = np.array([spans[i].end for i in order], np.int64)
    found = containing(starts, ends, times)
    return np.where(found >= 0, np.array([*order, -1])[found], -1)


def segments(keys: DurableKeys, owner: Ints) -> dict[str, Ints]:
    """Stretches of consecutive activities of one owner, with the first one's durable key.

    Returns:
        Columns of the relation ``iteration_segment``.
    """
    starts, lengths = runs(owner)
    keep = owner[starts] >= 0
    starts, lengths = starts[keep], lengths[keep]
    return {
        "iteration_id": owner[starts],
        **keys.first(starts),
        "activity_count": lengths,
    }


def expanded(keys: DurableKeys, device: Ints, stored: pd.DataFrame) -> pd.DataFrame:
    """Every activity of every iteration, from the stretches in which they are stored.

    Args:
        keys: of all activities.
        device: shape (n,), device number of each activity.
        stored: frame of the relation ``iteration_segment``.

    Returns:
        Columns and order of the SQL table ``autoviz_iteration_kernel``.
    """
    lengths = stored["activity_count"].to_numpy(np.int64)
    ends = np.cumsum(lengths)
    offset = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths)
    seq = np.repeat(keys.numbers(stored), lengths) + offset
    iteration = np.repeat(stored["iteration_id"].to_numpy(np.int64), lengths)
    track = device[seq]
    order = np.lexsort((seq, track, iteration))
    iteration, track, seq = iteration[order], track[order], seq[order]
    starts, counts = runs(iteration * (np.ptp(track) + 1 if len(track) else 1) + track)
    return pd.DataFrame(
        {
            "iteration_id": iteration,
            "device": track,
            "position": np.arange(len(seq)) - np.repeat(starts, counts),
            "seq": seq,
        }
    )
