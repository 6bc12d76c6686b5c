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

    def numbers(self, segments: pd.DataFrame) -> Ints:
        """Number of the first activity of each segment, the inverse of `first`.

        Raises:
            KeyError: an activity is none of these.
        """
        wanted = [segments[f"first_{name}"].fillna(-1).to_numpy(np.int64) for name in KEY_COLUMNS]
        found: Ints = np.searchsorted(self.columns[0], wanted[0])
        while True:
            # Few activities start at the same time: nearly all are found at once.
            here = np.minimum(found, len(self.tie) - 1)
            others = np.any(
                [column[here] != want for column, want in zip(self.columns, wanted, strict=True)],
                axis=0,
            )
            if not others.any():
                found += segments["first_tie"].to_numpy(np.int64)
                return found
            found[others] += 1
            if (self.columns[0][here[others]] != wanted[0][others]).any():
                raise KeyError("a segment starts with an activity that isn't there")


def with_nulls(frame: pd.DataFrame) -> pd.DataFrame:
    """Turns the -1 that stands for none in keys back into NULL."""
    return frame.assign(**{name: frame[name].mask(frame[name] == -1) for name in _NULLABLE})
