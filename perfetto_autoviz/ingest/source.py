"""Where the bytes of a capture lie: in a file of their own or in an archive."""

from __future__ import annotations

import contextlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.sniff import HEAD, Content, sniff, unpacked_head
from perfetto_autoviz.ingest.unpack import GZIP_MAGIC, ByteStream, Progress

ANNOTATIONS = "annotations.pftrace"
"""The member that makes a zip of two members an enriched trace."""

_Container = Literal["file", "zip", "tar"]

_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    tarfile.TarError,
    EOFError,
    NotImplementedError,
)
"""What the archive readers raise on damaged or unsupported members."""

_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC = b"ustar"
_TAR_MAGIC_AT = 257
_ENCRYPTED = 1  # first flag bit of a zip member


@dataclass(frozen=True)
class Source:
    """One capture's bytes.

    Attributes:
        path: the file given.
        member: the capture's name inside the archive, None if the file is the capture.
        size: size of the capture's bytes as stored, still packed if they are gzip.
        gzipped: whether those bytes are gzip.
        content: what they hold.
        enriched: whether the archive is an enriched trace.
        stamp: size and time of the file when it was looked at.
    """

    path: Path
    container: _Container
    member: str | None
    size: int
    gzipped: bool
    content: Content
    enriched: bool
    stamp: tuple[int, int]

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the capture's bytes as they are stored.

        Raises:
            CaptureError: they can't be read, or have changed since they were located.
        """
        with _readable(self.path):
            if _stamp(self.path) != self.stamp:
                raise CaptureError(f"{self.path} has changed while it was read; try again")
            if self.container == "file":
                with self.path.open("rb") as file:
                    yield file
            elif self.container == "zip":
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member or "") as file:
                    yield file
            else:
                with tarfile.open(self.path) as tar:
                    yield _tar_file(tar, tar.getmember(self.member or ""))

    @contextlib.contextmanager
    def stream(self, progress: Progress | None = None) -> Iterator[ByteStream]:
        """Open the capture's bytes as a stream of unpacked blocks."""
        with self.open() as file:
            yield ByteStream(file, gzipped=self.gzipped, size=self.size, progress=progress)

    def annotations(self) -> bytes | None:
        """The annotations of an enriched trace."""
        if not self.enriched:
            return None
        with _readable(self.path), zipfile.ZipFile(self.path) as archive:
            return archive.read(ANNOTATIONS)


def locate(path: Path) -> Source:
    """Find the capture in a file.

    Raises:
        CaptureError: the file is missing, unreadable, an archive of no or several
            captures, or something that is no capture; one line says which.
    """
    if path.is_dir():
        raise CaptureError(f"{path} is a directory; give a capture file")
    if not path.exists():
        raise CaptureError(f"{path} does not exist")
    if not path.is_file():
        raise CaptureError(f"{path} is no regular file; give a capture file")
    with _readable(path):
        with path.open("rb") as file:
            head = file.read(HEAD)
        if not head:
            raise CaptureError(f"{path} is empty; record or copy it again")
        if head.startswith(_ZIP_MAGICS):
            return _in_zip(path)
        text = unpacked_head(head, str(path))
        if text.startswith(_TAR_MAGIC, _TAR_MAGIC_AT):
            return _in_tar(path)
        packed = head[:2] == GZIP_MAGIC
        content = sniff(text, str(path))
        stamp = _stamp(path)
        return Source(path, "file", None, stamp[0], packed, content, False, stamp)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the operating system and the archive readers raise into one clear line."""
    try:
        yield
    except PermissionError:
        raise CaptureError(f"{path} can't be read: permission denied") from None
    except OSError as error:
        raise CaptureError(f"{path} can't be read: {error.strerror or error}") from None
    except _ARCHIVE_ERRORS as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CaptureError(f"{path} is a damaged or unsupported archive: {reason}") from None


@dataclass(frozen=True)
class _Member:
    """A regular file of an archive that may be a capture."""

    name: str
    size: int
    gzipped: bool
    content: Content


def _in_zip(path: Path) -> Source:
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        enriched = len(infos) == 2 and any(info.filename == ANNOTATIONS for info in infos)
        found = []
        for info in infos:
            if enriched and info.filename == ANNOTATIONS:
                continue
            if info.flag_bits & _ENCRYPTED:
                raise CaptureError(f"{path} is encrypted; unpack it first")
            with archive.open(info) as file:
                found += _candidate(info.filename, info.file_size, file.read(HEAD))
    return _only(path, "zip", found, enriched=enriched)


def _in_tar(path: Path) -> Source:
    found = []
    with tarfile.open(path) as tar:
        for info in tar:
            if info.isreg():
                found += _candidate(info.name, info.size, _tar_file(tar, info).read(HEAD))
    return _only(path, "tar", found, enriched=False)


def _tar_file(tar: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(info) if info.isreg() else None
    if file is None:
        raise tarfile.ReadError(f"{info.name} is no regular file")
    return file


def _candidate(name: str, size: int, head: bytes) -> list[_Member]:
    """The member if it may be a capture; side files and resource forks are passed over."""
    if Path(name).name.startswith(".") or name.startswith("__MACOSX/") or not head:
        return []
    try:
        content = sniff(unpacked_head(head, name), name)
    except CaptureError:
        return []
    return [_Member(name, size, head[:2] == GZIP_MAGIC, content)]


def _only(path: Path, container: _Container, found: list[_Member], *, enriched: bool) -> Source:
    sure = [member for member in found if member.content.sure]
    members = sure or found
    if not members:
        raise CaptureError(f"{path} is an archive without a capture in it")
    if len(members) > 1:
        names = ", ".join(sorted(member.name for member in members)[:4])
        raise CaptureError(
            f"{path} holds {len(members)} captures ({names}…); unpack it and give the ones you want"
        )
    only = members[0]
    stamp = _stamp(path)
    return Source(
        path, container, only.name, only.size, only.gzipped, only.content, enriched, stamp
    )
