"""The durable keys of device activities, by which a file names them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints

KEY_COLUMNS = ("ts", "dur", "pid", "tid", "correlation")
"""Columns of ``_autoviz_activity`` that the key is made of."""

_NULLABLE = ("first_pid", "first_tid", "first_correlation")


@dataclass(frozen=True)
class DurableKeys:
    """The keys of all device activities in their order; arrays have shape (n,).

    Attributes:
        columns: the key's columns in the order of `KEY_COLUMNS`, -1 for NULL.
        tie: number of each activity among those that are equal in all columns.
    """

    columns: tuple[Ints, ...]
    tie: Ints

    @classmethod
    def of(cls, kernels: pd.DataFrame) -> DurableKeys:
        """From the frame of ``_autoviz_activity``, sorted by ``seq``."""
        columns = tuple(kernels[name].fillna(-1).to_numpy(np.int64) for name in KEY_COLUMNS)
        new = np.ones(len(kernels), bool)
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        index = np.arange(len(new))
        return cls(columns, index - np.maximum.accumulate(np.where(new, index, 0)))

    def first(self, index: Ints) -> dict[str, Ints]:
        """Columns of a segment's relation that name its first activity."""
        named = {
            f"first_{name}": column[index]
            for name, column in zip(KEY_COLUMNS, self.columns, strict=True)
        }
        return {**named, "first_tie": self.tie[index]}


def with_nulls(frame: pd.DataFrame) -> pd.DataFrame:
    """Turns the -1 that stands for none in keys back into NULL."""
    return frame.assign(**{name: frame[name].mask(frame[name] == -1) for name in _NULLABLE})
