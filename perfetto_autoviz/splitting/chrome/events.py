"""The events of a capture of JSON as columns."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.ingest.clock import LARGEST_US, engine_ns, engine_ns_of
from perfetto_autoviz.ingest.columns import Thread, engine_thread
from perfetto_autoviz.ingest.events import ABSENT, Event, split_clean
from perfetto_autoviz.ingest.memo import Memo
from perfetto_autoviz.ingest.mend import load, number
from perfetto_autoviz.ingest.reader import EventReader
from perfetto_autoviz.ingest.repair import Plan
from perfetto_autoviz.splitting.index import (
    BEGIN,
    COUNTER,
    END,
    FLOW_IN,
    FLOW_OUT,
    GONE,
    INSTANT,
    METADATA,
    NONE,
    OPEN_END,
    SLICE,
    Columns,
    Index,
    Ints,
    Metadata,
    kind_of_slice,
    pair,
)

_PHASES = {"X": SLICE, "B": BEGIN, "E": END, "s": FLOW_OUT, "t": FLOW_IN, "f": FLOW_IN}
_PHASES.update({"M": METADATA, "C": COUNTER, "": GONE})

_CORRELATION_LIMIT = 1 << 63


class _Arguments(msgspec.Struct, gc=False):
    correlation: int | float | str | None = None


class _Event(Event, gc=False):
    """What the scan reads of an event, and what ties it to others."""

    id: int | float | str | None = None
    args: _Arguments | None = None


_events = msgspec.json.Decoder(list[_Event])


def read_events(reader: EventReader, plan: Plan) -> tuple[Index, tuple[int, ...]]:
    """Reads all events once.

    Args:
        reader: of the capture's original events.
        plan: the repairs of single events, which decide what the engine holds of them.

    Returns:
        The index, and how many events each chunk of the file holds.
    """
    builder = _Builder()
    for chunk in reader.chunks():
        builder.add(chunk.text)
    return builder.index(plan), builder.chunks()


class _Builder:
    def __init__(self) -> None:
        self._parts: list[Columns] = []
        self._metadata: list[Metadata] = []
        self._threads: dict[Thread, int] = {}
        self._rows = 0
        self._phase_codes = Memo[str, int](lambda ph: _PHASES.get(ph[:1], INSTANT))
        self._kind_codes = Memo[Any, int](kind_of_slice)
        self._thread_codes = Memo[Any, int](self._thread)
        self._flow_codes = Memo[Any, int](lambda _: len(self._flow_codes))

    def _thread(self, ids: tuple[object, object]) -> int:
        return self._threads.setdefault(engine_thread(*ids), len(self._threads))

    def add(self, text: bytes) -> None:
        """Takes in the next events of the file."""
        events = _decode(text)
        phase = np.array([self._phase_codes[event.ph] for event in events], np.int8)
        if (phase == METADATA).any():
            self._note_metadata(text, np.flatnonzero(phase == METADATA).tolist())
        us = _numbers([event.ts for event in events])
        dur = _numbers([event.dur for event in events])
        # An event without a phase is a slice if it has a duration; the plan says so too.
        phase[(phase == GONE) & np.isfinite(dur)] = SLICE
        start = engine_ns(us)
        length = np.where(phase == SLICE, engine_ns(np.maximum(dur, 0.0)), 0)
        self._parts.append(
            Columns(
                phase,
                np.array([self._kind_codes[event.cat] for event in events], np.int8),
                np.array([self._thread_codes[event.pid, event.tid] for event in events], np.int32),
                start,
                start + length,
                np.array([_correlation(event.args) for event in events], np.int64),
                self._flows(events, phase),
            )
        )
        self._rows += len(events)

    def _flows(self, events: list[_Event], phase: NDArray[np.int8]) -> Ints:
        flow = np.full(len(events), NONE)
        for row in np.flatnonzero((phase == FLOW_OUT) | (phase == FLOW_IN)).tolist():
            flow[row] = self._flow_codes[events[row].cat, events[row].id]
        return flow

    def _note_metadata(self, text: bytes, rows: list[int]) -> None:
        pieces = split_clean(text)
        for row in rows:
            name = str(load(pieces[row]).get("name", ""))
            # process_name, process_labels, process_sort_index; thread_name, thread_sort_index
            of_process = not name.startswith("thread_")
            self._metadata.append(Metadata(self._rows + row, of_process))

    def index(self, plan: Plan) -> Index:
        names = [column.name for column in fields(Columns)]
        columns = Columns(
            *(np.concatenate([getattr(part, name) for part in self._parts]) for name in names)
        )
        partner = pair(columns)
        _apply(plan, columns)
        return Index(
            **vars(columns),
            partner=partner,
            threads=tuple(self._threads),
            metadata=tuple(self._metadata),
        )

    def chunks(self) -> tuple[int, ...]:
        """How many events each chunk holds."""
        return tuple(len(part.phase) for part in self._parts)


def _decode(text: bytes) -> list[_Event]:
    with contextlib.suppress(msgspec.DecodeError):
        return _events.decode(b"[%b]" % text)
    return [_lenient(piece) for piece in split_clean(text)]


def _lenient(piece: bytes) -> _Event:
    """An event some of whose fields have types that nobody expects; those count as absent."""
    event = load(piece)

    def scalar(value: object) -> Any:
        good = isinstance(value, (int, float, str)) and not isinstance(value, bool)
        return value if good else None

    args = event.get("args")
    return _Event(
        ph=event["ph"] if isinstance(event.get("ph"), str) else "",
        cat=event["cat"] if isinstance(event.get("cat"), str) else "",
        ts=scalar(event.get("ts")),
        dur=scalar(event["dur"]) if "dur" in event else ABSENT,
        pid=scalar(event.get("pid")),
        tid=scalar(event.get("tid")),
        id=scalar(event.get("id")),
        args=_Arguments(scalar(args.get("correlation"))) if isinstance(args, dict) else None,
    )


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    if str not in set(map(type, values)):
        return np.array(values, np.float64)
    return np.array([number(value) for value in values], np.float64)


def _correlation(args: _Arguments | None) -> int:
    value = args.correlation if args else None
    if value is None:
        return NONE
    if not isinstance(value, int):
        us = number(value)
        value = int(us) if abs(us) <= LARGEST_US else NONE
    return value if abs(value) < _CORRELATION_LIMIT else NONE


def _apply(plan: Plan, columns: Columns) -> None:
    """Does to the columns what the repair does to the events."""
    phase, start, end = columns.phase, columns.start, columns.end
    for row in plan.drops:
        if phase[row] != END:
            phase[row] = GONE
    for row, change in plan.changes.items():
        dur = change.fields.get("dur")
        if dur is not None:
            end[row] = start[row] + engine_ns_of(dur)
    if plan.shift_us:
        start += plan.shift_us * 1000
        end[end != OPEN_END] += plan.shift_us * 1000
