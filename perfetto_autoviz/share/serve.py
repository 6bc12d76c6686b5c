"""Serves one file once, on this machine only."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from perfetto_autoviz.closing import Closing
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.share.link import UI_ORIGIN, UI_PORT, file_url

HOST = "127.0.0.1"

_log = logging.getLogger(__name__)

_CHUNK = 1 << 20
# How long a client may stay silent before its connection is given up, in seconds.
_SILENCE = 60.0
# How long it may take to hang up after the last byte, in seconds.
_HANG_UP = 5.0
_LOOK_AGAIN = 0.2


class OneFileServer(Closing):
    """Offers one file until it was read completely once. A context manager.

    Attributes:
        port: where it listens.
        url: address of the file.
    """

    port: int
    url: str

    def __init__(self, path: Path, port: int = UI_PORT) -> None:
        """Starts to listen.

        Args:
            path: the file.
            port: 0 takes a free one; the page only reads from the default one.

        Raises:
            UsageError: there's no such file, or the port is taken.
        """
        if not path.is_file():
            raise UsageError(f"there's no file {path}: check the path")
        try:
            self._server = _Server(path, port)
        except OSError as error:
            raise UsageError(
                f"port {port} on {HOST} can't be used ({error.strerror or error}): end the program"
                " that uses it, e.g. another trace processor, and try again"
            ) from error
        self.port = self._server.server_address[1]
        self.url = file_url(path.name, self.port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_AGAIN,), daemon=True
        )
        self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the file was read; Ctrl-C ends the wait as usual.

        Args:
            timeout: how long to wait at most, in seconds.

        Returns:
            Whether it was read completely.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._server.delivered.is_set():
            left = _LOOK_AGAIN if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            # In short steps, because a wait without end can't be interrupted on every system.
            self._server.delivered.wait(min(left, _LOOK_AGAIN))
        return True

    def close(self) -> None:
        """Stops to listen; closing again is harmless."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    # A second program on the port must fail, not take turns with this one. Where the system
    # isn't POSIX, reusing an address means just that.
    allow_reuse_address = os.name == "posix"
    allow_reuse_port = False
    daemon_threads = True

    def __init__(self, path: Path, port: int) -> None:
        self.path = path
        self.delivered = threading.Event()
        super().__init__((HOST, port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A request that failed, e.g. because the file is gone: the client sees that itself."""
        _log.debug("a request from %s failed", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENCE
    # Nothing about this machine is told.
    server_version = "autoviz"
    sys_version = ""

    def do_GET(self) -> None:
        if not self._is_the_file():
            self._answer(HTTPStatus.NOT_FOUND)
            return
        with self.server.path.open("rb") as file:
            self._answer(HTTPStatus.OK, _size(file))
            try:
                shutil.copyfileobj(file, self.wfile, _CHUNK)
                self._await_end()
            except (ConnectionError, TimeoutError):
                return  # The page gave up; it may try again.
        self.server.delivered.set()

    def do_HEAD(self) -> None:
        if self._is_the_file():
            self._answer(HTTPStatus.OK, self.server.path.stat().st_size)
        else:
            self._answer(HTTPStatus.NOT_FOUND)

    def do_OPTIONS(self) -> None:
        self._answer(HTTPStatus.NO_CONTENT if self._is_the_file() else HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (name of the base)
        """Says nothing: standard error belongs to the command."""

    def _is_the_file(self) -> bool:
        return unquote(urlsplit(self.path).path) == f"/{self.server.path.name}"

    def _await_end(self) -> None:
        """Waits until the client hangs up.

        What is sent may still lie in the system's buffers: a client that has read all of it
        closes the connection, one that gave up resets it.
        """
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(_HANG_UP)
        with contextlib.suppress(TimeoutError):
            while self.connection.recv(_CHUNK):
                pass

    def _answer(self, status: HTTPStatus, size: int = 0) -> None:
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", UI_ORIGIN)
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
        self.send_header("Access-Control-Allow-Headers", "*")
        # A public page reads from a private address: browsers ask for leave first.
        self.send_header("Access-Control-Allow-Private-Network", "true")
        self.send_header("Cache-Control", "no-store")
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(size))
        self.end_headers()


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size
