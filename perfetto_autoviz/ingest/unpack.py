"""Gzip as a stream that gives up nothing whole when the file ends early."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import IO

from isal import isal_zlib

BLOCK = 4 << 20
"""Text is handled in blocks of this size: large enough to make the work per block cheap,
small enough that the decoded events of one block stay far below 100 MB."""

_COMPRESSED_BLOCK = 1 << 18
_GZIP_WINDOW = 31  # 15 bits, plus 16 for the gzip wrapper

GZIP_MAGIC = b"\x1f\x8b"

# The package's stub declares an instance where it has the class.
GzipError: type[Exception] = isal_zlib.error  # type: ignore[assignment]

Progress = Callable[[int, int], None]


class ByteStream:
    """Blocks of unpacked text, with what was learned about the bytes behind it.

    Attributes:
        size: bytes of unpacked text given out so far.
        problem: ``truncated_gzip`` or ``damaged_gzip``, once that showed.
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
        self.problem: str | None = None

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
        """Inflate all gzip members; zeros or other bytes behind the last are padding."""
        member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
        whole = False
        for packed in self._packed(_COMPRESSED_BLOCK):
            data = packed
            while data or not member.eof:
                if member.eof:
                    member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
                try:
                    text = member.decompress(data, _COMPRESSED_BLOCK)
                except GzipError:
                    if not whole:
                        self.problem = "damaged_gzip"
                    return
                yield text
                whole = member.eof
                data = member.unused_data if whole else member.unconsumed_tail
                if not data and len(text) < _COMPRESSED_BLOCK:
                    break
        if not whole:
            self.problem = "truncated_gzip"
