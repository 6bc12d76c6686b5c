"""Whether a trace fits into an engine, judged before it's started.

Measured on the WebAssembly engine v55.3 with Kineto-like JSON: 27, 268, 806 and 1346 MiB of
unpacked text took a heap of 149, 771, 2029 and 3473 MiB.
"""

from __future__ import annotations

from perfetto_autoviz.engine.find import Kind

HEAP_PER_BYTE = 2.6
"""Bytes of heap per byte of unpacked trace."""
HEAP_BASE = 80 * 2**20
"""Bytes of heap of an engine without a trace."""
WASM_HEAP = 4 * 2**30
"""Bytes that a 32-bit WebAssembly engine can address."""
QUERY_RESERVE = 256 * 2**20
"""Bytes left for views, pushed tables and queries."""


def estimate_heap(unpacked_bytes: int) -> int:
    """The heap in bytes that a trace of this unpacked size will take."""
    return HEAP_BASE + int(HEAP_PER_BYTE * unpacked_bytes)


def fits(unpacked_bytes: int, kind: Kind) -> bool:
    """Whether a trace of this unpacked size can be loaded.

    A native engine is bounded by the machine only, which may swap: there, always.
    """
    return kind == "native" or estimate_heap(unpacked_bytes) <= WASM_HEAP - QUERY_RESERVE
