"""What a scan keeps of a capture: a few numbers per slice, never the events themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.ingest.clock import LARGEST_US, engine_ns
from perfetto_autoviz.ingest.events import (
    ABSENT,
    DEVICE_ANNOTATION,
    FLOW,
    HOST_ANNOTATION,
    KERNEL,
    LAUNCH,
    MEMCPY,
    MEMSET,
    Event,
    kind_of,
    split_clean,
)
from perfetto_autoviz.ingest.memo import Memo
from perfetto_autoviz.ingest.mend import load, number

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int8]

LARGEST_SHIFT_US = 86_400e6
"""Timestamps down to a day below zero are a clock's origin; anything lower is damage."""

_OTHER_WORK = {
    "cuda_profiler_range": "hardware counter ranges",
    "mtia_ccp_events": "work of an MTIA accelerator",
}
"""Categories of captures that people take for GPU traces, and what they hold."""

_ROUNDS_BELOW_0 = -0.0005

_LARGEST_ID = 1 << 32
LEFT_OUT = -1
"""Kind of the events whose category is left out."""

# Codes of the phases that matter; flows, metadata and all others need no more than their time.
_COMPLETE, _BEGIN, _END, _FLOW, _METADATA, _NONE, _OTHER = range(7)
_PHASES = {"X": _COMPLETE, "B": _BEGIN, "E": _END, "M": _METADATA, "": _NONE}
_PHASES.update(dict.fromkeys("stf", _FLOW))


@dataclass(frozen=True)
class Counts:
    """Events of a capture by what they stand for; begin/end pairs count once.

    ``unnamed`` are device activities of a native trace, whose names say which kind they are:
    they stand elsewhere in the file, so that only an engine tells.
    """

    kernel: int = 0
    memcpy: int = 0
    memset: int = 0
    launch: int = 0
    annotation: int = 0
    unnamed: int = 0

    @property
    def device(self) -> int:
        """All device activities."""
        return self.kernel + self.memcpy + self.memset + self.unnamed


@dataclass(frozen=True)
class Thread:
    """A thread as the engine sees it: ids that are no 32-bit number count as absent.

    ``pid`` and ``tid`` keep the text of ids that are text.
    """

    pid: int | str
    tid: int | str


def engine_thread(pid: object, tid: object) -> Thread:
    """The thread on which the engine places an event with these ids.

    Without a thread, or with number 0, that is the main thread of the process: stream 0 of
    device 2 is the same to the engine as stream 2.
    """
    process = _engine_id(pid)
    process = 0 if process is None else process
    thread = _engine_id(tid)
    return Thread(process, process if thread is None or thread == 0 else thread)


def _engine_id(value: object) -> int | str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _LARGEST_ID:
        return int(value)
    return None


@dataclass(frozen=True)
class Table:
    """Slices and flow ends that may need a repair, one row each, in the order of the file.

    Attributes:
        ordinal: number of the event in the file.
        start: start in the engine's ns.
        end: end in the engine's ns; equal to ``start`` for flow ends.
        thread: index into the capture's threads.
        kind: what the event stands for, see ``events``.
    """

    ordinal: Ints
    start: Ints
    end: Ints
    thread: NDArray[np.int32]
    kind: Codes

    def columns(self) -> tuple[Ints, Ints, Ints, NDArray[np.int32], Codes]:
        """All columns, in the order of the attributes."""
        return self.ordinal, self.start, self.end, self.thread, self.kind


@dataclass(frozen=True)
class Edge:
    """A begin or end event.

    ``args`` are those of an end event, which a complete event made of the pair takes over.
    """

    ordinal: int
    us: float
    thread: int
    is_begin: bool
    kind: int
    args: Mapping[str, Any]


