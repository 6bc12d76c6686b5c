"""Cuts and joins the pieces of a trace to a size that suits the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LARGEST = 32 * 2**20
"""Bytes per request: half of the 64 MiB at which the engine's message buffer breaks."""
SMALLEST = 2 * 2**20
"""Bytes per request that make the cost of a request itself (about 1 ms) vanish."""


def rechunked(chunks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """Yields the same bytes in pieces of `SMALLEST` to `LARGEST`; the last may be smaller."""
    waiting: list[bytes] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= SMALLEST:
            yield from _cut(waiting)
            waiting, size = [], 0
    if size:
        yield from _cut(waiting)


def _cut(waiting: list[bytes]) -> Iterator[bytes | memoryview]:
    whole = waiting[0] if len(waiting) == 1 else b"".join(waiting)
    if len(whole) <= LARGEST:
        yield whole
        return
    view = memoryview(whole)
    for start in range(0, len(view), LARGEST):
        yield view[start : start + LARGEST]
