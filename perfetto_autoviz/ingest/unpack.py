"""Gzip as a stream that gives up nothing whole when the file ends early."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from isal import isal_zlib

BLOCK = 4 << 20
"""Text is handled in blocks of this size: large enough to make the work per block cheap,
small enough that the decoded events of one block stay far below 100 MB."""

_COMPRESSED_BLOCK = 1 << 18
_STEP = 1 << 16
"""Text inflated in one call: the most that is lost before damaged data."""

_CHECKSUM = 8  # checksum and length at a gzip member's end
_GZIP_WINDOW = 31  # 15 bits, plus 16 for the gzip wrapper

GZIP_MAGIC = b"\x1f\x8b"

# The package's stub declares an instance where it has the class.
GzipError: type[Exception] = isal_zlib.error  # type: ignore[assignment]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class GzipProblem:
    """What is wrong with a gzip file: ``truncated_gzip``, ``damaged_gzip`` or ``padded_gzip``.

    ``detail`` says in one sentence what of it was lost, as far as that can be known.
    """

    kind: str
    detail: str


class ByteStream:
    """Blocks of unpacked text, with what was learned about the bytes behind it.

    Attributes:
        size: bytes of unpacked text given out so far.
        problem: of the gzip file, once all blocks were given out.
    """

    def __init__(
        self, file: IO[bytes], *, gzipped: bool, size: int, progress: Progress | None
    ) -> None:
        self._file = file
        self._gzipped = gzipped
        self._total = size
        self._progress = progress
        self._digest = hashlib.sha256()
        self._read = 0
        self.size = 0
        self.problem: GzipProblem | None = None

    def blocks(self) -> Iterator[bytes]:
        """Yield the text in blocks of about ``BLOCK`` bytes, the same ones in every pass."""
        for block in self._unpacked() if self._gzipped else self._packed(BLOCK):
            self.size += len(block)
            yield block

    def sha256(self) -> str:
        """SHA-256 of the bytes as they lie in the file; reads what is not yet read."""
        for _ in self._packed(BLOCK):
            pass
        return self._digest.hexdigest()

    def _packed(self, size: int) -> Iterator[bytes]:
        while block := self._file.read(size):
            self._digest.update(block)
            self._read += len(block)
            if self._progress is not None:
                self._progress(self._read, self._total)
            yield block

    def _unpacked(self) -> Iterator[bytes]:
        parts: list[bytes] = []
        held = 0
        for part in self._inflate():
            parts.append(part)
            held += len(part)
            if held >= BLOCK:
                yield b"".join(parts)
                parts, held = [], 0
        if parts:
            yield b"".join(parts)

    def _inflate(self) -> Iterator[bytes]:
        inflater = Inflater()
        unpacked = 0
        for packed in self._packed(_COMPRESSED_BLOCK):
            for text in inflater.feed(packed):
                unpacked += len(text)
                yield text
            if inflater.damaged:
                break
        for text in inflater.finish():
            unpacked += len(text)
            yield text
        self.problem = self._judged(inflater, unpacked)

    def _judged(self, inflater: Inflater, unpacked: int) -> GzipProblem | None:
        unread = self._total - inflater.used
        if inflater.damaged:
            return GzipProblem(
                "damaged_gzip",
                f"the gzip file is damaged: {unpacked:,} bytes of text before the damage were"
                f" kept, and up to {unread:,} of its {self._total:,} packed bytes given up",
            )
        if not inflater.whole:
            return GzipProblem(
                "truncated_gzip",
                f"the gzip file ends early: all {unpacked:,} bytes of text in its {self._total:,}"
                " packed bytes were kept; it does not tell how much is missing behind them",
            )
        if inflater.padded:
            return GzipProblem(
                "padded_gzip",
                f"{unread:,} bytes that follow the end of the packed data were ignored",
            )
        return None


class Inflater:
    """Inflates gzip members one after the other, and gives out all that can be had.

    Bytes behind the last whole member are padding, whatever they are.

    Attributes:
        damaged: an error was found; nothing behind it can be read.
        whole: the last member is complete.
        padded: something else follows the last member; an engine may refuse the file for it.
        used: bytes of the file that were inflated without an error.
    """

    def __init__(self) -> None:
        self._member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
        self._held = b""
        self.padded = False
        self.damaged = False
        self.whole = False
        self.used = 0

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """Take in more of the file, yield the text it gives.

        A member's checksum is held back until everything before it is given out,
        because the decompressor keeps its output when the checksum is wrong.
        """
        packed = self._held + packed
        self._held = packed[-_CHECKSUM:]
        yield from self._decompress(packed[:-_CHECKSUM])

    def finish(self) -> Iterator[bytes]:
        """Yield what the end of the file gives."""
        yield from self._decompress(self._held)

    def _decompress(self, data: bytes) -> Iterator[bytes]:
        while data and not self.damaged and not self.padded:
            if self._member.eof:
                if not data.startswith(GZIP_MAGIC[: len(data)]):
                    self.padded = True
                    return
                self._member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
            try:
                text = self._member.decompress(data, _STEP)
                while len(text) == _STEP:
                    yield text
                    text = self._member.decompress(self._member.unconsumed_tail, _STEP)
            except GzipError:
                self.damaged = not self.whole
                return
            if text:
                yield text
            self.whole = self._member.eof
            rest = self._member.unused_data
            self.used += len(data) - len(rest)
            data = rest
