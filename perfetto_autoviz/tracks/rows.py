"""Encodes rows of a relation as slices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfetto_autoviz.relations import Column, Relation
from perfetto_autoviz.tracks import packets
from perfetto_autoviz.tracks.ragged import Ragged
from perfetto_autoviz.tracks.specs import TrackSpec
from perfetto_autoviz.tracks.values import doubles, integers

# Rows encoded at once. Measured: a few thousand are fastest, more only need more memory.
_BLOCK = 8192

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Placed:
    """Rows that have a place, in the order in which they are written.

    Attributes:
        rows: positions in the relation's frame.
        starts: start of each slice in ns.
        ends: end of each slice in ns.
        tracks: uuid of each slice's lane, its 64 bits as a signed number.
    """

    rows: Integers
    starts: Integers
    ends: Integers
    tracks: Integers


@dataclass(frozen=True)
class Events:
    """Encoded packets, and the time in ns of each."""

    times: Integers
    packets: list[bytes]


class RowEncoder:
    """Encodes the rows of one relation; what they're called and coloured is looked up once."""

    def __init__(
        self, texts: packets.Texts, relation: Relation, frame: pd.DataFrame, spec: TrackSpec | None
    ) -> None:
        self._texts = texts
        self._frame = frame
        self._category = texts.categories.number(relation.category)
        # A slice's own ts and dur are those of the row.
        skipped = ("ts", "dur") if relation.timed else ()
        self._columns = [column for column in relation.columns if column.name not in skipped]
        names = spec.names if spec else [relation.name] * len(frame)
        colours = spec.colours if spec and spec.colours is not None else [None] * len(frame)
        self._names = texts.names.numbers(names)
        self._colours = texts.colours.numbers(colours)

    def encode(self, placed: Placed) -> Iterator[Events]:
        """Encodes rows as a begin and an end each, some thousand rows at a time."""
        for start in range(0, placed.rows.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            rows, tracks = placed.rows[block], placed.tracks[block]
            begin, end = placed.starts[block], placed.ends[block]
            part = self._frame.iloc[rows]
            begins = packets.begin_packets(
                begin,
                tracks,
                self._category,
                self._names[rows],
                self._colours[rows],
                [self._annotation(column, part[column.name]) for column in self._columns],
            )
            ends = packets.end_packets(end, tracks)
            yield Events(
                np.column_stack((begin, end)).ravel(),
                list(chain.from_iterable(zip(begins, ends, strict=True))),
            )

    def _annotation(self, column: Column, values: pd.Series[Any]) -> Ragged:
        number = self._texts.annotations.number(column.name)
        if column.type == "LONG":
            return packets.annotation_integers(number, *integers(values))
        if column.type == "DOUBLE":
            return packets.annotation_doubles(number, *doubles(values))
        return packets.annotation_strings(number, self._texts.strings.numbers(values))
