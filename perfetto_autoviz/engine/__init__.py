"""Finds, fetches and runs a trace processor: native first, WebAssembly as the fallback."""

from perfetto_autoviz.engine.engine import Engine, start_engine
from perfetto_autoviz.engine.heap import estimate_heap, fits
from perfetto_autoviz.engine.stats import Judgement, Stat, judge

__all__ = ["Engine", "Judgement", "Stat", "estimate_heap", "fits", "judge", "start_engine"]
