"""One build as the comparison sees it: its loops, their runs and all its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.step import Frames

Ints = NDArray[np.int64]
Key = Literal["name", "op", "family"]

KEYS: tuple[Key, ...] = ("name", "op", "family")
"""What kernels are called by, from the finest to the coarsest."""


@dataclass(frozen=True)
class Element:
    """One position of a loop.

    Attributes:
        name: the raw name that ran there most often; empty at an inner loop.
        op: canonical operation; empty at an inner loop.
        family: coarse class; empty at an inner loop.
        inner: number of the loop that repeats here, or None.
        dur: time in ns that a run spends here on average.
    """

    name: str
    op: str
    family: str
    inner: int | None
    dur: float


@dataclass(frozen=True)
class Loop:
    """A pattern of one build.

    Attributes:
        id: number of the pattern, its place in ``Build.loops``.
        name: its name, e.g. ``P1.2``.
        level: 0 for an outermost loop.
        elements: its positions.
        time: device time of all its runs in ns.
        run_count: its runs on all ranks.
    """

    id: int
    name: str
    level: int
    elements: tuple[Element, ...]
    time: int
    run_count: int

    @property
    def is_innermost(self) -> bool:
        """Whether it consists of kernels only, as a layer does."""
        return all(element.inner is None for element in self.elements)


@dataclass(frozen=True)
class Runs:
    """All runs of a build; arrays of shape ``(runs,)`` by pattern, rank and number.

    Attributes:
        pattern: number of the loop.
        parent: row of the run around it, or -1.
        rank: rank it ran on; -1 where the capture does not say.
        number: number among the runs of its loop on its rank.
        dur: wall time in ns.
        complete: whether nothing was missing, extra or swapped.
    """

    pattern: Ints
    parent: Ints
    rank: Ints
    number: Ints
    dur: Ints
    complete: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.pattern)


@dataclass(frozen=True)
class Kernels:
    """All device activities of a build; arrays of shape ``(kernels,)``, rank by rank.

    Attributes:
        ts: start in ns.
        dur: duration in ns.
        run: row of the innermost run around it, or -1.
        position: position in that run's loop; -1 for an extra one and outside.
        labels: by key, the number of its name, operation or family in ``Build.labels``.
    """

    ts: Ints
    dur: Ints
    run: Ints
    position: Ints
    labels: Mapping[Key, Ints]

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True)
class Build:
    """Everything that is compared of one build.

    Attributes:
        loops: its patterns by number.
        runs: their runs.
        kernels: its device activities.
        labels: by key, the distinct texts that ``Kernels.labels`` numbers.
    """

    loops: tuple[Loop, ...]
    runs: Runs
    kernels: Kernels
    labels: Mapping[Key, NDArray[np.object_]]

    @cached_property
    def by_name(self) -> dict[str, Loop]:
        """The loops by their names."""
        return {loop.name: loop for loop in self.loops}

    def sequence(self, loop: Loop, key: Key) -> list[str]:
        """What a loop runs in order, a stack of an inner loop's repeats as one of them."""
        return [getattr(element, key) for element in self.expand(loop)]

    def expand(self, loop: Loop) -> list[Element]:
        """A loop's kernels in order, a stack of an inner loop's repeats as one of them."""
        return [
            deep
            for element in loop.elements
            for deep in (
                [element] if element.inner is None else self.expand(self.loops[element.inner])
            )
        ]


def read_build(ranks: Mapping[int, Frames]) -> Build:
    """Brings the frames of all ranks of one build together.

    Args:
        ranks: by rank the frames of the public relations, by name without ``autoviz_``:
            ``pattern`` and ``pattern_position``, equal on all ranks, and ``pattern_run``,
            ``kernel`` (``seq, ts, dur, name, op, family``) and ``pattern_kernel``, the
            rank's own.
    """
    runs, rows = _runs(ranks)
    kernels, labels = _kernels(ranks, rows)
    shared: Frames = next(iter(ranks.values())) if ranks else {}
    return Build(_loops(shared, runs, kernels, labels) if shared else (), runs, kernels, labels)


def _whole(ranks: Mapping[int, Frames], relation: str, columns: tuple[str, ...]) -> pd.DataFrame:
    """A relation of all ranks, one below the other, with the number of the rank."""
    if not ranks:
        return pd.DataFrame({name: [] for name in (*columns, "rank")})
    return pd.concat(
        [ranks[rank][relation][[*columns]].assign(rank=rank) for rank in sorted(ranks)],
        ignore_index=True,
    )


