"""Splitting captures in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.loading import OpenOptions
from perfetto_autoviz.opening import open_capture, run_id
from perfetto_autoviz.splitting import SplitOptions, Wanted, split

Cutter = Callable[..., dict[str, Any]]


@pytest.fixture
def cutter(tmp_path: Path) -> Cutter:
    """Splits one capture into ``tmp_path / "cuts"`` and returns the manifest."""

    def run(capture: Path, *, compact: bool = False, **wanted: Any) -> dict[str, Any]:
        found = find_captures([capture])
        options = SplitOptions(tmp_path / "cuts", Wanted(**wanted), compact=compact, force=True)
        with open_capture(found[0], OpenOptions(), run_id(found)) as session:
            return split([session], found, options, OpenOptions()).manifest

    return run
