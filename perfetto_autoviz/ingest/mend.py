"""Mend JSON text that profilers write and parsers refuse.

Works on one event, or on the text before and after the list of events. Strings and
the text between them are mended apart, because ``NaN`` is a fault outside a string only.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from perfetto_autoviz.ingest.events import Unreadable, read_events
from perfetto_autoviz.ingest.splitter import real_quotes

Counts = Counter[str]

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_GOOD_ESCAPE = re.compile(r'["\\/bfnrt]|u[0-9a-fA-F]{4}')
# The first branch passes over other escapes: \\ud83d is a backslash and five letters.
_SURROGATES = re.compile(r"\\[^u]|((?:\\u[dD][89a-fA-F][0-9a-fA-F]{2})+)")
# Engines end a text at a NUL: "name": "gemm\u0000tail" would be read as gemm.
_NUL = re.compile(r"\\[^u]|(\x00|\\u0000)", re.DOTALL)
_CONTROL = re.compile(r"[\x01-\x1f]")
_CONTROL_OUTSIDE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]+")
# A kernel argument of 0/0 in C++ iostreams: {"blocks per SM": nan} or -nan, inf, NaN, Infinity
_NON_FINITE = re.compile(r"(?<![\w.])[+-]?(?:nan|inf(?:inity)?)(?![\w.])", re.IGNORECASE)
_NON_FINITE_WORDS = (b"NaN", b"nan", b"NAN", b"Infinity", b"infinity", b"inf", b"Inf", b"INF")
_WORD_CHARACTER = re.compile(rb"[\w.]")
_HUGE = re.compile(r"-?\d+(?:\.\d+)?[eE]\+?\d{3,}")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
# "traceName": "C:\traces\", : the backslash before the quote was meant literally
_LITERAL_LAST_BACKSLASH = re.compile(r'"((?:[^"\\]|\\[^"])*)\\"(?=\s*[,}\]])')
_LONG_INTEGER = re.compile(rb"\d{19}")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")


def mend_text(data: bytes) -> tuple[str, Counts]:
    """Mend everything that concerns characters, escapes and number words.

    Returns:
        The text, which need not be valid JSON still, and how often each fault was mended.
    """
    counts: Counts = Counter()
    text = _decode(data, counts)
    parts: list[str] = []
    position = 0
    for match in _STRING.finditer(text):
        parts.append(_mend_outside(text[position : match.start()], counts))
        parts.append(_mend_string(match.group(), counts))
        position = match.end()
    parts.append(_mend_outside(text[position:], counts))
    # A comma before a closing bracket may be followed by blanks only, so no string is hit.
    return "".join(parts), counts


def _decode(data: bytes, counts: Counts) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        counts["invalid_utf8"] += max(1, text.count("\ufffd"))
        return text


def _mend_outside(text: str, counts: Counts) -> str:
    for pattern, kind, replacement in (
        (_CONTROL_OUTSIDE, "control_characters", " "),
        (_NON_FINITE, "non_finite_numbers", "null"),
        (_TRAILING_COMMA, "separators", r"\1"),
    ):
        text, found = pattern.subn(replacement, text)
        counts[kind] += found

    def finite(match: re.Match[str]) -> str:
        if math.isfinite(float(match.group())):
            return match.group()
        counts["non_finite_numbers"] += 1
        return "null"

    return _HUGE.sub(finite, text)


def _mend_string(text: str, counts: Counts) -> str:
    """Mend one string, its quotes included."""
    if "\0" in text or "\\u0000" in text:
        text = _NUL.sub(lambda match: _replace_nul(match, counts), text)
    text, found = _CONTROL.subn(lambda match: f"\\u{ord(match.group()):04x}", text)
    counts["control_characters"] += found
    if "\\" not in text:
        return text
    bad = sum(not _GOOD_ESCAPE.fullmatch(m.group(1)) for m in _ESCAPE.finditer(text))
    if bad and not found:
        # Whoever wrote one bare backslash escaped none: "C:\new\Users" means no line break.
        counts["invalid_escapes"] += 1
        text = _ESCAPE.sub(_escape_backslash, text)
    elif bad:
        counts["invalid_escapes"] += 1
        text = _ESCAPE.sub(_escape_bad_backslash, text)
    return _SURROGATES.sub(lambda match: _join_surrogates(match, counts), text)


def _replace_nul(match: re.Match[str], counts: Counts) -> str:
    if match.group(1) is None:
        return match.group()
    counts["nul_characters"] += 1
    return "\N{REPLACEMENT CHARACTER}"


def _escape_backslash(match: re.Match[str]) -> str:
    return match.group() if match.group(1) in '"\\' else "\\" + match.group()


def _escape_bad_backslash(match: re.Match[str]) -> str:
    return match.group() if _GOOD_ESCAPE.fullmatch(match.group(1)) else "\\" + match.group()


def _join_surrogates(match: re.Match[str], counts: Counts) -> str:
    """Write escaped surrogate pairs as the characters they stand for."""
    if match.group(1) is None:
        return match.group()
    counts["surrogate_escapes"] += 1
    units = json.loads(f'"{match.group()}"')
    return str(units.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def mend_many(data: bytes) -> tuple[bytes, Counts]:
    """Mend what profilers get wrong in every event, without looking at each event.

    Handles strings with escapes, invalid UTF-8 and number words; the events' brackets
    and quotes must match. The result need not be clean: other faults stay.
    """
    counts: Counts = Counter()
    if b"\\" in data or not data.isascii():
        text = _decode(data, counts)
        data = _mend_escaped_strings(text, counts).encode()
    words = sorted(span for word in _NON_FINITE_WORDS for span in _whole_words(data, word))
    if words:
        quotes = real_quotes(np.frombuffer(data, np.uint8))
        inside = np.searchsorted(quotes, [begin for begin, _ in words]) % 2 == 1
        outside = [word for word, hidden in zip(words, inside, strict=True) if not hidden]
        counts["non_finite_numbers"] += len(outside)
        edges = [0, *(edge for word in outside for edge in word), len(data)]
        data = b"null".join(data[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
    return data, +counts


def _mend_escaped_strings(text: str, counts: Counts) -> str:
    """Mend the strings with backslashes; these can stand nowhere else."""
    parts: list[str] = []
    position = 0
    while (slash := text.find("\\", position)) >= 0:
        begin = text.rfind('"', position, slash)
        match = _STRING.match(text, begin) if begin >= 0 else None
        if match is None:
            break
        parts += (text[position:begin], _mend_string(match.group(), counts))
        position = match.end()
    return "".join((*parts, text[position:]))


def _whole_words(data: bytes, word: bytes) -> Iterator[tuple[int, int]]:
    """Where a word stands alone, its sign included; much faster than one pattern for all."""
    begin = data.find(word)
    while begin >= 0:
        end = begin + len(word)
        start = begin - (data[begin - 1 : begin] in (b"-", b"+"))
        beside = data[start - 1 : start] + data[end : end + 1]
        if not _WORD_CHARACTER.search(beside):
            yield start, end
        begin = data.find(word, end)


def mend_event(data: bytes) -> tuple[bytes, Counts] | None:
    """Mend one event so that ``read_events`` accepts it.

    Returns:
        The event's text and what was mended, or None if nothing whole is in it.
    """
    text, counts = mend_text(data)
    attempts = [text]
    literal, found = _LITERAL_LAST_BACKSLASH.subn(_escape_all, data.decode(errors="replace"))
    if found:
        attempts.append(mend_text(literal.encode())[0])
    for number, attempt in enumerate(attempts):
        value = _load(attempt)
        if value is None:
            continue
        if number:
            counts["invalid_escapes"] += 1
        return _with_right_types(value, attempt, counts)
    return None


def _escape_all(match: re.Match[str]) -> str:
    escaped = match.group(1).replace("\\", "\\\\")
    return f'"{escaped}\\\\"'


def _load(text: str) -> dict[str, Any] | None:
    """The event as an object, or None if the text holds none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _with_right_types(
    event: dict[str, Any], text: str, counts: Counts
) -> tuple[bytes, Counts] | None:
    """Drop what has a type no reader expects; an event without a phase is no event."""
    wrong = [key for key, types in _TYPES.items() if key in event and not _fits(event[key], types)]
    if "ph" in wrong:
        return None
    for key in wrong:
        counts["wrong_types"] += 1
        del event[key]
    encoded = dump(event) if wrong else text.encode(errors="replace")
    try:
        read_events(encoded)
    except Unreadable:
        return None
    return encoded, +counts


_TYPES: dict[str, tuple[type, ...]] = {
    "ph": (str,),
    "cat": (str,),
    "ts": (int, float, str),
    "dur": (int, float, str),
    "pid": (int, float, str),
    "tid": (int, float, str),
}


def _fits(value: object, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


def load(data: bytes) -> Any:
    """Decode valid JSON; integers of any size stay exact, and numbers beyond doubles are null.

    Raises:
        ValueError: it is not valid.
        RecursionError: it is nested too deep.
    """
    if not _LONG_INTEGER.search(data):
        with contextlib.suppress(orjson.JSONDecodeError):
            return orjson.loads(data)
    return json.loads(data, parse_float=_finite_float, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _finite_float(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def dump(value: object) -> bytes:
    """Encode as JSON that every reader accepts; doubles come back as they were."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def number(value: float | str | None) -> float:
    """A timestamp or duration as microseconds, NaN if it is none."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else math.nan
    return math.nan if value is None else float(value)
