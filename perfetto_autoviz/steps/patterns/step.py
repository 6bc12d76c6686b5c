"""The step that finds the loops of all ranks, and says which activity is where in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import PATTERN, PATTERN_POSITION, PATTERN_RUN, PATTERN_SEGMENT
from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.keys import KEY_COLUMNS, DurableKeys, with_nulls
from perfetto_autoviz.steps.patterns.detect import detect_patterns
from perfetto_autoviz.steps.patterns.kernels import RankKernels
from perfetto_autoviz.steps.patterns.line import INNER
from perfetto_autoviz.steps.patterns.result import Patterns
from perfetto_autoviz.steps.step import Frames, Read, SetStep

_KINDS = np.array(["plain", "extra", "swapped"], object)
_EXTRA = 1


def find_patterns(
    ranks: Mapping[int, Frames], _options: Options
) -> dict[int, dict[str, pd.DataFrame]]:
    """Loops of all ranks together, and each rank's own runs of them.

    Returns:
        By rank the frames of ``pattern`` and ``pattern_position``, equal for all ranks, and
        of ``pattern_run`` and ``pattern_segment``, the rank's own.
    """
    codes, ops = _codes({rank: frames["_autoviz_activity"]["op"] for rank, frames in ranks.items()})
    found = detect_patterns(
        [_rank_kernels(rank, frames, codes[rank]) for rank, frames in ranks.items()]
    )
    shared = pattern_frames(found, ops)
    starts = _starts(ranks)
    return {
        rank: {
            **shared,
            PATTERN_RUN.name: run_frame(found, rank),
            PATTERN_SEGMENT.name: with_nulls(
                relation_frame(
                    PATTERN_SEGMENT,
                    _segment_columns(
                        found, rank, DurableKeys.of(frames["_autoviz_activity"]), starts[rank]
                    ),
                )
            ),
        }
        for rank, frames in ranks.items()
    }


def pattern_frames(found: Patterns, ops: NDArray[np.object_]) -> dict[str, pd.DataFrame]:
    """What is the same on all ranks: ``pattern`` and ``pattern_position``.

    Args:
        found: what was detected.
        ops: the operations by their codes.
    """
    return {
        PATTERN.name: relation_frame(PATTERN, _pattern_columns(found)),
        PATTERN_POSITION.name: relation_frame(PATTERN_POSITION, _position_columns(found, ops)),
    }


def run_frame(found: Patterns, rank: int) -> pd.DataFrame:
    """The ``pattern_run`` of a rank."""
    return relation_frame(PATTERN_RUN, _run_columns(found, rank))


def _codes(ops: Mapping[int, pd.Series[Any]]) -> tuple[dict[int, Ints], NDArray[np.object_]]:
    """Codes of operations that are the same on all ranks, and the operations."""
    known: dict[str, int] = {}
    codes = {}
    for rank, column in ops.items():
        own, distinct = pd.factorize(column.fillna(""))
        numbers = np.array([known.setdefault(str(op), len(known)) for op in distinct], np.int64)
        codes[rank] = numbers[own]
    return codes, np.array([*known], object)


def _rank_kernels(rank: int, frames: Frames, codes: Ints) -> RankKernels:
    kernels, members = frames["_autoviz_activity"], frames["autoviz_iteration_kernel"]
    layers = frames["_autoviz_src_layer"].rename(columns={"first_position": "position"})

    def starting(starts: pd.DataFrame) -> NDArray[np.bool_]:
        marked = np.zeros(len(kernels), bool)
        marked[starts["seq"].to_numpy(np.int64)] = True
        return marked

    return RankKernels(
        rank=rank,
        device=kernels["device"].fillna(-1).to_numpy(np.int64),
        stream=kernels["stream"].fillna(-1).to_numpy(np.int64),
        ts=kernels["ts"].to_numpy(np.int64),
        dur=kernels["dur"].to_numpy(np.int64),
        op=codes,
        iteration_start=starting(members[members["position"] == 0]),
        layer_start=starting(members.merge(layers)),
    )


def _starts(ranks: Mapping[int, Frames]) -> dict[int, int]:
    """Where each rank's activities start when all lie end to end by rank number."""
    sizes = {rank: len(ranks[rank]["_autoviz_activity"]) for rank in sorted(ranks)}
    ends = np.cumsum([*sizes.values()])
    return {rank: int(end) - sizes[rank] for rank, end in zip(sizes, ends, strict=True)}


