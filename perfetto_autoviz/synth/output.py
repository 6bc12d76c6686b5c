"""Files that appear whole or not at all, with the same bytes for the same content."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from isal import igzip

COMPRESSION = 2
"""Level of the gzip writer: nearly as fast as none, a tenth of the size."""


@dataclass
class Output:
    """A file being written beside its final place.

    Attributes:
        path: the final place.
        stream: where to write.
    """

    path: Path
    stream: IO[bytes]
    _file: IO[bytes]
    _partial: Path

    def commit(self, tail: bytes) -> None:
        """Write the last bytes, close the file and move it to its place; else discard it."""
        try:
            self.stream.write(tail)
            self._close()
            self._partial.replace(self.path)
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Close the file and remove it, also where closing fails as the disk is full."""
        with contextlib.suppress(OSError):
            self._close()
        self._partial.unlink(missing_ok=True)

    def _close(self) -> None:
        try:
            if self.stream is not self._file:
                self.stream.close()
        finally:
            self._file.close()


def open_output(path: Path) -> Output:
    """Open a file for writing; gzipped if its name ends in ``.gz``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    file = partial.open("wb", buffering=1 << 20)
    stream: IO[bytes] = file
    if path.suffix == ".gz":
        # No name and no time in the header: the same content gives the same bytes.
        open_gzip: Callable[..., Any] = igzip.IGzipFile
        stream = open_gzip(filename="", mode="wb", fileobj=file, compresslevel=COMPRESSION, mtime=0)
    return Output(path, stream, file, partial)
