"""Relations per activity that are stored by stretches, expanded without asking the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.relations import ITERATION_SEGMENT
from perfetto_autoviz.steps.iterations.membership import expanded
from perfetto_autoviz.steps.keys import KEY_COLUMNS, DurableKeys
from perfetto_autoviz.steps.step import Frames, Read


@dataclass(frozen=True)
class Expansion:
    """A relation of the SQL package that Python, too, makes of what is stored.

    The engine takes longer for a row per activity than numpy; what is only read by steps and
    reports need not be there.

    Attributes:
        relation: SQL name; rows, columns and order are those of SQL.
        reads: what it is made of.
        run: the function.
    """

    relation: str
    reads: tuple[Read, ...]
    run: Callable[[Frames], pd.DataFrame]


def _iteration_kernels(frames: Frames) -> pd.DataFrame:
    activities = frames["_autoviz_activity"]
    return expanded(
        DurableKeys.of(activities),
        activities["device"].fillna(-1).to_numpy(np.int64),
        frames[ITERATION_SEGMENT.source],
    )


EXPANSIONS = (
    Expansion(
        relation="autoviz_iteration_kernel",
        reads=(
            Read("_autoviz_activity", (*KEY_COLUMNS, "device")),
            Read(ITERATION_SEGMENT.source, tuple(ITERATION_SEGMENT.types)),
        ),
        run=_iteration_kernels,
    ),
)
"""All relations that are expanded here when a step reads them."""
