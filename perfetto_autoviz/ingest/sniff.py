"""Tell what a file is by its first bytes, whatever its name says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.unpack import GZIP_MAGIC, Inflater

HEAD = 1 << 16
"""Bytes to look at: a torch capture names its devices and its events well within."""

BOM = b"\xef\xbb\xbf"

_PACKET_TAG = 0x0A  # field 1 of a Perfetto trace: a packet, length-delimited


@dataclass(frozen=True)
class Content:
    """What a file holds.

    ``sure`` says that the head shows events, and not only that it might be followed by some.
    """

    kind: Literal["json", "pftrace"]
    sure: bool


@dataclass(frozen=True)
class _NoCapture:
    """A kind of file people give by mistake: how its head looks, and what to say."""

    pattern: re.Pattern[bytes]
    message: str


def _no(pattern: bytes, message: str) -> _NoCapture:
    return _NoCapture(re.compile(pattern, re.DOTALL | re.IGNORECASE), message)


_NSYS = "export it as Chrome JSON, or record with torch.profiler: nsys files are not yet supported"
_ROCPROF = "record with torch.profiler: rocprofv3 files are not yet supported"
WHAT_TO_GIVE = (
    'give what torch.profiler\'s export_chrome_trace wrote: {… "traceEvents": [{"ph": "X", "cat":'
    ' "kernel", …'
)
"""How every refusal of a file that no profiler wrote ends."""

_NO_CAPTURES = (
    # version https://git-lfs.github.com/spec/v1
    _no(
        rb"version https://git-lfs\.github\.com/spec/",
        "is a Git LFS pointer, not the file itself; run `git lfs pull`",
    ),
    # <!DOCTYPE html><html lang="en">
    _no(
        rb"\s*<(?:!doctype html|html|\?xml|head|body)",
        "is a web page, probably a login or error page; download the raw file",
    ),
    # SQLite format 3\0
    _no(rb"SQLite format 3\x00", f"is an nsys SQLite export; {_NSYS}"),
    # {"rocprofiler-sdk-tool":[{"metadata":{"node":{"id":0,
    _no(rb"\s*\{\s*\"rocprofiler-sdk-tool\"", f"is a rocprofv3 JSON file; {_ROCPROF}"),
    # "Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",
    _no(
        rb"\s*\"?(?:Kind|Dispatch_ID|Correlation_Id|Domain)\"?,\"?[A-Za-z]",
        f"is a rocprofv3 CSV file; {_ROCPROF}",
    ),
    # Start (ns),Duration (ns),CorrId,GrdX   and   Start (ns),End (ns),Duration (ns),DurChild (ns)
    _no(rb"[^\n{\[]*(?:Start|Timestamp) \(ns\)[^\n]*,", f"is an nsys CSV file; {_NSYS}"),
    # {"schema": "1.0.3-chakra.0.0.4", "pid": 37440, "time": "2023-09-13", "nodes": [
    _no(
        rb"\s*\{(?=.*\"schema\"\s*:\s*\"[\d.]+)(?=.*\"nodes\"\s*:\s*\[)(?!.*\"traceEvents\")",
        "is an execution trace, which holds no device activity; give the trace beside it",
    ),
    # {"segments": [{"device": 0, "address": 140061..., ...  {"device_traces": [[{"action": "alloc",
    _no(
        rb"\s*\{\s*\"(?:segments|device_traces|allocator_settings)\"\s*:",
        "is a memory snapshot, which holds no kernels; give the profiler's trace",
    ),
    # [[1700000000000, 1700000000020], [[0, 0, 0, 512], [0, 0,   and   [[-1, 0, 2097152, 0], [-1, 0,
    _no(
        rb"\s*\[\s*\[\s*-?\d",
        "is a memory timeline, which holds no kernels; give the profiler's trace",
    ),
    # a pickled memory snapshot begins with protocol 2 to 5
    _no(
        rb"\x80[\x02-\x05]",
        "is a Python pickle, probably a memory snapshot; give the profiler's trace",
    ),
    _no(rb"\x28\xb5\x2f\xfd", "is packed with zstd; unpack it first"),
    _no(rb"\xfd7zXZ\x00", "is packed with xz; unpack it first"),
    _no(rb"BZh[1-9]", "is packed with bzip2; unpack it first"),
    _no(rb"PK\x03\x04", "is a zip inside another archive; unpack it once"),
    _no(rb"7z\xbc\xaf", "is a 7z archive; unpack it first"),
    _no(rb"(?:\xff\xfe|\xfe\xff)", "is UTF-16 text; save it as UTF-8"),
    # {"ph": "X", "cat": "kernel", ...}\n{"ph": "X", ...
    _no(
        rb"\s*\{(?!.*\"traceEvents\")[^\n]*\"ph\"\s*:[^\n]*\}\s*\n\s*\{",
        "holds one JSON object per line, which no trace viewer reads; put them into a list",
    ),
    # [build-system]\nrequires = [   and   [INFO] started {"loss": 1.0}   and   [{"id": 1, "box": [
    # An empty list, or one that ends in its first event, is what a profiler leaves that recorded
    # nothing or was killed.
    _no(
        rb"\s*\[(?!\s*(?:\]|\{[^}]*\Z|\Z))(?!.*\"(?:ph|dur)\"\s*:)",
        f"is no capture: it begins like a list, but not of events; {WHAT_TO_GIVE}",
    ),
)

_EVENTS = re.compile(rb'"traceEvents"\s*:|^\s*\[\s*\{.*"ph"\s*:', re.DOTALL)


def sniff(head: bytes, name: str) -> Content:
    """Tell what a file holds from its first ``HEAD`` bytes.

    Args:
        head: the bytes after unpacking gzip, see ``unpacked_head``.
        name: the file's name, for the error.

    Raises:
        CaptureError: it is no capture; the line says what it seems to be.
    """
    text = head.removeprefix(BOM)
    for case in _NO_CAPTURES:
        if case.pattern.match(text):
            raise CaptureError(f"{name} {case.message}")
    first = text.lstrip()[:1]
    if first in (b"{", b"["):
        return Content("json", _EVENTS.search(text) is not None)
    if _begins_with_packet(head):
        return Content("pftrace", sure=True)
    raise CaptureError(f"{name} {_unknown(text, name)}")


def _unknown(text: bytes, name: str) -> str:
    if name.endswith((".nsys-rep", ".qdrep", ".qdstrm")):
        return f"is an nsys report; {_NSYS}"
    if not text.strip(b" \t\r\n\x00"):
        return "holds nothing but blanks; record or copy it again"
    return f"is no capture: neither JSON nor a Perfetto trace; {WHAT_TO_GIVE}"


def unpacked_head(head: bytes, name: str) -> bytes:
    """The first bytes of a file's text, unpacked if they are gzip.

    Raises:
        CaptureError: the gzip holds nothing.
    """
    if head[:2] != GZIP_MAGIC:
        return head
    text = b"".join(islice(Inflater().feed(head), 1))[:HEAD]
    if not text:
        raise CaptureError(f"{name} is a gzip file that is empty or broken from its start")
    return text


def _begins_with_packet(head: bytes) -> bool:
    """Whether the first two packets of a Perfetto trace follow each other."""
    position = 0
    for _ in range(2):
        if position >= len(head):
            return position > 0
        if head[position] != _PACKET_TAG:
            return False
        length = shift = 0
        for byte in head[position + 1 : position + 6]:
            length |= (byte & 0x7F) << shift
            shift += 7
            position += 1
            if byte < 0x80:
                break
        else:
            return False
        position += 1 + length
    return True
