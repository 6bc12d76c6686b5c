"""Turns GPU captures of LLM inference into enriched Perfetto traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfetto_autoviz.errors import (
    AutovizError,
    CaptureError,
    EngineError,
    QueryError,
    UsageError,
)

if TYPE_CHECKING:
    from perfetto_autoviz.comparison.api import compare
    from perfetto_autoviz.opening import open_trace
    from perfetto_autoviz.rankset import RankSet
    from perfetto_autoviz.session import Session

__all__ = [
    "AutovizError",
    "CaptureError",
    "EngineError",
    "QueryError",
    "RankSet",
    "Session",
    "UsageError",
    "compare",
    "open_trace",
]

_HOMES = {
    "compare": "comparison.api",
    "open_trace": "opening",
    "RankSet": "rankset",
    "Session": "session",
}


def __getattr__(name: str) -> Any:
    """Imports what needs pandas only when it is used."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
