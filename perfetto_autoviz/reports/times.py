"""Where the device time goes, from the activities that the steps have read already.

``autoviz.utilization`` says the same in SQL; a summary after the steps need not ask an engine
to order everything once more.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.anomalies.places import activities_in_runs
from perfetto_autoviz.steps.intervals import Ints, span_by_group, union_by_group
from perfetto_autoviz.steps.keys import KEY_COLUMNS, DurableKeys
from perfetto_autoviz.steps.ops import OTHER

COLUMNS = (*KEY_COLUMNS, "kind", "device", "stream", "op", "family")
"""Columns of ``_autoviz_activity`` that the functions here need."""

_COMMUNICATION = "communication"


def device_times(activities: pd.DataFrame) -> pd.DataFrame:
    """One row per device, with times in ns.

    Returns:
        Columns device, activities, wall (first start to last end), busy (at least one ran),
        other_busy (one that is no communication ran), longest_gap.
    """
    devices, group = np.unique(
        activities["device"].fillna(-1).to_numpy(np.int64), return_inverse=True
    )
    times = _times(activities, group, len(devices))
    gaps = [_longest_gap(activities[group == number]) for number in range(len(devices))]
    return times.assign(device=devices, longest_gap=gaps)


def phase_times(
    activities: pd.DataFrame, members: pd.DataFrame, iterations: pd.DataFrame, phases: pd.DataFrame
) -> pd.DataFrame:
    """One row per phase and device over outermost iterations, the longest first.

    Args:
        activities: sorted by their number.
        members: columns iteration_id, device, seq.
        iterations: columns id, level.
        phases: columns iteration_id, phase.

    Returns:
        Columns as of ``autoviz_phase_time``.
    """
    outer = iterations.loc[iterations["level"] == 0, "id"]
    inside = members[members["iteration_id"].isin(outer)]
    place = inside[["iteration_id", "device"]]
    keys = place.drop_duplicates().sort_values([*place]).to_numpy(np.int64)
    group = place.groupby([*place]).ngroup().to_numpy().astype(np.int64)
    times = _times(activities.iloc[inside["seq"].to_numpy(np.int64)], group, len(keys))
    phase_of = dict(zip(phases["iteration_id"], phases["phase"], strict=True))
    names = pd.Series([phase_of.get(number) for number in keys[:, 0]], dtype=object)
    times = times.assign(device=keys[:, 1], phase=names)
    found = pd.DataFrame(
        {
            "phase": times["phase"],
            "device": times["device"],
            "iteration_count": 1,
            "wall_dur": times["wall"],
            "busy_dur": times["busy"],
            "idle_dur": times["wall"] - times["busy"],
            "exposed_communication_dur": times["busy"] - times["other_busy"],
        }
    )
    summed = found.groupby(["phase", "device"], dropna=False, as_index=False).sum()
    return summed.sort_values(["wall_dur", "phase", "device"], ascending=[False, True, True])


def family_times(activities: pd.DataFrame) -> pd.DataFrame:
    """Columns family, count and total (ns), the family with most time first."""
    family = activities["family"].fillna("unknown")
    found = activities["dur"].groupby(family).agg(count="size", total="sum").reset_index()
    return found.sort_values(["total", "family"], ascending=[False, True])


def outside(activities: pd.DataFrame, members: pd.DataFrame) -> dict[str, int]:
    """Number and summed duration in ns of the activities that no iteration owns."""
    free = np.ones(len(activities), bool)
    free[members["seq"].to_numpy(np.int64)] = False
    return {
        "count": int(free.sum()),
        "total": int(activities["dur"].to_numpy(np.int64)[free].sum()),
    }


def share_in_runs(activities: pd.DataFrame, segments: pd.DataFrame) -> float:
    """Share of the summed durations that is in runs of patterns.

    Args:
        activities: sorted by their number.
        segments: the relation ``pattern_segment``.
    """
    dur = activities["dur"].to_numpy(np.int64)
    inside = int(dur[activities_in_runs(activities, segments)].sum())
    return inside / max(int(dur.sum()), 1)


def timeless_kernels(activities: pd.DataFrame) -> int:
    """Number of kernels if the duration of each is 0, else 0."""
    kernels = activities.loc[activities["kind"] == "kernel", "dur"]
    return 0 if kernels.any() else len(kernels)


def keys_repeat(activities: pd.DataFrame) -> bool:
    """Whether any two activities are equal in all but their names."""
    return bool(DurableKeys.of(activities).tie.any())


def unclassified(activities: pd.DataFrame) -> pd.DataFrame:
    """What no rule of operations knows, and how much time it takes.

    Args:
        activities: the columns `COLUMNS`.

    Returns:
        One row per operation of the family ``other``, the longest first: op, count, total in
        ns, and share of the durations of all activities.
    """
    unknown = activities[activities["family"] == OTHER]
    found = (
        unknown.groupby("op", sort=True)
        .agg(count=("dur", "size"), total=("dur", "sum"))
        .sort_values("total", ascending=False, kind="stable")
        .reset_index()
    )
    whole = int(activities["dur"].sum())
    return found.assign(share=found["total"] / whole if whole else 0.0)


def _times(activities: pd.DataFrame, group: Ints, groups: int) -> pd.DataFrame:
    ts, dur = activities["ts"].to_numpy(np.int64), activities["dur"].to_numpy(np.int64)
    other = (activities["family"] != _COMMUNICATION).to_numpy(bool)
    first, last, count = span_by_group(group, ts, dur, groups)
    return pd.DataFrame(
        {
            "activities": count,
            "wall": last - first,
            "busy": union_by_group(group, ts, dur, groups),
            "other_busy": union_by_group(group[other], ts[other], dur[other], groups),
        }
    )


def _longest_gap(activities: pd.DataFrame) -> int:
    order = activities.sort_values("ts")
    ts = order["ts"].to_numpy(np.int64)
    ends = np.maximum.accumulate(ts + order["dur"].to_numpy(np.int64))
    return int(max((ts[1:] - ends[:-1]).max(initial=0), 0))
