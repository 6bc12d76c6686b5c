"""Starts an engine as a child process on a port of its own, and ends it in every case."""

from __future__ import annotations

import contextlib
import http.client
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from perfetto_autoviz.errors import EngineError

START_SECONDS = 30.0
"""How long an engine may take to listen; a cold disk under load needs seconds."""

_FIRST_WAIT, _LONGEST_WAIT = 0.002, 0.05  # seconds between two looks at /status
_END_SECONDS = 5.0
_PORT_ATTEMPTS = 50
_OWN_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # on Windows only
_GUARD = Path(__file__).with_name("guard.py")


class EngineProcess:
    """A running engine under its guard.

    The guard (see ``guard.py``) ends the engine when this process is gone. Both get a
    session of their own, so that Ctrl-C in a terminal reaches this process alone, which
    then ends them in order.

    Args:
        command: makes the engine's command line for a port; port 0 is given if the engine
            finds a free port itself.
        reports_port: the engine's first line on standard output is ``READY <port>``.

    Raises:
        EngineError: the engine didn't start.
    """

    def __init__(self, command: Callable[[int], list[str]], *, reports_port: bool) -> None:
        self._reservation = None if reports_port else PortReservation()
        wanted = self._reservation.port if self._reservation else 0
        line = command(wanted)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by end())
        self._process = self._spawn(line)
        try:
            self.port = wanted or self._reported_port()
            if self._reservation:
                self._wait_for_status()
        except BaseException:
            self.end()
            raise

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), *command],
                stdin=subprocess.PIPE,
                # Nobody reads on after the first line; a full pipe would stop the engine.
                stdout=self._log if self._reservation else subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
                creationflags=_OWN_GROUP,
            )
        except OSError as error:
            raise EngineError(f"{sys.executable} can't be started: {error}") from error

    def alive(self) -> bool:
        """Whether the engine is still running."""
        return self._process.poll() is None

    def wait(self, seconds: float) -> bool:
        """Waits until the engine has ended; False if it's still running after that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """The last line the engine wrote to standard error, or an empty string."""
        if self._log.closed:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def end(self) -> None:
        """Ends engine and guard and waits for them; harmless when called again."""
        self._ask_to_end()
        if not self.wait(_END_SECONDS):
            _kill_group(self._process)
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream:
                stream.close()
        if self._reservation:
            self._reservation.release()

    def _ask_to_end(self) -> None:
        # A byte, since a forked child of this process may keep the pipe itself open.
        if self._process.stdin and not self._process.stdin.closed:
            with contextlib.suppress(OSError):
                self._process.stdin.write(b".")
                self._process.stdin.close()

    def _reported_port(self) -> int:
        line = _first_line(self._process.stdout, START_SECONDS)
        word, _, port = line.partition(" ")
        if word != "READY":
            self.wait(_END_SECONDS if not line else 0)
            raise EngineError(f"the trace processor didn't start: {self.last_words() or line}")
        return int(port)

    def _wait_for_status(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        pause = _FIRST_WAIT
        while time.monotonic() < deadline:
            answers = _answers(self.port)
            if not self.alive():
                break
            if answers:
                return
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)
        raise EngineError(f"the trace processor didn't start: {self.last_words() or 'no answer'}")


class PortReservation:
    """A free TCP port that no other process of this package picks at the same time.

    The native shell can't report a port that the system chose, so one is chosen for it.
    A UDP socket bound to the same number is the mutual exclusion: it doesn't disturb the TCP
    listener, and the system releases it whenever this process ends.
    """

    def __init__(self) -> None:
        for _ in range(_PORT_ATTEMPTS):
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = int(probe.getsockname()[1])
                self._mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                try:
                    self._mark.bind(("127.0.0.1", self.port))
                except OSError:
                    self._mark.close()
                else:
                    return
        raise EngineError("no free port on 127.0.0.1 for the trace processor: end other programs")

    def release(self) -> None:
        """Gives the port back."""
        self._mark.close()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/status")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _first_line(stream: IO[bytes] | None, seconds: float) -> str:
    if stream is None:
        return ""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=lambda: lines.put(stream.readline()), daemon=True).start()
    try:
        return lines.get(timeout=seconds).decode(errors="replace").strip()
    except queue.Empty:
        return ""


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kills a guard that doesn't react, with its engine: they're a process group."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
