"""Writes relations as annotation tracks: the second member of an enriched trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfetto_autoviz.relations import RELATIONS, Relation
from perfetto_autoviz.tracks import packets
from perfetto_autoviz.tracks.checks import check_frames, check_times, check_tracks, spans
from perfetto_autoviz.tracks.lanes import assign_lanes
from perfetto_autoviz.tracks.ragged import Ragged
from perfetto_autoviz.tracks.specs import DATA_TITLE, ROOT_TITLE, CounterSpec, TrackSpec
from perfetto_autoviz.tracks.values import doubles, integers

# Rows encoded at once. Measured: a few thousand are fastest, more only need more memory.
_BLOCK = 8192

_DATA_DESCRIPTION = "Results that have no time, one per slice; SQL reads them from here."

Integers = npt.NDArray[np.int64]


def build_annotations(
    relations: Mapping[str, pd.DataFrame],
    tracks: Sequence[TrackSpec],
    counters: Sequence[CounterSpec],
    first_ts: int,
    schema: Sequence[Relation] = RELATIONS,
) -> bytes:
    """Encodes relations, and how they're shown, as a Perfetto trace without a clock.

    The tracks stand below the group ``autoviz``: `tracks` in their order, then `counters`,
    then the rows that have no time. Each row is a slice whose category is the relation's
    and whose arguments are the row's columns; a missing value is an absent argument.
    Spans of one track that overlap lie on lanes of their own. Same input, same bytes.

    Args:
        relations: frames by relation name, with exactly the relation's columns; times in ns.
        tracks: one per relation that has rows with a time.
        counters: values over time. NaN is left out: a counter can't have a gap.
        first_ts: where rows without a time are put, in ns; the capture's first timestamp.
        schema: the known relations.

    Raises:
        ValueError: a frame doesn't fit its relation, a track doesn't fit its frame, a span
            ends before it starts, or a time is negative.
        TypeError: a value doesn't have the type of its column.
    """
    known = {relation.name: relation for relation in schema}
    check_frames(relations, known)
    check_tracks(tracks, relations, known)
    writer = _Writer(first_ts)
    specs = {spec.relation: spec for spec in tracks}
    for spec in tracks:
        if spec.relation in relations:
            writer.add_spans(known[spec.relation], relations[spec.relation], spec)
    for counter in counters:
        writer.add_counter(counter)
    for relation in schema:
        if relation.name in relations:
            writer.add_data(relation, relations[relation.name], specs.get(relation.name))
    return writer.finish()


@dataclass(frozen=True)
class _Lane:
    """Where each row of a set lies, and in which order the rows are written."""

    rows: Integers
    starts: Integers
    ends: Integers
    uuids: Integers


class _Writer:
    """Collects the packets of a file."""

    def __init__(self, first_ts: int) -> None:
        self._first_ts = first_ts
        self._texts = packets.Texts()
        self._root = packets.track_uuid(ROOT_TITLE)
        self._descriptors = [packets.root_track(self._root, ROOT_TITLE)]
        self._rank = 0
        self._times: list[Integers] = []
        self._events: list[bytes] = []

    def add_spans(self, relation: Relation, frame: pd.DataFrame, spec: TrackSpec) -> None:
        """Adds the rows of a timed relation that have a time."""
        timed = frame["ts"].notna().to_numpy(dtype=bool)
        rows = np.flatnonzero(timed)
        starts, ends = spans(relation.name, frame)
        levels = integers(frame[spec.level])[0] if spec.level else np.zeros_like(starts)
        for level in np.unique(levels[rows]).tolist():
            title = spec.title_of_level(level)
            chosen = rows[levels[rows] == level]
            lanes = self._lanes(title, chosen, starts, ends, spec.description)
            self._add_rows(relation, frame, lanes, spec)

    def add_data(self, relation: Relation, frame: pd.DataFrame, spec: TrackSpec | None) -> None:
        """Adds the rows that have no time."""
        rows = np.arange(len(frame), dtype=np.int64)
        if relation.timed:
            rows = rows[frame["ts"].isna().to_numpy(dtype=bool)]
        uuid = packets.track_uuid(ROOT_TITLE, DATA_TITLE)
        times = np.full(rows.size, self._first_ts, dtype=np.int64)
        uuids = _uuid_array(np.array([uuid], dtype=np.uint64))[np.zeros_like(rows)]
        self._add_rows(relation, frame, _Lane(rows, times, times, uuids), spec)

    def add_counter(self, spec: CounterSpec) -> None:
        """Adds a counter."""
        values = np.asarray(spec.values, dtype=np.float64)
        times = np.asarray(spec.times, dtype=np.int64)
        kept = ~np.isnan(values)
        if not kept.any():
            return
        check_times(spec.title, times[kept])
        uuid = packets.track_uuid(ROOT_TITLE, spec.title, spec.unit)
        self._descriptors.append(
            packets.counter_track(
                uuid, self._root, spec.title, self._next_rank(), spec.unit, spec.description
            )
        )
        self._times.append(times[kept])
        self._events.extend(packets.counter_packets(times[kept], uuid, values[kept]))

    def finish(self) -> bytes:
        """The whole file, events in the order of time."""
        data = packets.track_uuid(ROOT_TITLE, DATA_TITLE)
        self._descriptors.append(
            packets.slice_track(data, self._root, DATA_TITLE, self._next_rank(), _DATA_DESCRIPTION)
        )
        times = np.concatenate(self._times) if self._times else np.zeros(0, dtype=np.int64)
        # Stable: at equal times the order within a lane stays, in which a slice's end comes
        # before the begin of the next one, and after its own begin if its duration is 0.
        order = np.argsort(times, kind="stable").tolist()
        events = (self._events[index] for index in order)
        return b"".join([self._texts.packet(), *self._descriptors, *events])

    def _lanes(
        self, title: str, rows: Integers, starts: Integers, ends: Integers, description: str
    ) -> _Lane:
        rows = rows[np.lexsort((ends[rows], starts[rows]))]
        lanes = assign_lanes(starts[rows], ends[rows])
        rank = self._next_rank()
        count = int(lanes.max()) + 1
        uuids = [packets.track_uuid(ROOT_TITLE, title, lane) for lane in range(count)]
        self._descriptors.extend(
            packets.slice_track(uuid, self._root, title, rank, description) for uuid in uuids
        )
        by_lane = np.argsort(lanes, kind="stable")
        rows, lanes = rows[by_lane], lanes[by_lane]
        numbers = _uuid_array(np.array(uuids, dtype=np.uint64))
        return _Lane(rows, starts[rows], ends[rows], numbers[lanes])

    def _add_rows(
        self, relation: Relation, frame: pd.DataFrame, lane: _Lane, spec: TrackSpec | None
    ) -> None:
        names = self._names(relation, frame, spec)
        colours = self._colours(frame, spec)
        category = self._texts.categories.number(relation.category)
        columns = [(c.name, c.type) for c in relation.columns if not _is_span(relation, c.name)]
        for block in _blocks(lane.rows.size):
            rows = lane.rows[block]
            part = frame.iloc[rows]
            begins = packets.begin_packets(
                lane.starts[block],
                lane.uuids[block],
                category,
                names[rows],
                colours[rows],
                [self._annotation(part[name], name, kind) for name, kind in columns],
            )
            ends = packets.end_packets(lane.ends[block], lane.uuids[block])
            self._times.append(np.column_stack((lane.starts[block], lane.ends[block])).ravel())
            self._events.extend(chain.from_iterable(zip(begins, ends, strict=True)))

    def _annotation(self, column: pd.Series, name: str, kind: str) -> Ragged:
        number = self._texts.annotations.number(name)
        if kind == "LONG":
            return packets.annotation_integers(number, *integers(column))
        if kind == "DOUBLE":
            return packets.annotation_doubles(number, *doubles(column))
        return packets.annotation_strings(number, self._texts.strings.numbers(column))

    def _names(self, relation: Relation, frame: pd.DataFrame, spec: TrackSpec | None) -> Integers:
        if spec is None:
            number = self._texts.names.number(relation.name)
            return np.full(len(frame), number, dtype=np.int64)
        return self._texts.names.numbers(spec.names)

    def _colours(self, frame: pd.DataFrame, spec: TrackSpec | None) -> Integers:
        if spec is None or spec.colours is None:
            return np.zeros(len(frame), dtype=np.int64)
        return self._texts.colours.numbers(spec.colours)

    def _next_rank(self) -> int:
        self._rank += 1
        return self._rank


def _is_span(relation: Relation, column: str) -> bool:
    return relation.timed and column in ("ts", "dur")


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, count, _BLOCK))


def _uuid_array(uuids: npt.NDArray[np.uint64]) -> Integers:
    return uuids.view(np.int64)
