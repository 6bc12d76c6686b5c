"""What an engine is told before it loads a capture."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from perfetto_autoviz import loading
from perfetto_autoviz.errors import EngineError
from tests.ingest.broken import bytes_of


@pytest.mark.parametrize("packed", [False, True])
def test_an_engine_is_told_the_size_of_its_trace(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def refuse(_: str | None, *, trace_bytes: int) -> None:
        told.append(trace_bytes)
        raise EngineError("no engine")

    monkeypatch.setattr(loading, "start_engine", refuse)
    text = bytes_of()
    path = tmp_path / "capture.json"
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(EngineError, match="no engine"):
        loading.load_capture(path, loading.OpenOptions(), loading.Memory())
    assert told == [path.stat().st_size * (loading.USUAL_PACKING if packed else 1)]
