"""Refuses frames and tracks that can't be written and read back as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfetto_autoviz.relations import Relation
from perfetto_autoviz.tracks.specs import TrackSpec
from perfetto_autoviz.tracks.values import integers

_MAX_TIME = 2**63 - 1

Integers = npt.NDArray[np.int64]


def check_frames(relations: Mapping[str, pd.DataFrame], known: Mapping[str, Relation]) -> None:
    """Each frame must have exactly the columns of a known relation."""
    for name, frame in relations.items():
        if name not in known:
            raise ValueError(f"there's no relation {name}")
        if list(frame.columns) != list(known[name].types):
            raise ValueError(f"{name}: the frame's columns aren't the relation's")


def check_tracks(
    tracks: Sequence[TrackSpec],
    relations: Mapping[str, pd.DataFrame],
    known: Mapping[str, Relation],
) -> None:
    """Each row with a time must lie on exactly one track, with a name."""
    shown = {spec.relation for spec in tracks}
    if len(shown) < len(tracks):
        raise ValueError("a relation has two tracks, so its rows would be stored twice")
    if len({spec.title for spec in tracks}) < len(tracks):
        raise ValueError("two tracks have one title, so they would be one")
    for name, frame in relations.items():
        if known[name].timed and name not in shown and frame["ts"].notna().any():
            raise ValueError(f"{name}: rows with a time need a track")
    for spec in tracks:
        if spec.relation not in known or not known[spec.relation].timed:
            raise ValueError(f"{spec.relation}: only a relation with times can have a track")
        rows = len(relations.get(spec.relation, ()))
        if len(spec.names) != rows or (spec.colours is not None and len(spec.colours) != rows):
            raise ValueError(f"{spec.title}: a name and a colour are needed for each row")


def spans(name: str, frame: pd.DataFrame) -> tuple[Integers, Integers]:
    """Start and end in ns of each row; both 0 where a row has no time."""
    starts, timed = integers(frame["ts"])
    durations, lasting = integers(frame["dur"])
    if (timed != lasting).any():
        raise ValueError(f"{name}: ts and dur must be missing together")
    if (durations < 0).any():
        raise ValueError(f"{name}: a span ends before it starts")
    check_times(name, starts)
    if (starts > _MAX_TIME - durations).any():
        raise ValueError(f"{name}: a span ends after the last time that there is")
    return starts, starts + durations


def check_times(what: str, times: Integers) -> None:
    """Times can't be negative in a Perfetto trace."""
    if (times < 0).any():
        raise ValueError(f"{what}: a time is negative, which a Perfetto trace can't hold")
