"""Medians of matrices in which some values are absent."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution in units of its median absolute deviation."""

Real = TypeVar("Real", np.float32, np.float64)


def median(values: NDArray[Real], there: Bools) -> NDArray[Real]:
    """Medians over the first axis of what is there, 0 where nothing is.

    Args:
        values: any shape with at least one axis.
        there: which of them count, same shape.
    """
    if not len(values):
        return np.zeros(values.shape[1:], values.dtype)
    shape = values.shape[1:]
    flat, inside = values.reshape(len(values), -1), there.reshape(len(values), -1)
    found = np.zeros(flat.shape[1], values.dtype)
    count = inside.sum(axis=0)
    # Nearly all columns are complete, and those need no sorting.
    whole, partly = count == len(values), (count > 0) & (count < len(values))
    if whole.any():
        found[whole] = np.median(flat[:, whole], axis=0)
    if partly.any():
        found[partly] = _of_those_there(flat[:, partly], inside[:, partly], count[partly])
    return found.reshape(shape)


def _of_those_there(values: NDArray[Real], there: Bools, count: NDArray[np.int64]) -> NDArray[Real]:
    # Absent values sort behind all others.
    ordered = np.sort(np.where(there, values, np.inf).astype(values.dtype), axis=0)
    low, high = (
        np.take_along_axis(ordered, at[None], axis=0)[0] for at in ((count - 1) // 2, count // 2)
    )
    return np.asarray((low + high) / 2, values.dtype)