def _pattern_columns(found: Patterns) -> dict[str, Any]:
    patterns = found.patterns
    run_counts = np.bincount(found.runs.pattern, minlength=len(patterns))
    return {
        "id": range(len(patterns)),
        "name": [pattern.name for pattern in patterns],
        "level": [pattern.level for pattern in patterns],
        "parent_id": [pattern.parent for pattern in patterns],
        "length": [pattern.length for pattern in patterns],
        "kernel_count": [pattern.kernels for pattern in patterns],
        "run_count": run_counts,
        "period": [pattern.period for pattern in patterns],
        "total_dur": [pattern.time for pattern in patterns],
        "ranks": [",".join(map(str, pattern.ranks)) for pattern in patterns],
    }


def _position_columns(found: Patterns, ops: NDArray[np.object_]) -> dict[str, Any]:
    positions = found.positions
    return {
        "pattern_id": positions.pattern,
        "position": positions.position,
        "op": [ops[code] if code >= 0 else None for code in positions.op],
        "inner_id": _or_null(positions.inner),
        "stream_role": positions.stream_role,
        "kernel_count": positions.count,
        "total_dur": positions.total,
        "mean_dur": positions.mean,
        "std_dur": positions.std,
        "min_dur": positions.least,
        "median_dur": positions.median,
        "max_dur": positions.most,
    }


def _run_columns(found: Patterns, rank: int) -> dict[str, Any]:
    runs = found.runs
    own = np.flatnonzero(runs.rank == rank)
    levels = np.array([pattern.level for pattern in found.patterns], np.int64)
    streams = [found.tracks[track].stream for track in runs.track[own]]
    return {
        "ts": runs.ts[own],
        "dur": runs.dur[own],
        "id": own,
        "pattern_id": runs.pattern[own],
        "level": levels[runs.pattern[own]],
        "parent_id": _or_null(runs.parent[own]),
        "number": runs.number[own],
        "device": [found.tracks[track].device for track in runs.track[own]],
        "stream": streams,
        "missing": runs.missing[own],
        "extra": runs.extra[own],
        "swapped": runs.swapped[own],
    }


def _segment_columns(found: Patterns, rank: int, keys: DurableKeys, start: int) -> dict[str, Any]:
    segments = found.segments
    own = np.flatnonzero((found.runs.rank[segments.run] == rank) & (segments.kind < INNER))
    kind = segments.kind[own]
    return {
        "run_id": segments.run[own],
        "position": _or_null(np.where(kind == _EXTRA, -1, segments.position[own])),
        "kind": _KINDS[kind],
        "by_stream": np.full(len(own), int(found.by_stream)),
        **keys.first(found.source[segments.first[own]].astype(np.int64) - start),
        "activity_count": segments.count[own],
    }


def _or_null(values: NDArray[np.integer[Any]]) -> list[int | None]:
    return [int(value) if value >= 0 else None for value in values]


PATTERNS_STEP = SetStep(
    name="patterns",
    reads=(
        Read("_autoviz_activity", (*KEY_COLUMNS, "device", "stream", "op")),
        # A loop that could start anywhere starts where an iteration or a layer does.
        Read("autoviz_iteration_kernel", ("iteration_id", "device", "position", "seq")),
        Read("_autoviz_src_layer", ("iteration_id", "device", "first_position")),
    ),
    makes=(PATTERN, PATTERN_POSITION, PATTERN_RUN, PATTERN_SEGMENT),
    run=find_patterns,
)
