"""Relations with a row per activity, put together by numpy instead of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.relations import ITERATION_SEGMENT, KERNEL_NAME
from perfetto_autoviz.steps.iterations.membership import expanded
from perfetto_autoviz.steps.keys import KEY_COLUMNS, DurableKeys
from perfetto_autoviz.steps.step import Frames, Read


@dataclass(frozen=True)
class Expansion:
    """A relation of the SQL package that Python makes, too, of smaller or narrower ones.

    The engine takes several times as long for a row per activity, and for handing over the
    same few texts again and again.

    Attributes:
        relation: SQL name; rows, columns and order are those of SQL.
        reads: what it is made of.
        run: the function.
    """

    relation: str
    reads: tuple[Read, ...]
    run: Callable[[Frames], pd.DataFrame]


KINDS = np.array(["kernel", "memcpy", "memset"], object)
"""What ``_autoviz_activity_number.kind_number`` counts."""


def _activities(frames: Frames) -> pd.DataFrame:
    numbers = frames["_autoviz_activity_number"]
    names, named = frames[KERNEL_NAME.source], frames["_autoviz_activity_name"]
    # An activity without a name has the last entry.
    name = np.full(len(numbers), len(names))
    name[named["seq"].to_numpy(np.int64)] = named["name_number"]
    texts = {column: np.array([*names[column], None], object)[name] for column in ("op", "family")}
    texts["kind"] = KINDS[numbers["kind_number"].to_numpy(np.int64)]
    columns = {column: pd.Series(values, dtype=object) for column, values in texts.items()}
    return numbers.drop(columns="kind_number").assign(**columns)


def _iteration_kernels(frames: Frames) -> pd.DataFrame:
    activities = frames["_autoviz_activity"]
    return expanded(
        DurableKeys.of(activities),
        activities["device"].fillna(-1).to_numpy(np.int64),
        frames[ITERATION_SEGMENT.source],
    )


EXPANSIONS = (
    Expansion(
        relation="_autoviz_activity",
        reads=(
            Read(
                "_autoviz_activity_number",
                (*KEY_COLUMNS, "kind_number", "device", "stream", "launch_ts", "launch_utid"),
            ),
            Read("_autoviz_activity_name", ("seq", "name_number")),
            Read(KERNEL_NAME.source, ("op", "family")),
        ),
        run=_activities,
    ),
    Expansion(
        relation="autoviz_iteration_kernel",
        reads=(
            Read("_autoviz_activity", (*KEY_COLUMNS, "device")),
            Read(ITERATION_SEGMENT.source, tuple(ITERATION_SEGMENT.types)),
        ),
        run=_iteration_kernels,
    ),
)
"""All that is put together here when a step reads it."""
