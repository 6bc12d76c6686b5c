"""Running the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from perfetto_autoviz.cli import main
from tests.cli.handmade import write_capture


class Result(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def autoviz(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs the command line; the environment's engine is used."""

    def run(*arguments: object) -> Result:
        code = main([str(argument) for argument in arguments])
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """The small capture; its folder holds nothing else."""
    folder = tmp_path / "captures"
    folder.mkdir()
    return write_capture(folder / "small.pt.trace.json")
