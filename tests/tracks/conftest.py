"""An engine for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from perfetto_autoviz.engine import Engine, start_engine
from perfetto_autoviz.tracks.source_sql import source_modules

Load = Callable[[bytes], Engine]


@pytest.fixture
def load() -> Iterator[Load]:
    """Loads a trace into an engine of its own, with the shipped source modules."""
    engines: list[Engine] = []

    def loaded(trace: bytes) -> Engine:
        engine = start_engine(trace_bytes=len(trace))
        engines.append(engine)
        engine.load([trace])
        engine.register_package("autoviz", source_modules())
        return engine

    yield loaded
    for engine in engines:
        engine.close()