def _runs(ranks: Mapping[int, Frames]) -> tuple[Runs, pd.Series[int]]:
    columns = ("id", "pattern_id", "parent_id", "number", "dur", "missing", "extra", "swapped")
    frame = _whole(ranks, "pattern_run", columns)
    frame = frame.sort_values(["pattern_id", "rank", "number"], kind="stable")
    rows = pd.Series(range(len(frame)), pd.MultiIndex.from_frame(frame[["rank", "id"]]))
    odd = frame[["missing", "extra", "swapped"]].fillna(0).sum(axis=1)
    return Runs(
        pattern=_ints(frame["pattern_id"]),
        parent=_rows(frame["rank"], frame["parent_id"], rows),
        rank=_ints(frame["rank"]),
        number=_ints(frame["number"]),
        dur=_ints(frame["dur"]),
        complete=(odd == 0).to_numpy(bool),
    ), rows


def _kernels(
    ranks: Mapping[int, Frames], rows: pd.Series[int]
) -> tuple[Kernels, dict[Key, NDArray[np.object_]]]:
    kernels = _whole(ranks, "kernel", ("seq", "ts", "dur", *KEYS))
    places = _whole(ranks, "pattern_kernel", ("seq", "run_id", "position"))
    frame = kernels.merge(places, on=["rank", "seq"], how="left", sort=False)
    numbers, labels = {}, {}
    for key in KEYS:
        code, distinct = pd.factorize(frame[key].fillna(""), sort=True)
        numbers[key], labels[key] = code.astype(np.int64), np.array([*distinct], object)
    return Kernels(
        ts=_ints(frame["ts"]),
        dur=_ints(frame["dur"]),
        run=_rows(frame["rank"], frame["run_id"], rows),
        position=_ints(frame["position"]),
        labels=numbers,
    ), labels


def _loops(
    shared: Frames, runs: Runs, kernels: Kernels, labels: Mapping[Key, NDArray[np.object_]]
) -> tuple[Loop, ...]:
    names = _common_names(runs, kernels)
    families = _families(kernels, labels)
    positions = dict(iter(shared["pattern_position"].groupby("pattern_id", sort=False)))
    loops = []
    for pattern in shared["pattern"].sort_values("id").to_dict("records"):
        number, count = int(pattern["id"]), max(int(pattern["run_count"]), 1)
        elements = []
        for row in positions[number].sort_values("position").to_dict("records"):
            name = names.get((number, int(row["position"])))
            op = "" if pd.isna(row["op"]) else str(row["op"])
            elements.append(
                Element(
                    name="" if name is None else str(labels["name"][name]),
                    op=op,
                    family=families.get(op, ""),
                    inner=None if pd.isna(row["inner_id"]) else int(row["inner_id"]),
                    dur=float(row["total_dur"]) / count,
                )
            )
        loops.append(
            Loop(
                id=number,
                name=str(pattern["name"]),
                level=int(pattern["level"]),
                elements=tuple(elements),
                time=int(pattern["total_dur"]),
                run_count=int(pattern["run_count"]),
            )
        )
    return tuple(loops)


def _common_names(runs: Runs, kernels: Kernels) -> dict[tuple[int, int], int]:
    """The raw name that runs most often at each position of each loop."""
    placed = (kernels.run >= 0) & (kernels.position >= 0)
    table = np.stack(
        [
            runs.pattern[kernels.run[placed]],
            kernels.position[placed],
            kernels.labels["name"][placed],
        ],
        axis=1,
    )
    found, count = np.unique(table, axis=0, return_counts=True)
    # The last of equal keys stays, so the most frequent one is put last.
    order = np.lexsort((-found[:, 2], count))
    return {(int(p), int(at)): int(name) for p, at, name in found[order]}


def _families(kernels: Kernels, labels: Mapping[Key, NDArray[np.object_]]) -> dict[str, str]:
    pairs = np.unique(np.stack([kernels.labels["op"], kernels.labels["family"]], axis=1), axis=0)
    return {str(labels["op"][op]): str(labels["family"][family]) for op, family in pairs}


def _ints(column: pd.Series[Any]) -> Ints:
    return column.fillna(-1).to_numpy(np.int64)


def _rows(rank: pd.Series[Any], run: pd.Series[Any], rows: pd.Series[int]) -> Ints:
    """The rows of runs, which a rank numbers on its own; -1 for none."""
    wanted = pd.MultiIndex.from_arrays([rank.to_numpy(), _ints(run)])
    return rows.index.get_indexer(wanted).astype(np.int64)
