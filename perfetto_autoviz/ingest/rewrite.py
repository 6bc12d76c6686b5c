"""Write a capture's events anew, changed as planned, as one stream of valid JSON."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from perfetto_autoviz.ingest.clock import engine_ns_of, exact_us
from perfetto_autoviz.ingest.events import split_clean
from perfetto_autoviz.ingest.mend import dump, load, number
from perfetto_autoviz.ingest.repair import Change, Plan

_TID = re.compile(rb'"tid"\s*:\s*(?:"[^"\\]*"|[-+.\w]+)')
_CATEGORY = re.compile(rb'"cat"\s*:\s*"([^"\\]*)"')


def rewrite(
    chunks: Iterable[tuple[bytes, int]],
    plan: Plan,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> Iterator[bytes]:
    """Yield the whole capture as JSON text.

    Args:
        chunks: text of whole events separated by commas, and how many they are.
        plan: what to change.
        before: top-level keys to write before the events.
        after: top-level keys to write behind them.
    """
    writer = _Writer(plan)
    yield b'{%b"traceEvents":[\n' % b"".join(_members(before))
    first = 0
    empty = True
    for text, count in chunks:
        changed = writer.changed(text, first, count)
        first += count
        if changed:
            yield changed if empty else b",\n" + changed
            empty = False
    names = writer.lane_names()
    if names:
        yield names if empty else b",\n" + names
    yield b"\n]"
    yield b"".join(b"," + member[:-1] for member in _members(after))
    yield b"}\n"


def _members(keys: Mapping[str, Any]) -> list[bytes]:
    """Each key with its value, a comma behind it."""
    return [
        b"%b:%b," % (dump(key), dump(value)) for key, value in keys.items() if key != "traceEvents"
    ]


class _Writer:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._special = sorted({*plan.changes, *plan.drops})
        self._everywhere = plan.numbers or plan.shift_us != 0

    def changed(self, text: bytes, first: int, count: int) -> bytes:
        """The text of one chunk as it is to be; unchanged text is passed through."""
        special = self._special[
            bisect_left(self._special, first) : bisect_left(self._special, first + count)
        ]
        moves = self._moves(first, count)
        if not (special or moves or self._everywhere or self._plan.leave_out):
            return text
        pieces: list[bytes | None] = list(split_clean(text))
        if self._plan.leave_out:
            self._leave_out(pieces)
        for row in range(count) if self._everywhere else sorted({o - first for o in special}):
            piece = pieces[row]
            if piece is not None:
                pieces[row] = self._change(piece, first + row)
        for ordinal, tid in moves:
            piece = pieces[ordinal - first]
            if piece is not None:
                pieces[ordinal - first] = move(piece, tid)
        return b",".join(piece for piece in pieces if piece is not None)

    def _moves(self, first: int, count: int) -> list[tuple[int, int]]:
        moves = self._plan.moves
        if moves is None:
            return []
        low, high = np.searchsorted(moves.ordinal, (first, first + count))
        return list(
            zip(moves.ordinal[low:high].tolist(), moves.tid[low:high].tolist(), strict=True)
        )

    def _leave_out(self, pieces: list[bytes | None]) -> None:
        for row, piece in enumerate(pieces):
            if piece is not None and category_of(piece).lower() in self._plan.leave_out:
                pieces[row] = None

    def _change(self, piece: bytes, ordinal: int) -> bytes | None:
        """The event with its changed fields, or None if it is left away."""
        if ordinal in self._plan.drops:
            return None
        event = load(piece)
        if self._everywhere:
            self._change_numbers(event)
        change = self._plan.changes.get(ordinal)
        if change is not None:
            _apply(event, change)
        return dump(event)

    def _change_numbers(self, event: dict[str, Any]) -> None:
        if isinstance(event.get("dur"), str):
            dur = number(event["dur"])
            event["dur"] = dur if math.isfinite(dur) else None
        if "ts" not in event:
            return
        us = number(event["ts"])
        if not math.isfinite(us):
            if isinstance(event["ts"], str):
                del event["ts"]
            return
        if self._plan.shift_us:
            ns = engine_ns_of(us) + self._plan.shift_us * 1000
            event["ts"] = exact_us(max(ns, 0))
        elif isinstance(event["ts"], str):
            event["ts"] = us

    def lane_names(self) -> bytes:
        """The metadata events that name the lanes."""
        moves = self._plan.moves
        lanes = () if moves is None else moves.lanes
        return b",\n".join(
            dump(
                {
                    "ph": "M",
                    "name": "thread_name",
                    "pid": lane.of.pid,
                    "tid": lane.tid,
                    "ts": 0,
                    "args": {"name": lane.name},
                }
            )
            for lane in lanes
        )


def _apply(event: dict[str, Any], change: Change) -> None:
    for key, value in change.fields.items():
        if value is None:
            event.pop(key, None)
        else:
            event[key] = value
    if change.args:
        args = event.get("args")
        event["args"] = {**(args if isinstance(args, dict) else {}), **change.args}


def move(piece: bytes, tid: int) -> bytes:
    """The event on another thread, every other byte as it was where that is possible."""
    if piece.count(b'"tid"') == 1:
        moved, found = _TID.subn(b'"tid":%d' % tid, piece)
        if found == 1:
            return moved
    event = load(piece)
    event["tid"] = tid
    return dump(event)


def category_of(piece: bytes) -> str:
    """The category of an event."""
    if piece.count(b'"cat"') == 1:
        found = _CATEGORY.search(piece)
        if found:
            return found.group(1).decode()
    category = load(piece).get("cat")
    return category if isinstance(category, str) else ""
