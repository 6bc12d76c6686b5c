"""Labels of abnormal runs from truth files, of any generator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.evaluation.labels import ALL, Label
from perfetto_autoviz.steps.ops import classify
from perfetto_autoviz.synth.truth import read_document

_KEY = ("dur", "stream", "correlation")
"""What names an activity beside its start, as far as it is given."""


def read_labels(path: Path, activities: Mapping[int, pd.DataFrame]) -> list[Label]:
    """Labels of a truth file, of any generator; see ``perfetto_autoviz.synth.truth``.

    Args:
        path: the file; only its members ``schema``, ``version``, ``rank`` and ``anomalies``
            are looked at.
        activities: by rank the frame of ``_autoviz_activity`` of the capture.

    Raises:
        CaptureError: it is no truth file, has no labels, or names activities that the
            capture doesn't have.
    """
    document = read_document(path)
    if "anomalies" not in document:
        raise CaptureError(f"{path.name} labels no anomalies: it has no member 'anomalies'")
    rank = int(document.get("rank", 0))
    if rank not in activities:
        raise CaptureError(f"{path.name} is of rank {rank}, of which no capture was given")
    try:
        return [_label(row, rank, activities[rank]) for row in document["anomalies"]]
    except (KeyError, TypeError, ValueError) as error:
        raise CaptureError(f"{path.name} has an anomaly without {error}") from error


def _label(row: Mapping[str, Any], rank: int, activities: pd.DataFrame) -> Label:
    culprits = tuple(_number(key, activities) for key in row.get("culprits", ()))
    name = row.get("name")
    named = None if name is None else classify(str(name))
    family = ALL
    if culprits:
        family = str(activities["family"].array[culprits[0]])
    elif named is not None:
        family = named.family
    return Label(
        kind=str(row["kind"]),
        rank=rank,
        ts=int(row["ts"]),
        dur=int(row["dur"]),
        family=family,
        channel=row.get("channel"),
        culprits=culprits,
        op=None if culprits or named is None else named.op,
    )


def _number(key: Mapping[str, Any], activities: pd.DataFrame) -> int:
    """Number of the activity with a key."""
    first, last = np.searchsorted(activities["ts"], [int(key["ts"]), int(key["ts"]) + 1])
    for number in range(int(first), int(last)):
        if all(activities[name].array[number] == int(key[name]) for name in _KEY if name in key):
            return number
    raise CaptureError(f"no activity of the capture starts at {key['ts']} ns with {dict(key)}")
