"""Finds, fetches and runs a trace processor: native first, WebAssembly as the fallback."""

from perfetto_autoviz.engine.engine import Engine, start_engine
from perfetto_autoviz.engine.stats import Stat

__all__ = ["Engine", "Stat", "start_engine"]