@dataclass
class Oddities:
    """Events whose fields must be changed before the load, by their ordinals.

    Attributes:
        no_phase: neither a phase nor a duration; they carry no meaning.
        no_phase_but_duration: read as complete events.
        no_duration: complete events without a usable duration.
        negative_duration: complete events that end before they start.
        null_duration: other events with a duration that is no number; engines fail on it.
        no_time: events without a usable timestamp; they can't be placed.
        metadata_time: metadata events with a timestamp outside of a trace's range.
        negative_time: how many events start before zero.
        earliest_us: the lowest timestamp among them.
        text_numbers: how many events have a timestamp or duration that is text.
    """

    no_phase: list[int] = field(default_factory=list)
    no_phase_but_duration: list[int] = field(default_factory=list)
    no_duration: list[int] = field(default_factory=list)
    negative_duration: list[int] = field(default_factory=list)
    null_duration: list[int] = field(default_factory=list)
    no_time: list[int] = field(default_factory=list)
    metadata_time: list[int] = field(default_factory=list)
    negative_time: int = 0
    earliest_us: float = 0.0
    text_numbers: int = 0


class Columns:
    """Collects the columns of a capture, chunk by chunk.

    Attributes:
        threads: the threads seen, in the order of their codes.
        ids: all numbers seen as thread or process ids.
        edges: begin and end events.
        odd: events that must be changed.
        total: events taken in.
        left_out: events of the categories left out, by category.
    """

    def __init__(self, *, leave_out: frozenset[str], keep_all: bool) -> None:
        """Start empty.

        Args:
            leave_out: categories, in lower case, whose events get no row.
            keep_all: keep slices of all threads, and flow ends, which moving slices
                needs; otherwise device activities only.
        """
        self._leave_out = leave_out
        self._keep_all = keep_all
        self._parts: list[Table] = []
        self._phase_codes = Memo[str, int](lambda ph: _PHASES.get(ph[:1], _OTHER))
        self._kind_codes = Memo[str, int](self._kind)
        self._thread_codes = Memo[tuple[object, object], int](self._thread)
        self._codes: dict[Thread, int] = {}
        self._tally = np.zeros(FLOW + 1, np.int64)
        self.threads: list[Thread] = []
        self.edges: list[Edge] = []
        self.odd = Oddities()
        self.total = 0
        self.left_out: Counter[str] = Counter()

    def _kind(self, category: str) -> int:
        return LEFT_OUT if category.lower() in self._leave_out else kind_of(category)

    def _thread(self, ids: tuple[object, object]) -> int:
        thread = engine_thread(*ids)
        code = self._codes.setdefault(thread, len(self.threads))
        if code == len(self.threads):
            self.threads.append(thread)
        return code

    def add(self, events: list[Event], text: bytes) -> None:
        """Take in the next events of the file, and their text."""
        base = self.total
        self.total += len(events)
        phase = np.array([self._phase_codes[event.ph] for event in events], np.int8)
        kind = np.array([self._kind_codes[event.cat] for event in events], np.int8)
        thread = np.array([self._thread_codes[event.pid, event.tid] for event in events], np.int32)
        us = self._numbers([event.ts for event in events])
        dur = self._numbers([event.dur for event in events])
        if self._leave_out:
            self.left_out.update(
                event.cat for event, code in zip(events, kind, strict=True) if code == LEFT_OUT
            )
            phase[(kind == LEFT_OUT) & (phase != _BEGIN) & (phase != _END)] = _OTHER
        self._note_oddities(base, phase, us, dur)
        if (phase == _BEGIN).any() or (phase == _END).any():
            self._add_edges(base, text, phase, kind, thread, us)
        self._add_rows(base, phase, kind, thread, us, dur)

    def _numbers(self, values: list[float | str | None]) -> Floats:
        """Microseconds as doubles; NaN for null and for text that is no number."""
        if str not in set(map(type, values)):
            return np.array(values, np.float64)
        self.odd.text_numbers += sum(isinstance(value, str) for value in values)
        return np.array([number(value) for value in values], np.float64)

    def _note_oddities(self, base: int, phase: Codes, us: Floats, dur: Floats) -> None:
        """Note what must be changed, and set it in the columns to what it will be."""
        odd = self.odd
        has_dur = np.isfinite(dur) & (np.abs(dur) <= LARGEST_US)
        nameless = phase == _NONE
        if nameless.any():
            odd.no_phase += _ordinals(base, nameless & ~has_dur)
            odd.no_phase_but_duration += _ordinals(base, nameless & has_dur)
            phase[nameless & has_dur] = _COMPLETE
        complete = phase == _COMPLETE
        needs_time = (phase != _METADATA) & (phase != _NONE)
        timeless = needs_time & ~((us <= LARGEST_US) & (us >= -LARGEST_SHIFT_US))
        odd.no_time += _ordinals(base, timeless)
        phase[timeless] = _NONE
        named = phase == _METADATA
        odd.metadata_time += _ordinals(base, named & ((us <= _ROUNDS_BELOW_0) | (us > LARGEST_US)))
        # An engine rounds to whole ns first: what is 0 then is not negative.
        negative = needs_time & ~timeless & (us <= _ROUNDS_BELOW_0)
        if negative.any():
            odd.negative_time += int(negative.sum())
            odd.earliest_us = min(odd.earliest_us, float(us[negative].min()))
        odd.no_duration += _ordinals(base, complete & ~has_dur & ~timeless)
        odd.null_duration += _ordinals(base, ~complete & ~has_dur & (dur != ABSENT) & ~timeless)
        below = complete & has_dur & (dur < 0) & ~timeless
        odd.negative_duration += _ordinals(base, below)
        dur[~has_dur | below] = 0.0

    def _add_edges(
        self,
        base: int,
        text: bytes,
        phase: Codes,
        kind: Codes,
        thread: NDArray[np.int32],
        us: Floats,
    ) -> None:
        pieces = split_clean(text)
        for row in np.flatnonzero((phase == _BEGIN) | (phase == _END)).tolist():
            begin = bool(phase[row] == _BEGIN)
            args = {} if begin else load(pieces[row]).get("args")
            self.edges.append(
                Edge(
                    base + row,
                    float(us[row]),
                    int(thread[row]),
                    begin,
                    int(kind[row]),
                    args if isinstance(args, dict) else {},
                )
            )

    def _add_rows(
        self,
        base: int,
        phase: Codes,
        kind: Codes,
        thread: NDArray[np.int32],
        us: Floats,
        dur: Floats,
    ) -> None:
        counted = ((phase == _COMPLETE) | (phase == _BEGIN)) & (kind != LEFT_OUT)
        self._tally += np.bincount(kind[counted], minlength=FLOW + 1)
        slices = phase == _COMPLETE
        flows = phase == _FLOW
        kind[flows] = FLOW
        keep = slices | flows if self._keep_all else slices & is_device(kind)
        start = engine_ns(us[keep])
        length = np.where(flows[keep], 0, engine_ns(dur[keep]))
        self._parts.append(
            Table(np.flatnonzero(keep) + base, start, start + length, thread[keep], kind[keep])
        )

    def elsewhere(self) -> str:
        """Names the accelerator work this project does not read, as a part of a sentence."""
        seen = [name for category, name in _OTHER_WORK.items() if category in self._kind_codes]
        return f" ({' and '.join(seen)} only)" if seen else ""

    def table(self) -> Table:
        """All rows kept, in the order of the file."""
        parts = self._parts or [_EMPTY]
        columns = zip(*(part.columns() for part in parts), strict=True)
        return Table(*(np.concatenate(column) for column in columns))

    def counts(self) -> Counts:
        """How many events of each kind were taken in."""
        tally = self._tally.tolist()
        return Counts(
            kernel=tally[KERNEL],
            memcpy=tally[MEMCPY],
            memset=tally[MEMSET],
            launch=tally[LAUNCH],
            annotation=tally[HOST_ANNOTATION] + tally[DEVICE_ANNOTATION],
        )


def is_device(kind: Codes) -> NDArray[np.bool_]:
    """Which kinds are device activities."""
    return (kind >= KERNEL) & (kind <= MEMSET)


def _ordinals(base: int, mask: NDArray[np.bool_]) -> list[int]:
    found: list[int] = (np.flatnonzero(mask) + base).tolist()
    return found


_EMPTY = Table(
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int32),
    np.empty(0, np.int8),
)
