"""The enriched trace: one zip of a capture and its annotation tracks.

The limits here are those of the trace processor's own zip reader (Perfetto,
src/trace_processor/util/zip_reader.cc): it refuses ZIP64 and a third member of any kind,
and older releases refuse the flag that marks a name as UTF-8.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from perfetto_autoviz.closing import Closing
from perfetto_autoviz.errors import CaptureError, UsageError
from perfetto_autoviz.wholefile import beside

ANNOTATIONS_MEMBER = "annotations.pftrace"
"""Name of the second member."""

# What zipfile writes without ZIP64, in bytes of one member before and after compression.
MAX_MEMBER_SIZE = 2**31 - 1

_LEVEL = 1  # 6 takes three times as long for a file that is a fifth to a quarter smaller
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can tell; same input, same bytes
_UNIX = 3
_MODE = 0o644


class EnrichedWriter(Closing):
    """An enriched trace on its way into a file, which appears whole or not at all.

    The capture is packed in a thread of its own, while what will be its annotations is still
    worked on. A context manager: what isn't finished when it ends is thrown away.
    """

    def __init__(
        self, out: Path, member_name: str, capture: Iterable[bytes], *, already_compressed: bool
    ) -> None:
        """Begins to pack.

        Args:
            out: the file to write; one that exists is replaced.
            member_name: name of the capture; what can't stand in the archive is replaced by
                ``_``.
            capture: the capture's bytes.
            already_compressed: whether they are gzip already, so that they're stored as they are.

        Raises:
            UsageError: the folder of `out` doesn't exist.
        """
        if not out.parent.is_dir():
            raise UsageError(f"there's no folder {out.parent} to write {out.name} to")
        self.out = out
        self._beside = beside(out)
        self._given_up = False
        self._archive = ZipFile(self._beside, "w")
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._packing = self._worker.submit(
            _add,
            self._archive,
            safe_member_name(member_name),
            self._until_given_up(capture),
            already_compressed,
        )

    def finish(self, annotations: bytes) -> None:
        """Adds the annotations that `build_annotations` made, and lets the file appear.

        Raises:
            CaptureError: the capture is too large for a zip that a trace processor reads.
        """
        self._packing.result()
        _add(self._archive, ANNOTATIONS_MEMBER, [annotations], stored=False)
        self._archive.close()
        self._beside.replace(self.out)

    def close(self) -> None:
        """Throws away what isn't finished; harmless afterwards."""
        self._given_up = True
        self._worker.shutdown()
        with contextlib.suppress(OSError):
            self._archive.close()
        self._beside.unlink(missing_ok=True)

    def _until_given_up(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if self._given_up:
                return
            yield chunk


def write_enriched(
    out: Path,
    member_name: str,
    capture: Iterable[bytes],
    annotations: bytes,
    *,
    already_compressed: bool,
) -> None:
    """Writes an enriched trace at once; arguments and errors as of `EnrichedWriter`."""
    with EnrichedWriter(out, member_name, capture, already_compressed=already_compressed) as writer:
        writer.finish(annotations)


def safe_member_name(name: str) -> str:
    """The name under which a capture is stored: its last part, in printable ASCII."""
    last = PurePosixPath(name.replace("\\", "/")).name or "capture"
    ascii_only = "".join(char if " " <= char <= "~" else "_" for char in last)
    return f"capture-{ascii_only}" if ascii_only == ANNOTATIONS_MEMBER else ascii_only


def _add(archive: ZipFile, name: str, chunks: Iterable[bytes], stored: bool) -> None:
    info = ZipInfo(name, _DATE)
    info.compress_type = ZIP_STORED if stored else ZIP_DEFLATED
    info.create_system = _UNIX
    info.external_attr = _MODE << 16
    _set_level(info)
    size = 0
    with archive.open(info, "w") as member:
        for chunk in chunks:
            size += len(chunk)
            if size > MAX_MEMBER_SIZE:
                raise CaptureError(
                    f"{name} is larger than 2 GiB, which a trace processor can't read"
                    " from a zip: compress it with gzip first"
                )
            member.write(chunk)


def _set_level(info: ZipInfo) -> None:
    # The attribute lost its underscore in Python 3.13.
    name = "compress_level" if hasattr(info, "compress_level") else "_compresslevel"
    setattr(info, name, _LEVEL)
