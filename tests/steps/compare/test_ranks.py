"""Real ranks that differ: where the time between four kernels goes on eight of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from perfetto_autoviz import open_trace
from perfetto_autoviz.rankset import RankSet
from perfetto_autoviz.steps.compare import compare_ranks, read_build, sample_runs
from tests.steps.compare.builds import RELATIONS

UPDATE = ("addcmul", "sqrt", "add", "addcdiv")
"""The last operations of an optimizer's step, one kernel each."""


ACTIVITIES = ("kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset")


def spans(path: Path) -> list[int]:
    """First start to last end in ns of each of the sequence's executions, from the raw file."""
    events: list[dict[str, Any]] = json.loads(path.read_bytes())["traceEvents"]
    kernels = sorted(
        (e for e in events if str(e.get("cat")).lower() == "kernel"), key=lambda e: e["ts"]
    )
    found = []
    for at in range(len(kernels) - len(UPDATE) + 1):
        part = kernels[at : at + len(UPDATE)]
        if all(op in event["name"].lower() for op, event in zip(UPDATE, part, strict=True)):
            end = max(event["ts"] + event["dur"] for event in part)
            found.append((end - part[0]["ts"]) * 1000)
    return found


def recorded(folder: Path, rank: int) -> int:
    """Device activities in a rank's raw file."""
    (path,) = folder.glob(f"worker{rank}_*")
    events: list[dict[str, Any]] = json.loads(path.read_bytes())["traceEvents"]
    return sum(str(event.get("cat")).lower() in ACTIVITIES for event in events)


def test_eight_ranks_of_one_run(corpus: Path) -> None:
    folder = corpus / "multirank" / "dlrm_8ranks_v100"
    opened = open_trace(folder)
    assert isinstance(opened, RankSet)
    with opened as ranks:
        frames = {name: ranks.query(f"SELECT * FROM autoviz_{name}") for name in RELATIONS}
    activities = frames["kernel"].groupby("rank").size()
    assert activities.to_dict() == {rank: recorded(folder, rank) for rank in range(8)}
    # Two of them run a quarter more than the others.
    assert set(activities.index[activities > 1.2 * activities.median()]) == {1, 3}
    build = read_build(
        {
            rank: {name: frame[frame["rank"] == rank] for name, frame in frames.items()}
            for rank in range(8)
        }
    )
    loop = build.by_name["P1"]
    for op, element in zip(UPDATE, loop.elements, strict=True):
        assert op in element.op.lower()
    runs = sample_runs(build, loop)
    table = compare_ranks(runs, runs).query("build == 'A'").set_index("rank")
    for rank in range(8):
        (path,) = folder.glob(f"worker{rank}_*")
        own = runs.wall[runs.rank == rank]
        # Some more executions are part of a longer loop.
        assert Counter(own.tolist()) <= Counter(spans(path))
        assert table.loc[rank, "runs"] == len(own)
        assert table.loc[rank, "median"] == np.median(own)
    # On two of them the host launches these kernels more slowly than on the others.
    assert set(table.index[table["behind"] > 1]) == {4, 5}
    assert table.index[table["slowest"]].tolist() == [4]
    assert table["spread"].iloc[0] > 1
