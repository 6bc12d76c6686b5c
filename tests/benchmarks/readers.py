"""Whether the fast readers of gzip and JSON pay off against the standard library's."""

from __future__ import annotations

import gzip
import json
import statistics
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import orjson
from isal import isal_zlib

from perfetto_autoviz.ingest.events import Event

REPEAT = 3
_GZIP_WINDOW = 31  # 15 bits, plus 16 for the gzip wrapper


class Trace(msgspec.Struct, rename={"events": "traceEvents"}):
    """A capture, of which only what the scan needs is read."""

    events: list[Event]


_typed = msgspec.json.Decoder(Trace)


def compare(path: Path) -> dict[str, float]:
    """Seconds of each reader on the same bytes, the median of a few runs.

    Args:
        path: a gzip capture.
    """
    packed = path.read_bytes()
    text = gzip.decompress(packed)
    jobs: dict[str, Callable[[], object]] = {
        "gzip: zlib": lambda: zlib.decompressobj(_GZIP_WINDOW).decompress(packed),
        "gzip: isal": lambda: isal_zlib.decompressobj(_GZIP_WINDOW).decompress(packed),
        "JSON: json, all of each event": lambda: json.loads(text),
        "JSON: orjson, all of each event": lambda: orjson.loads(text),
        "JSON: msgspec, the six fields of the scan": lambda: _typed.decode(text),
    }
    return {name: _median_seconds(job) for name, job in jobs.items()}


def _median_seconds(job: Callable[[], object]) -> float:
    return statistics.median(_seconds(job) for _ in range(REPEAT))


def _seconds(job: Callable[[], object]) -> float:
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin
