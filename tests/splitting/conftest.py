"""Splitting captures in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.loading import OpenOptions
from perfetto_autoviz.opening import open_capture, run_id
from perfetto_autoviz.session import Session
from perfetto_autoviz.splitting import SplitOptions, Wanted, split

Cutter = Callable[..., dict[str, Any]]


def split_session(session: Session, folder: Path, **wanted: Any) -> list[dict[str, Any]]:
    """Splits a capture that is open, and returns what the manifest says of the files."""
    options = SplitOptions(folder, Wanted(**wanted))
    found = find_captures([session.capture.path])
    files: list[dict[str, Any]] = split([session], found, options, OpenOptions()).manifest["files"]
    return files


@pytest.fixture
def cutter(tmp_path: Path) -> Cutter:
    """Splits one capture into ``tmp_path / "cuts"`` and returns the manifest."""

    def run(capture: Path, *, compact: bool = False, **wanted: Any) -> dict[str, Any]:
        found = find_captures([capture])
        options = SplitOptions(tmp_path / "cuts", Wanted(**wanted), compact=compact, force=True)
        with open_capture(found[0], OpenOptions(), run_id(found)) as session:
            return split([session], found, options, OpenOptions()).manifest

    return run
