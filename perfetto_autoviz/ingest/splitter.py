"""Where events begin and end, without decoding them.

``last_boundary`` is the fast guess for files in good order. ``split_events`` is exact
on any text whose strings are closed: it tracks strings, escapes and nesting with numpy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BOUNDARY = re.compile(rb"\}\s*,\s*\{")
_EVENT_START = re.compile(
    rb"(?<=\})\s*,?\s*(?=\{\s*\"(?:ph|name|cat|pid|tid|ts|dur|id|args|s|bp)\")"
)
_ARRAY_END = re.compile(rb"\]\s*(?:,\s*\"|\}|\Z)")
_BLANK = b" \t\r\n"
_WINDOWS = (1 << 14, 1 << 20)
"""How far back to look for a boundary: an event is hundreds of bytes, rarely more."""
_STRAY_LIMIT = 64
"""Stray closing brackets tolerated in one piece of text; more means that it is hopeless."""

_STEP = np.zeros(256, np.int8)
_STEP[list(b"{[")] = 1
_STEP[list(b"}]")] = -1


@dataclass(frozen=True)
class Split:
    """Where the events of a piece of text lie.

    Attributes:
        spans: begin and end of each event.
        odd_separators: places where events are not separated by exactly one comma.
        junk: bytes between events that belong to none.
        end: offset of the bracket that closes the list of events, if it was found.
        rest: offset behind the last whole event.
    """

    spans: list[tuple[int, int]]
    odd_separators: int
    junk: int
    end: int | None
    rest: int


def last_boundary(text: bytes) -> tuple[int, int] | None:
    """Guess the last place between two events: end of the one, begin of the other."""
    for window in (*_WINDOWS, len(text)):
        start = max(0, len(text) - window)
        found = list(_BOUNDARY.finditer(text, start))
        if found:
            return found[-1].start() + 1, found[-1].end() - 1
    return None


def candidates(text: bytes) -> list[bytes]:
    """Cut text whose structure is damaged wherever an event seems to begin."""
    return [piece for piece in _EVENT_START.split(text) if piece.strip(_BLANK + b",")]


def split_events(text: bytes) -> Split:
    """Find the events in text that begins between two events of the list."""
    marks, steps = _structure(text)
    depth = np.cumsum(steps, dtype=np.int64)
    end: int | None = None
    for _ in range(_STRAY_LIMIT):
        below = np.flatnonzero(depth < 0)
        if not below.size:
            break
        first = int(below[0])
        end = int(marks[first])
        if _ARRAY_END.match(text, end):
            marks, steps, depth = marks[:first], steps[:first], depth[:first]
            break
        end = None
        depth[first:] += 1
        steps[first] = 0
    begins = marks[(depth == 1) & (steps == 1)].tolist()
    ends = (marks[(depth == 0) & (steps == -1)] + 1).tolist()
    if end is not None:
        begins = begins[: len(ends)]
    return _separate(text, list(zip(begins, ends, strict=False)), begins[len(ends) :], end)


def _separate(
    text: bytes, found: list[tuple[int, int]], unfinished: list[int], end: int | None
) -> Split:
    """Judge what lies between the values found, and keep only objects as events."""
    spans: list[tuple[int, int]] = []
    odd = junk = 0
    before = 0
    for begin, stop in found:
        gap = text[before:begin].strip(_BLANK)
        if gap != b"," and not (gap == b"" and before == 0):
            odd += gap.strip(b"," + _BLANK) == b""
            junk += len(gap.strip(b"," + _BLANK))
        before = stop
        if text[begin] == ord("{"):
            spans.append((begin, stop))
        else:
            junk += stop - begin
    if end is not None:
        tail = text[before:end].strip(_BLANK)
        odd += tail == b","
        junk += len(tail.strip(b"," + _BLANK))
    return Split(spans, odd, junk, end, unfinished[0] if unfinished else before)


def _structure(text: bytes) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Offsets of all brackets outside strings, and +1 or -1 for each."""
    data = np.frombuffer(text, np.uint8)
    steps = _STEP[data]
    marks = np.flatnonzero(steps)
    quotes = real_quotes(data)
    marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    return marks, steps[marks]


def real_quotes(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Offsets of the quotes that are not escaped: those that begin and end strings."""
    quotes = np.flatnonzero(data == ord('"'))
    slashes = data == ord("\\")
    if not quotes.size or not slashes.any():
        return quotes
    # A quote is escaped when an odd number of backslashes stands right before it.
    plain = np.where(slashes, -1, np.arange(data.size))
    last_plain = np.maximum.accumulate(plain)
    before = np.maximum(quotes - 1, 0)
    run = np.where(quotes > 0, before - last_plain[before], 0)
    real: NDArray[np.int64] = quotes[run % 2 == 0]
    return real
