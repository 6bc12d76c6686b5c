"""Writes relations as annotation tracks: the second member of an enriched trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfetto_autoviz.relations import RELATIONS, Relation
from perfetto_autoviz.tracks import packets
from perfetto_autoviz.tracks.checks import check_frames, check_times, check_tracks, spans
from perfetto_autoviz.tracks.lanes import assign_lanes
from perfetto_autoviz.tracks.rows import Events, Placed, RowEncoder
from perfetto_autoviz.tracks.specs import DATA_TITLE, ROOT_TITLE, CounterSpec, TrackSpec
from perfetto_autoviz.tracks.values import integers

_DATA_UUID = packets.track_uuid(ROOT_TITLE, DATA_TITLE)
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
        rows = np.flatnonzero(frame["ts"].notna().to_numpy(dtype=bool))
        starts, ends = spans(relation.name, frame)
        levels = integers(frame[spec.level])[0] if spec.level else np.zeros_like(starts)
        encoder = RowEncoder(self._texts, relation, frame, spec)
        for level in np.unique(levels[rows]).tolist():
            chosen = rows[levels[rows] == level]
            placed = self._place(spec, spec.title_of_level(level), chosen, starts, ends)
            self._add_events(encoder.encode(placed))

    def add_data(self, relation: Relation, frame: pd.DataFrame, spec: TrackSpec | None) -> None:
        """Adds the rows that have no time.

        They're slices of no length rather than instants: at one time, instants nest into
        one another, and from the 512th on the engine loses their arguments (v55.3).
        """
        rows = np.arange(len(frame), dtype=np.int64)
        if relation.timed:
            rows = rows[frame["ts"].isna().to_numpy(dtype=bool)]
        times = np.full(rows.size, self._first_ts, dtype=np.int64)
        tracks = _signed([_DATA_UUID])[np.zeros_like(rows)]
        encoder = RowEncoder(self._texts, relation, frame, spec)
        self._add_events(encoder.encode(Placed(rows, times, times, tracks)))

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
        events = packets.counter_packets(times[kept], uuid, values[kept])
        self._add_events([Events(times[kept], events)])

    def finish(self) -> bytes:
        """The whole file, events in the order of time."""
        self._descriptors.append(
            packets.slice_track(
                _DATA_UUID, self._root, DATA_TITLE, self._next_rank(), _DATA_DESCRIPTION
            )
        )
        times = np.concatenate(self._times) if self._times else np.zeros(0, dtype=np.int64)
        # Stable: at equal times the order within a lane stays, in which a slice's end comes
        # before the begin of the next one, and after its own begin if its duration is 0.
        order = np.argsort(times, kind="stable").tolist()
        events = (self._events[index] for index in order)
        return b"".join([self._texts.packet(), *self._descriptors, *events])

    def _place(
        self, spec: TrackSpec, title: str, rows: Integers, starts: Integers, ends: Integers
    ) -> Placed:
        """Spreads rows over the lanes of one title, and describes the lanes."""
        rows = rows[np.lexsort((ends[rows], starts[rows]))]
        lanes = assign_lanes(starts[rows], ends[rows])
        rank = self._next_rank()
        uuids = [packets.track_uuid(ROOT_TITLE, title, lane) for lane in range(lanes.max() + 1)]
        self._descriptors.extend(
            packets.slice_track(uuid, self._root, title, rank, spec.description) for uuid in uuids
        )
        by_lane = np.argsort(lanes, kind="stable")
        rows = rows[by_lane]
        return Placed(rows, starts[rows], ends[rows], _signed(uuids)[lanes[by_lane]])

    def _add_events(self, blocks: Iterable[Events]) -> None:
        for block in blocks:
            self._times.append(block.times)
            self._events.extend(block.packets)

    def _next_rank(self) -> int:
        self._rank += 1
        return self._rank


def _signed(uuids: list[int]) -> Integers:
    """Unsigned 64-bit numbers as the signed ones of the same bits."""
    return np.array(uuids, dtype=np.uint64).view(np.int64)
