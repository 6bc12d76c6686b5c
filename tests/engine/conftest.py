"""A running engine for the tests of this room, and the processes below one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfetto_autoviz.engine import Engine, start_engine, webassembly
from perfetto_autoviz.errors import EngineError

TINY_TRACE = (
    b'{"traceEvents":['
    b'{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":5.5},'
    b'{"ph":"X","cat":"kernel","name":"softmax","pid":0,"tid":7,"ts":20,"dur":2}]}'
)


@pytest.fixture(scope="session")
def wasm_folder() -> Path:
    """The WebAssembly engine's files."""
    try:
        return webassembly.cached_or_fetched()
    except EngineError as error:
        pytest.skip(f"no WebAssembly engine: {error}")


@pytest.fixture(scope="module")
def engine(wasm_folder: Path) -> Iterator[Engine]:
    """An engine with a trace of two kernels, shared by the tests of a file."""
    with start_engine(str(wasm_folder)) as running:
        running.load([TINY_TRACE])
        yield running


@pytest.fixture
def fresh_engine(wasm_folder: Path) -> Iterator[Engine]:
    """An engine without a trace, for tests that break it."""
    with start_engine(str(wasm_folder)) as running:
        yield running


@pytest.fixture
def stub_shell(tmp_path: Path) -> Path:
    """An executable that stands for a native shell, see ``stub_shell.py``."""
    script = tmp_path / "trace_processor_shell"
    program = Path(__file__).with_name("stub_shell.py")
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{program}" "$@"\n')
    script.chmod(0o755)
    return script


def descendants(pid: int) -> list[int]:
    """The processes below one, parents first; Linux only."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("finds processes through /proc")
    found: list[int] = []
    for child in Path(f"/proc/{pid}/task").glob("*/children"):
        for number in map(int, child.read_text().split()):
            found += [number, *descendants(number)]
    return found


def exists(pid: int) -> bool:
    """Whether a process runs; a zombie doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def engine_pid() -> int:
    """The newest engine below this process: the last child of the last guard."""
    return descendants(os.getpid())[-1]
