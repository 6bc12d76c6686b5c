"""Read a Chrome JSON trace as a stream of chunks of whole events.

The text is cut at guessed boundaries and each chunk is verified by decoding it. A
chunk that fails is split exactly and its events are verified in halves, so that the
few bad ones are found and mended one by one. Nothing but the current chunk is held.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.events import Event, Unreadable, read_events
from perfetto_autoviz.ingest.mend import mend_event, mend_many
from perfetto_autoviz.ingest.sniff import WHAT_TO_GIVE
from perfetto_autoviz.ingest.splitter import candidates, last_boundary, split_events

LARGEST_EVENT = 8 << 20
"""An event longer than this is taken for damaged text; real ones are some hundred bytes."""

LARGEST_PREAMBLE = 64 << 20
"""Most text to hold before the events, or after them, while looking for metadata."""

_MANY = 32
"""With fewer events than this it is as quick to mend them one by one."""

_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BLANK = b" \t\r\n"


@dataclass(frozen=True)
class Chunk:
    """Whole events: their text, separated by commas, and what the scan needs of each.

    ``events`` is None when the chunk is known to be clean from an earlier pass.
    """

    text: bytes
    events: list[Event] | None


@dataclass
class Faults:
    """What was mended or lost while reading, by kind of repair."""

    counts: Counter[str] = field(default_factory=Counter)
    bytes_lost: Counter[str] = field(default_factory=Counter)

    def lose(self, kind: str, events: int, size: int) -> None:
        """Note events, or bytes of them, that could not be kept."""
        self.counts[kind] += events
        self.bytes_lost[kind] += size


class EventReader:
    """One pass over the unpacked text of a capture.

    Attributes:
        bare: the text is a list of events without an object around it.
        preamble: text from the first brace to the key of the events.
        trailer: text behind the bracket that closes the events.
        ended: that bracket was found.
        faults: what was mended or lost.
        clean: for each chunk read, whether it was clean as it stood.
    """

    def __init__(self, blocks: Iterable[bytes], known_clean: list[bool] | None = None) -> None:
        self._blocks = iter(blocks)
        self._known = known_clean
        self.bare = False
        self.preamble = b""
        self.trailer = b""
        self.ended = False
        self.faults = Faults()
        self.clean: list[bool] = []

    def chunks(self) -> Iterator[Chunk]:
        """Yield all events in the order of the file, in chunks of a few MiB.

        Raises:
            CaptureError: the text holds no list of events.
        """
        buffer = self._find_events()
        for block in self._blocks:
            buffer = buffer + block if buffer else block
            chunk, buffer = self._cut(buffer)
            if chunk is not None:
                yield chunk
            if self.ended:
                break
        if not self.ended:
            chunk, buffer = self._recover(buffer, final=True)
            if chunk is not None:
                yield chunk
        if self.ended:
            self._read_trailer(buffer)

    def _find_events(self) -> bytes:
        """Read up to the list of events; return the text behind its opening bracket."""
        text = b""
        for block in self._blocks:
            text += block
            if not text.lstrip(_BLANK):
                continue
            if text.lstrip(_BLANK)[:1] == b"[":
                self.bare = True
                return text.lstrip(_BLANK)[1:]
            found = _EVENTS_KEY.search(text)
            if found:
                self.preamble = text[: found.start()].lstrip(_BLANK)
                return text[found.end() :]
            if len(text) > LARGEST_PREAMBLE:
                break
        raise CaptureError(f'it holds no list "traceEvents", so it is no capture; {WHAT_TO_GIVE}')

    def _cut(self, buffer: bytes) -> tuple[Chunk | None, bytes]:
        """Take all whole events off the front of the buffer."""
        boundary = last_boundary(buffer)
        if boundary is None:
            if len(buffer) > LARGEST_EVENT:
                return self._recover(buffer, final=False)
            return None, buffer
        stop, start = boundary
        text = buffer[:stop]
        if self._known is not None and self._known[len(self.clean)]:
            self.clean.append(True)
            return Chunk(text, None), buffer[start:]
        if self._known is None:
            with contextlib.suppress(*Unreadable):
                chunk = Chunk(text, read_events(text))
                self.clean.append(True)
                return chunk, buffer[start:]
        mended = self._mend_many(text)
        if mended is None:
            return self._recover(buffer, final=False)
        self.clean.append(False)
        return mended, buffer[start:]

    def _mend_many(self, text: bytes) -> Chunk | None:
        """Mend the faults of a whole chunk at once, if that makes it clean."""
        mended, counts = mend_many(text)
        try:
            events = read_events(mended)
        except Unreadable:
            return None
        self.faults.counts.update(counts)
        return Chunk(mended, events)

    def _recover(self, buffer: bytes, *, final: bool) -> tuple[Chunk | None, bytes]:
        """Split the buffer exactly, mend what is broken, note what is lost."""
        self.clean.append(False)
        split = split_events(buffer)
        self.faults.counts["separators"] += split.odd_separators
        if split.junk:
            self.faults.lose("unreadable_events", 1, split.junk)
        pieces = self._settle([buffer[begin:stop] for begin, stop in split.spans])
        if split.end is not None:
            self.ended = True
            return _chunk(pieces), buffer[split.end + 1 :]
        rest = buffer[split.rest :]
        if final or len(rest) > LARGEST_EVENT:
            rescued, rest = self._rescue(rest, final=final)
            pieces += rescued
        return _chunk(pieces), rest

    def _settle(self, pieces: list[bytes]) -> list[bytes]:
        """Keep clean events as they are, mend the others, drop what can't be mended."""
        if not pieces:
            return []
        text = b",".join(pieces)
        try:
            read_events(text)
        except Unreadable:
            if len(pieces) > _MANY:
                mended = self._mend_many(text)
                if mended is not None:
                    return [mended.text]
            if len(pieces) > 1:
                half = len(pieces) // 2
                return self._settle(pieces[:half]) + self._settle(pieces[half:])
            return self._mend(pieces[0])
        return pieces

    def _mend(self, piece: bytes) -> list[bytes]:
        mended = mend_event(piece)
        if mended is not None:
            self.faults.counts.update(mended[1])
            return [mended[0]]
        parts = candidates(piece)
        if len(parts) > 1:
            return self._settle(parts)
        self.faults.lose("unreadable_events", 1, len(piece))
        return []

    def _rescue(self, text: bytes, *, final: bool) -> tuple[list[bytes], bytes]:
        """Take whole events out of text whose brackets or quotes don't match.

        Returns:
            The events, and the text behind the list's end if that was found.
        """
        parts = candidates(text)
        kept: list[bytes] = []
        for part in parts[:-1]:
            kept += self._settle([part])
        if not parts:
            return kept, b""
        split = split_events(parts[-1])
        kept += self._settle([parts[-1][begin:stop] for begin, stop in split.spans])
        if split.end is not None:
            self.ended = True
            return kept, parts[-1][split.end + 1 :]
        rest = parts[-1][split.rest :].strip(_BLANK + b",")
        if final:
            self.faults.lose("truncated", 1 if rest else 0, len(rest))
            return kept, b""
        if len(rest) > LARGEST_EVENT:
            self.faults.lose("unreadable_events", 1, len(rest))
            return kept, b""
        return kept, rest

    def _read_trailer(self, text: bytes) -> None:
        """Read what follows the events; more than the limit is only counted."""
        parts = [text]
        size = len(text)
        for block in self._blocks:
            size += len(block)
            if size <= LARGEST_PREAMBLE:
                parts.append(block)
        self.trailer = b"".join(parts)
        if size > LARGEST_PREAMBLE:
            self.faults.lose("trailing_garbage", 1, size - len(self.trailer))


def _chunk(pieces: list[bytes]) -> Chunk | None:
    if not pieces:
        return None
    text = b",".join(pieces)
    return Chunk(text, read_events(text))
