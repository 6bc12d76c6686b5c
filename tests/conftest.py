"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real captures, which is not part of the project."""
    folder = Path(os.environ.get("AUTOVIZ_CAPTURES", ROOT.parent / "shared" / "traces"))
    if not (folder / "llm_serving").is_dir():
        pytest.skip(f"the real captures are not at {folder}; set AUTOVIZ_CAPTURES to run this test")
    return folder
