"""Engines end in every case, and their end is told in one line."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perfetto_autoviz.engine import Engine, start_engine, webassembly
from perfetto_autoviz.engine.process import EngineProcess
from perfetto_autoviz.errors import EngineError

from .conftest import descendants, engine_pid, exists
from .test_engine import ENDLESS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="uses POSIX signals")

OWNER = """
import sys
from perfetto_autoviz.engine import start_engine
engine = start_engine(sys.argv[1])
try:
    print("ready", flush=True)
    engine.query(sys.argv[2])
    sys.stdin.read()
except KeyboardInterrupt:
    print("rows", len(engine.query("SELECT 1 AS a")), flush=True)
    if sys.argv[3] == "raise":
        raise
"""


@contextmanager
def owner(
    engine: Path, sql: str, end: str = ""
) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A Python process with an engine, and the processes below it."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(engine), sql, end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    below = descendants(process.pid)
    assert len(below) == 2, "a guard and an engine"
    try:
        yield process, below
    finally:
        process.kill()
        process.communicate()


def gone(pids: list[int], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(map(exists, pids)):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("sql", ["SELECT 1 AS a", ENDLESS], ids=["idle", "in a query"])
def test_engine_ends_when_python_is_killed(wasm_folder: Path, sql: str) -> None:
    with owner(wasm_folder, sql) as (process, below):
        time.sleep(0.2)
        process.kill()
        assert gone(below)


def test_engine_ends_when_python_ends_without_closing(wasm_folder: Path) -> None:
    with owner(wasm_folder, "SELECT 1 AS a") as (process, below):
        process.communicate("")
        assert process.returncode == 0
        assert gone(below)


def test_ctrl_c_reaches_python_and_leaves_the_engine(wasm_folder: Path) -> None:
    with owner(wasm_folder, "SELECT 1 AS a") as (process, below):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole foreground group
        assert process.stdout is not None
        assert process.stdout.readline() == "rows 1\n"
        process.communicate("")
        assert gone(below)


def test_ctrl_c_that_nobody_catches(wasm_folder: Path) -> None:
    with owner(wasm_folder, "SELECT 1 AS a", "raise") as (process, below):
        os.killpg(process.pid, signal.SIGINT)
        process.wait(10)
        assert gone(below)


def test_engine_ends_on_an_exception(wasm_folder: Path) -> None:
    def fails() -> None:
        with start_engine(str(wasm_folder)):
            pids.append(engine_pid())
            raise ZeroDivisionError

    pids: list[int] = []
    with pytest.raises(ZeroDivisionError):
        fails()
    assert pids
    assert gone(pids)


def test_death_in_mid_query(fresh_engine: Engine) -> None:
    victim = engine_pid()
    threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
    begin = time.monotonic()
    with pytest.raises(EngineError, match="trace processor died") as first:
        fresh_engine.query(ENDLESS)
    assert time.monotonic() - begin < 5
    assert "\n" not in str(first.value)
    with pytest.raises(EngineError) as later:
        fresh_engine.query("SELECT 1 AS a")
    assert str(later.value) == str(first.value)


def test_death_during_a_load(fresh_engine: Engine) -> None:
    victim = engine_pid()

    def source() -> Iterator[bytes]:
        yield b"[" + b" " * (4 * 2**20)
        os.kill(victim, signal.SIGKILL)
        yield b" " * (4 * 2**20)

    with pytest.raises(EngineError, match="trace processor died"):
        fresh_engine.load(source())


def test_an_abort_inside_the_engine(wasm_folder: Path) -> None:
    process = EngineProcess(lambda port: webassembly.command(wasm_folder, port), reports_port=True)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", process.port)
        connection.request("POST", "/rpc", bytes(16))  # no RPC message: the channel breaks
        connection.getresponse().read()
        connection.request("GET", "/status")
        response = connection.getresponse()
        assert response.status == http.client.INTERNAL_SERVER_ERROR
        assert b"\n" not in response.read().strip()
        assert process.wait(5)
    finally:
        process.end()


def test_a_native_engine_that_dies(stub_shell: Path) -> None:
    with start_engine(str(stub_shell)) as engine:
        with pytest.raises(EngineError, match="native trace processor died"):
            engine.query("die")
        with pytest.raises(EngineError, match="native trace processor died"):
            engine.query("SELECT 1")


def test_an_engine_whose_heap_is_full(stub_shell: Path) -> None:
    with start_engine(str(stub_shell)) as engine:
        for _ in range(2):
            with pytest.raises(EngineError, match=r"died \(heap is full\)"):
                engine.query("full")
