"""Small builds that are written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from perfetto_autoviz import open_trace
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps.compare import Build, Item, RunSamples, read_build

RELATIONS = ("kernel", "pattern", "pattern_position", "pattern_run", "pattern_kernel")


def layers(
    sequences: Sequence[str], *, runs: int = 2, dur: int = 10, ranks: Sequence[int] = (0,)
) -> Build:
    """A build of loops of one-letter operations, each run ``runs`` times on each rank.

    Kernels follow each other without gaps; upper-case letters are of family ``gemm``, others of
    ``norm``. A raw name is the operation and the number of its loop's rank in the list.
    """
    return read_build({rank: _rank(sequences, runs, dur, len(ranks)) for rank in ranks})


def _rank(sequences: Sequence[str], runs: int, dur: int, ranks: int) -> dict[str, pd.DataFrame]:
    kernels, places, executed, positions = [], [], [], []
    for loop, ops in enumerate(sequences):
        for number in range(runs):
            run = loop * runs + number
            executed.append((run, loop, None, number, dur * len(ops), 0, 0, 0))
            for position, op in enumerate(ops):
                seq = len(kernels)
                family = "gemm" if op.isupper() else "norm"
                kernels.append((seq, seq * dur, dur, f"{op}_kernel", op, family))
                places.append((seq, run, position))
        positions += [
            (loop, position, op, None, runs * ranks * dur) for position, op in enumerate(ops)
        ]
    patterns = [
        (loop, f"P{loop + 1}", 0, runs * ranks, runs * ranks * dur * len(ops))
        for loop, ops in enumerate(sequences)
    ]
    return {
        "kernel": pd.DataFrame(kernels, columns=["seq", "ts", "dur", "name", "op", "family"]),
        "pattern": pd.DataFrame(
            patterns, columns=["id", "name", "level", "run_count", "total_dur"]
        ),
        "pattern_position": pd.DataFrame(
            positions, columns=["pattern_id", "position", "op", "inner_id", "total_dur"]
        ),
        "pattern_run": pd.DataFrame(
            executed,
            columns=[
                "id",
                "pattern_id",
                "parent_id",
                "number",
                "dur",
                "missing",
                "extra",
                "swapped",
            ],
        ),
        "pattern_kernel": pd.DataFrame(places, columns=["seq", "run_id", "position"]),
    }


def items(ops: str, dur: float = 10.0) -> list[Item]:
    """One element per letter; upper-case ones are of family ``gemm``, others of ``norm``."""
    return [Item(op, "gemm" if op.isupper() else "norm", dur, op) for op in ops]


def samples(
    runs: Sequence[Sequence[tuple[str, int, int]]], ranks: Sequence[int] | None = None
) -> RunSamples:
    """Runs of kernels given as label, start and duration."""
    flat = [(owner, *kernel) for owner, run in enumerate(runs) for kernel in run]
    wall = [max(ts + dur for _, ts, dur in run) - min(ts for _, ts, _ in run) for run in runs]
    rank = list(ranks) if ranks is not None else [0] * len(runs)
    return RunSamples(
        rank=np.array(rank, np.int64),
        number=np.array([rank[:row].count(one) for row, one in enumerate(rank)], np.int64),
        wall=np.array(wall, np.int64),
        busy=np.array([len(_covered(run)) for run in runs], np.int64),
        owner=np.array([row[0] for row in flat], np.int64),
        dur=np.array([row[3] for row in flat], np.int64),
        label=np.array([row[1] for row in flat], object),
    )


def _covered(run: Sequence[tuple[str, int, int]]) -> set[int]:
    """The single nanoseconds in which some kernel runs."""
    return {time for _, ts, dur in run for time in range(ts, ts + dur)}


def open_build(path: Path) -> Build:
    """The build of a real capture."""
    opened = open_trace(path)
    assert isinstance(opened, Session)
    with opened as session:
        return read_build(
            {0: {name: session.query(f"SELECT * FROM autoviz_{name}") for name in RELATIONS}}
        )
