"""Many gzip files written side by side, with few of them open."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from perfetto_autoviz.wholefile import beside

_LEVEL = 6  # 4 packs no faster here, and 9 no smaller
_RAW = -15
_OPEN_FILES = 64
_HELD = 1 << 20
"""Text to collect for a file before it is packed: large enough to pack well."""

_HELD_TOGETHER = 64 << 20
"""Text to collect for all files together."""

# Deflate, no name, no time: the same text gives the same bytes.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


class GzipFile:
    """One gzip member, packed piece by piece.

    Each piece ends at a byte and refers to nothing before it, so that nothing of the packer
    is kept between pieces, however many files grow at the same time.

    Attributes:
        path: the file while it is written.
        held: bytes taken in and not yet packed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = 0
        self._size = 0
        self._begun = False
        self._parts: list[bytes] = []
        self._checksum = 0

    def hold(self, text: bytes) -> None:
        """Takes in text without packing it yet."""
        self._parts.append(text)
        self.held += len(text)

    def pack(self, file: IO[bytes], *, last: bool = False) -> None:
        """Packs what is held, and writes it."""
        text = b"".join(self._parts)
        self._parts, self.held = [], 0
        packer = zlib.compressobj(_LEVEL, wbits=_RAW)
        packed = packer.compress(text) + packer.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)
        self._checksum = zlib.crc32(text, self._checksum)
        self._size += len(text)
        if not self._begun:
            packed = _HEADER + packed
            self._begun = True
        if last:
            packed += struct.pack("<II", self._checksum, self._size & 0xFFFFFFFF)
        file.write(packed)


class GzipFiles:
    """Files that grow together. Use as made by `gzip_files`."""

    def __init__(self, files: Mapping[int, GzipFile]) -> None:
        self._files = files
        self._open: dict[int, IO[bytes]] = {}
        self._held = 0

    def add(self, number: int, text: bytes) -> None:
        """Adds text to a file."""
        file = self._files[number]
        file.hold(text)
        self._held += len(text)
        if file.held >= _HELD:
            self._pack(number)
        if self._held >= _HELD_TOGETHER:
            for other, each in self._files.items():
                if each.held:
                    self._pack(other)

    def finish(self) -> None:
        """Ends all files."""
        for number in self._files:
            self._pack(number, last=True)
            self._close(number)

    def close(self) -> None:
        """Closes what is open."""
        for number in list(self._open):
            self._close(number)

    def _pack(self, number: int, *, last: bool = False) -> None:
        file = self._files[number]
        self._held -= file.held
        file.pack(self._opened(number), last=last)

    def _opened(self, number: int) -> IO[bytes]:
        if number in self._open:
            self._open[number] = self._open.pop(number)  # now the latest used
            return self._open[number]
        if len(self._open) >= _OPEN_FILES:
            self._close(next(iter(self._open)))
        self._open[number] = self._files[number].path.open("ab")
        return self._open[number]

    def _close(self, number: int) -> None:
        opened = self._open.pop(number, None)
        if opened:
            opened.close()


@contextmanager
def gzip_files(targets: Mapping[int, Path]) -> Iterator[GzipFiles]:
    """Writes files side by side; they appear at the end, all of them or none.

    Args:
        targets: the files; those that exist are replaced.
    """
    files = {number: GzipFile(beside(target)) for number, target in targets.items()}
    writer = GzipFiles(files)
    try:
        for file in files.values():
            file.path.unlink(missing_ok=True)
        yield writer
        writer.finish()
        for number, file in files.items():
            file.path.replace(targets[number])
    finally:
        writer.close()
        for file in files.values():
            file.path.unlink(missing_ok=True)
