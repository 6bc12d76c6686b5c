"""What can't be written is told in one line that names it, and nothing is left behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")

_LIMITED = (
    "import resource, sys\n"
    "from perfetto_autoviz.cli import main\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
    "sys.exit(main(sys.argv[2:]))\n"
)
"""Runs the command line with a limit on the size of files, which fails as a full disk does."""


def _limited(size: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("resource")
    command = [sys.executable, "-c", _LIMITED, str(size), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@needs_full
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_device_is_never_replaced(autoviz: Run, capture: Path, force: list[str]) -> None:
    done = autoviz("annotate", capture, "-o", FULL, *force)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        f"autoviz: {FULL} is no regular file: choose another name with -o"
    ]
    assert stat.S_ISCHR(FULL.stat().st_mode)


@needs_full
def test_full_standard_output_is_named(capture: Path, tmp_path: Path) -> None:
    arguments = ["annotate", str(capture), "--json", "-o", str(tmp_path / "out.zip")]
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "perfetto_autoviz", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "autoviz: standard output: No space left on device\n",
    )


def test_full_disk_names_the_enriched_trace(capture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.zip"
    done = _limited(1000, "annotate", capture, "-o", out)
    assert (done.returncode, done.stderr) == (
        2,
        f"autoviz: can't write {out}: {os.strerror(27)}\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["captures"]


def test_full_disk_names_the_table(capture: Path, tmp_path: Path) -> None:
    table = tmp_path / "conc8_t.csv"
    done = _limited(100, "layers", capture, "--csv", table)
    assert (done.returncode, done.stderr) == (
        2,
        f"autoviz: can't write {table}: {os.strerror(27)}\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["captures"]


def test_full_disk_names_the_folder_of_synthetic_captures(tmp_path: Path) -> None:
    done = _limited(100, "synth", "vllm-gptoss20b", "--steps", 2, "-o", tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        f"autoviz: can't write to {tmp_path}: {os.strerror(27)}\n",
    )
    assert not list(tmp_path.iterdir())
