"""The events of a native trace as columns; their times come from an engine."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.columns import Thread
from perfetto_autoviz.ingest.events import KERNEL, LAUNCH, OTHER
from perfetto_autoviz.ingest.memo import Memo
from perfetto_autoviz.splitting.index import (
    BEGIN,
    COUNTER,
    END,
    GONE,
    INSTANT,
    NONE,
    SLICE,
    Columns,
    Index,
    Ints,
    kind_of_slice,
    pair,
)
from perfetto_autoviz.splitting.native.sequences import ABSOLUTE, Sequence, Sequences, clears

NO_TIME = np.iinfo(np.int64).min
"""Time of what an engine passes over."""

EVENT, DEFINING_EVENT, OTHER_PACKET = range(3)
"""What a packet is: an event, one that also defines what others use, or none."""

_TYPES = {1: BEGIN, 2: END, 3: INSTANT, 4: COUNTER}
"""Phases by TrackEvent.type."""

_DEVICE = Thread("gpu", 0)


@dataclass(frozen=True)
class Layout:
    """What a second reading of the packets need not find out again.

    Attributes:
        part: for each packet what it is, ``EVENT``, ``DEFINING_EVENT`` or ``OTHER_PACKET``.
        counting: the counting that its time is a step of, ``ABSOLUTE`` if it is a time.
        count: sum of that counting up to the packet.
        compressed: whether packets are compressed.
    """

    part: array[int]
    counting: array[int]
    count: array[int]
    compressed: bool


class Events:
    """Columns of the events of a trace, filled packet by packet."""

    def __init__(self) -> None:
        self._sequences = Sequences()
        self._counts: dict[int, int] = {}
        self._part = array("b")
        self._counting = array("l")
        self._count = array("q")
        self._threads = [_DEVICE]
        self._by_track = Memo[int, int](lambda uuid: self._thread_number("track", uuid))
        self._by_sequence = Memo[int, int](lambda it: self._thread_number("sequence", it))
        self._phase = array("b")
        self._kind = array("b")
        self._thread = array("l")
        self._dur = array("q")
        self._queue = array("q")

    def __len__(self) -> int:
        return len(self._phase)

    def add(self, packet: Any) -> int | None:
        """Takes in a packet, and returns its row if it is an event.

        Raises:
            CaptureError: it depends on those before it in a way that no cut can keep.
        """
        sequence = self._sequences.enter(packet)
        self._add_time(packet, sequence)
        data = packet.WhichOneof("data")
        if data == "track_event":
            self._add_track_event(packet, sequence)
        elif data == "gpu_event" and packet.gpu_event.HasField("id"):
            event = packet.gpu_event
            queue = event.queue_number if event.HasField("queue_number") else event.queue_id
            self._add(SLICE, KERNEL, 0, event.duration, queue)
        elif data == "gpu_counters" and not packet.gpu_counters.HasField("descriptor"):
            self._add(COUNTER, OTHER, 0, 0, NONE)
        else:
            # The packet's own time still counts from the snapshot before.
            if data == "snapshot":
                self._sequences.snapshot(sequence, packet.snapshot)
            elif data == "track" and packet.track.counter.incremental:
                raise CaptureError("it holds counters that are written as differences")
            self._part.append(OTHER_PACKET)
            return None
        self._part.append(DEFINING_EVENT if _defines(packet) else EVENT)
        return len(self._phase) - 1

    def _add_time(self, packet: Any, sequence: Sequence) -> None:
        counting = sequence.counting_of(packet)
        count = 0
        if counting != ABSOLUTE:
            count = self._counts[counting] = self._counts.get(counting, 0) + packet.timestamp
        self._counting.append(counting)
        self._count.append(count)

    def _add_track_event(self, packet: Any, sequence: Sequence) -> None:
        event = packet.track_event
        if event.WhichOneof("own_time"):
            raise CaptureError("its events have times of their own beside those of their packets")
        if event.HasField("legacy") and event.legacy.HasField("phase"):
            raise CaptureError("it holds events of the kind that Chrome wrote before tracks")
        track = event.track if event.HasField("track") else sequence.track
        thread = self._by_sequence[packet.sequence] if track is None else self._by_track[track]
        self._add(_TYPES.get(event.type, GONE), _kind(event, sequence), thread, 0, NONE)

    def _thread_number(self, what: str, number: int) -> int:
        self._threads.append(Thread(what, number))
        return len(self._threads) - 1

    def _add(self, phase: int, kind: int, thread: int, dur: int, queue: int) -> None:
        self._phase.append(phase)
        self._kind.append(kind)
        self._thread.append(thread)
        self._dur.append(dur)
        self._queue.append(queue)

    def layout(self, *, compressed: bool) -> Layout:
        """What was learned of the packets."""
        return Layout(self._part, self._counting, self._count, compressed)

    @property
    def queue(self) -> Ints:
        """Hardware queue of each GPU event, ``NONE`` for others; shape (events,)."""
        return np.array(self._queue, np.int64)

    def index(self, times: Ints) -> Index:
        """The index of the trace.

        Args:
            times: of each event in ns, ``NO_TIME`` for what an engine passes over.
        """
        there = times != NO_TIME
        phase = np.where(there, np.array(self._phase, np.int8), GONE).astype(np.int8)
        start = np.where(there, times, 0)
        nothing = np.full(len(times), NONE)
        columns = Columns(
            phase=phase,
            kind=np.array(self._kind, np.int8),
            thread=np.array(self._thread, np.int32),
            start=start,
            end=start + np.where(phase == SLICE, np.array(self._dur, np.int64), 0),
            correlation=nothing,
            flow=nothing,
        )
        return Index(**vars(columns), partner=pair(columns), threads=tuple(self._threads))


def _kind(event: Any, sequence: Sequence) -> int:
    """The kind of a track event: what submits work to a GPU says so, the rest its category."""
    if event.HasField("submission"):
        return LAUNCH
    numbers = event.category_numbers
    if numbers:
        return kind_of_slice(sequence.categories.get(numbers[0], ""))
    return kind_of_slice(event.categories[0]) if event.categories else OTHER


def _defines(packet: Any) -> bool:
    return (
        clears(packet)
        or packet.HasField("interned")
        or packet.HasField("defaults")
        or packet.dropped
    )
