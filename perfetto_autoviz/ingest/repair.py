"""Decide what must change before an engine reads a capture, without changing it yet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perfetto_autoviz.ingest.clock import engine_ns, exact_us
from perfetto_autoviz.ingest.columns import LEFT_OUT, Columns, Edge, Table, is_device
from perfetto_autoviz.ingest.events import KERNEL, MEMSET
from perfetto_autoviz.ingest.overlaps import Moves, find_moves

UNCLIPPED = "autoviz_unclipped_dur_us"
"""The argument that keeps the duration a clipped kernel was recorded with."""

LONG_KERNEL_NS = 1_000_000_000
"""A kernel this long that outlasts the next one's start on its stream has a broken end
stamp (seen on MI355: seconds-long kernels inside steps of milliseconds)."""

OVERLAPS = "overlapping_slices"
"""The one kind of repair that engines from v57 on do not need."""


@dataclass(frozen=True)
class Repair:
    """Something that was changed, or had to be given up, so that the capture loads.

    Attributes:
        kind: short name of the fault.
        count: how often it occurred.
        detail: one sentence: what was done about it.
    """

    kind: str
    count: int
    detail: str


@dataclass
class Change:
    """New values for fields of one event; None takes a field away."""

    fields: dict[str, Any] = field(default_factory=dict)
    args: dict[str, Any] = field(default_factory=dict)


@dataclass
class Plan:
    """All changes to a capture's events, by their ordinals in the file.

    Attributes:
        changes: changed fields of single events.
        drops: events to leave away.
        numbers: timestamps and durations that are text become numbers.
        shift_us: microseconds to add to every timestamp.
        moves: slices that go to lanes.
        leave_out: categories to leave away, in lower case.
    """

    changes: dict[int, Change] = field(default_factory=dict)
    drops: set[int] = field(default_factory=set)
    numbers: bool = False
    shift_us: int = 0
    moves: Moves | None = None
    leave_out: frozenset[str] = frozenset()

    def change(self, ordinal: int) -> Change:
        """The change of one event, to be filled in."""
        return self.changes.setdefault(ordinal, Change())


def make_plan(columns: Columns, table: Table, *, drops_overlaps: bool) -> tuple[Plan, list[Repair]]:
    """Plan the repairs of a capture that was read as a whole.

    Args:
        columns: the capture's columns.
        table: ``columns.table()``; its ends follow the plan where durations change.
        drops_overlaps: whether the engine drops slices that cross.
    """
    plan = Plan()
    repairs = _plan_fields(columns, plan)
    table = _pair_edges(columns, table, plan, repairs)
    _clip_long_kernels(table, plan, repairs)
    if drops_overlaps:
        moves = find_moves(table, columns.threads)
        if moves.lanes:
            plan.moves = moves
            repairs.append(
                Repair(
                    OVERLAPS,
                    moves.slices,
                    f"slices that overlap on their thread were moved to "
                    f"{len(moves.lanes)} {'lane' if len(moves.lanes) == 1 else 'lanes'}"
                    " beside it, because this engine would drop them",
                )
            )
    return plan, repairs


def _plan_fields(columns: Columns, plan: Plan) -> list[Repair]:
    """Plan the changes of single fields."""
    odd = columns.odd
    repairs = []

    def note(kind: str, count: int, detail: str) -> None:
        if count:
            repairs.append(Repair(kind, count, detail))

    plan.numbers = odd.text_numbers > 0
    note("text_numbers", odd.text_numbers, "timestamps or durations written as text became numbers")
    plan.drops.update(odd.no_phase, odd.no_time)
    note("missing_phase", len(odd.no_phase), "events without a phase were left away")
    for ordinal in odd.no_phase_but_duration:
        plan.change(ordinal).fields["ph"] = "X"
    note(
        "missing_phase",
        len(odd.no_phase_but_duration),
        "events without a phase but with a duration were read as complete events",
    )
    note(
        "unusable_timestamp",
        len(odd.no_time),
        "events without a timestamp inside the range of a trace were left away",
    )
    for ordinal in odd.metadata_time:
        plan.change(ordinal).fields["ts"] = None
    note(
        "unusable_timestamp",
        len(odd.metadata_time),
        "timestamps outside the range of a trace were taken away from metadata events",
    )
    for ordinal in (*odd.no_duration, *odd.negative_duration):
        plan.change(ordinal).fields["dur"] = 0
    note("missing_duration", len(odd.no_duration), "slices without a duration got 0")
    note("negative_duration", len(odd.negative_duration), "slices of negative duration got 0")
    for ordinal in odd.null_duration:
        plan.change(ordinal).fields["dur"] = None
    note(
        "unusable_duration",
        len(odd.null_duration),
        "durations that are no number were taken away from events that need none",
    )
    if odd.negative_time:
        plan.shift_us = math.ceil(-odd.earliest_us)
        note(
            "negative_timestamp",
            odd.negative_time,
            f"all timestamps were moved by {plan.shift_us} us so that none is below zero",
        )
    return repairs


def _pair_edges(columns: Columns, table: Table, plan: Plan, repairs: list[Repair]) -> Table:
    """Turn begin/end pairs of device activities into complete events.

    Pairs on a thread match as brackets do, in order of time. A begin without an end
    becomes a slice of no length.
    """
    pairs = _match(columns.edges)
    plan.drops.update(e.ordinal for b, e in pairs if e is not None and b.kind == LEFT_OUT)
    device = [(begin, end) for begin, end in pairs if KERNEL <= begin.kind <= MEMSET]
    if not device:
        return table
    starts = engine_ns(np.array([begin.us for begin, _ in device]))
    ends = engine_ns(np.array([begin.us if end is None else end.us for begin, end in device]))
    for (begin, end), start_ns, end_ns in zip(device, starts.tolist(), ends.tolist(), strict=True):
        change = plan.change(begin.ordinal)
        change.fields.update(ph="X", dur=exact_us(end_ns - start_ns))
        if end is not None:
            change.args.update(end.args)
            plan.drops.add(end.ordinal)
    open_ended = sum(end is None for _, end in device)
    detail = "begin/end pairs of device activities became complete events"
    if open_ended:
        detail += f"; {open_ended} without an end got duration 0"
    repairs.append(Repair("begin_end_pairs", len(device), detail))
    begins = [begin for begin, _ in device]
    return Table(
        np.concatenate((table.ordinal, [begin.ordinal for begin in begins])),
        np.concatenate((table.start, starts)),
        np.concatenate((table.end, ends)),
        np.concatenate((table.thread, np.array([begin.thread for begin in begins], np.int32))),
        np.concatenate((table.kind, np.array([begin.kind for begin in begins], np.int8))),
    )


def _match(edges: list[Edge]) -> list[tuple[Edge, Edge | None]]:
    """Match begins and ends per thread; ends without a begin are ignored, as engines do."""
    open_edges: dict[int, list[Edge]] = {}
    pairs: list[tuple[Edge, Edge | None]] = []
    for edge in sorted(edges, key=lambda edge: (edge.us, edge.ordinal)):
        stack = open_edges.setdefault(edge.thread, [])
        if edge.is_begin:
            stack.append(edge)
        elif stack:
            pairs.append((stack.pop(), edge))
    pairs += [(edge, None) for stack in open_edges.values() for edge in stack]
    return pairs


def _clip_long_kernels(table: Table, plan: Plan, repairs: list[Repair]) -> None:
    """End kernels of seconds where the next one on their stream starts."""
    device = np.flatnonzero(is_device(table.kind))
    long = device[table.end[device] - table.start[device] >= LONG_KERNEL_NS]
    clipped = 0
    for row in long.tolist():
        same = device[table.thread[device] == table.thread[row]]
        later = table.start[same][table.start[same] > table.start[row]]
        following = int(later.min()) if later.size else None
        if following is None or following >= table.end[row]:
            continue
        start, end = int(table.start[row]), int(table.end[row])
        change = plan.change(int(table.ordinal[row]))
        change.fields["dur"] = exact_us(following - start)
        change.args[UNCLIPPED] = exact_us(end - start)
        table.end[row] = following
        clipped += 1
    if clipped:
        repairs.append(
            Repair(
                "overlong_kernels",
                clipped,
                "kernels of a second or more that outlast the next one's start on their stream"
                f" were clipped to it; args.{UNCLIPPED} keeps the recorded duration",
            )
        )


_READING = {
    "bom": "the byte order mark was taken away",
    "control_characters": "control characters were escaped, or blanked outside of text",
    "nul_characters": "NUL characters, at which engines end a text, were replaced",
    "invalid_utf8": "bytes that are no UTF-8 were replaced",
    "surrogate_escapes": "escaped surrogates were written as the characters they stand for",
    "non_finite_numbers": "NaN and infinite numbers became null",
    "invalid_escapes": "backslashes that escape nothing were doubled",
    "wrong_types": "fields of the wrong type were taken away",
    "separators": "missing or surplus commas were mended",
}
"""What is said about faults that were mended while reading."""

_LOSSES = {
    "unreadable_events": "events that are no JSON were left away",
    "truncated": "the file ends early: its last event is cut off",
    "unclosed": "the trace is not closed at its end",
    "unreadable_metadata": "metadata around the events could not be read",
    "trailing_garbage": "text behind the end of the trace was ignored",
}
"""What is said about what had to be given up."""


def reading_repairs(counts: Mapping[str, int], bytes_lost: Counter[str]) -> list[Repair]:
    """The repairs made while reading, in a fixed order."""
    repairs = [
        Repair(kind, counts[kind], text) for kind, text in _READING.items() if counts.get(kind)
    ]
    for kind, text in _LOSSES.items():
        if counts.get(kind) or bytes_lost.get(kind):
            lost = bytes_lost.get(kind, 0)
            detail = f"{text} ({lost} bytes)" if lost else text
            repairs.append(Repair(kind, max(1, counts.get(kind, 0)), detail))
    return repairs
