"""What only one build runs, and how the ranks of a pair differ."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.compare.build import Build, Key
from perfetto_autoviz.steps.compare.samples import RunSamples


def kernels_of_one_build(a: Build, b: Build, key: Key = "op") -> pd.DataFrame:
    """What runs in patterns of one build, and in none of the other's.

    Returns:
        One row per label and build, the most time first: ``build`` (A or B), ``label``,
        ``patterns`` it runs in, by their names, comma-separated; over all their runs on all
        ranks ``runs`` in which it occurs, ``count`` and ``total_dur`` in ns; ``elsewhere``, its
        kernels of the other build outside patterns.
    """
    tables = [_in_patterns(build, key) for build in (a, b)]
    outside = [_outside(build, key) for build in (a, b)]
    parts = []
    for side, (mine, theirs) in enumerate(((0, 1), (1, 0))):
        own = tables[mine]
        only = own[~own["label"].isin(tables[theirs]["label"])].copy()
        only.insert(0, "build", "AB"[side])
        only["elsewhere"] = only["label"].map(outside[theirs]).fillna(0).astype("int64")
        parts.append(only)
    whole = pd.concat(parts, ignore_index=True)
    order = ["total_dur", "build", "label"]
    return whole.sort_values(order, ascending=[False, True, True], ignore_index=True)


def _in_patterns(build: Build, key: Key) -> pd.DataFrame:
    inside = build.kernels.run >= 0
    run = build.kernels.run[inside]
    frame = pd.DataFrame(
        {
            "label": build.labels[key][build.kernels.labels[key][inside]],
            "pattern": build.runs.pattern[run],
            "run": run,
            "dur": build.kernels.dur[inside],
        }
    )
    return frame.groupby("label", as_index=False).agg(
        patterns=("pattern", lambda numbers: _names(build, numbers)),
        runs=("run", "nunique"),
        count=("run", "size"),
        total_dur=("dur", "sum"),
    )


def _names(build: Build, numbers: pd.Series[int]) -> str:
    return ",".join(build.loops[number].name for number in np.unique(numbers.to_numpy()))


def _outside(build: Build, key: Key) -> dict[str, int]:
    outside = build.kernels.run < 0
    labels = build.labels[key][build.kernels.labels[key][outside]]
    found, count = np.unique(labels.astype(str), return_counts=True)
    return dict(zip(found.tolist(), count.tolist(), strict=True))


def compare_ranks(a: RunSamples, b: RunSamples) -> pd.DataFrame:
    """Wall times of a pair's runs, rank by rank.

    Returns:
        One row per build and rank: ``build`` (A or B), ``rank``, ``runs``, ``median``, ``mean`` and
        ``std`` in ns, ``behind``, how much longer its median is than the middle rank's, as a
        share; ``slowest``, True on one rank of each build that has several; ``spread``, the
        slowest rank's median less the fastest's as a share of the middle one's, the same in all
        rows of a build.
    """
    return pd.concat([_ranks("A", a), _ranks("B", b)], ignore_index=True)


def _ranks(build: str, side: RunSamples) -> pd.DataFrame:
    frame = pd.DataFrame({"rank": side.rank, "wall": side.wall})
    found = frame.groupby("rank", as_index=False).agg(
        runs=("wall", "size"),
        median=("wall", "median"),
        mean=("wall", "mean"),
        std=("wall", "std"),
    )
    middle = found["median"].median()
    found.insert(0, "build", build)
    found["behind"] = found["median"] / middle - 1
    found["slowest"] = False
    if len(found) > 1:
        found.loc[found["median"].idxmax(), "slowest"] = True
    found["spread"] = (found["median"].max() - found["median"].min()) / middle
    return found
