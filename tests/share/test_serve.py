from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.share.serve import OneFileServer

CONTENT = bytes(range(256)) * 40_000  # 10 MB: more than the system's buffers take
NAME = "my trace – é.zip"
ORIGIN = "https://ui.perfetto.dev"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_bytes(CONTENT)
    (tmp_path / "secret.txt").write_text("secret")
    return path


@pytest.fixture
def server(file: Path) -> Iterator[OneFileServer]:
    with OneFileServer(file, port=0) as running:
        yield running


def ask(
    server: OneFileServer, method: str, path: str = f"/{quote(NAME)}", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_one_complete_read_ends_the_wait(server: OneFileServer) -> None:
    assert not server.wait(0.01)
    response, body = ask(server, "GET", Origin=ORIGIN)
    assert response.status == 200
    assert body == CONTENT
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert response.headers["Content-Length"] == str(len(CONTENT))
    assert server.wait(10)


def test_a_head_and_a_preflight_are_answered_and_do_not_end_it(server: OneFileServer) -> None:
    response, body = ask(server, "HEAD")
    assert (response.status, body) == (200, b"")
    assert response.headers["Content-Length"] == str(len(CONTENT))
    response, _ = ask(
        server,
        "OPTIONS",
        **{
            "Origin": ORIGIN,
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Private-Network": "true",
        },
    )
    assert response.status == 204
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert response.headers["Access-Control-Allow-Private-Network"] == "true"
    assert not server.wait(0.1)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/secret.txt",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "//secret.txt",
        f"/x/{quote(NAME)}",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_there_is_nothing_else(server: OneFileServer, method: str, path: str) -> None:
    response, body = ask(server, method, path)
    assert (response.status, body) == (404, b"")
    assert not server.wait(0.01)


def test_other_methods_are_refused(server: OneFileServer) -> None:
    assert ask(server, "POST")[0].status == 501
    assert not server.wait(0.01)


def test_only_this_machine_can_connect(server: OneFileServer) -> None:
    assert server._server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("size", [1000, len(CONTENT)])
def test_after_an_aborted_read_it_waits_for_the_next(tmp_path: Path, size: int) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(CONTENT[:size])
    with OneFileServer(path, port=0) as server:
        raw = socket.create_connection(("127.0.0.1", server.port))
        raw.sendall(b"GET /t.zip HTTP/1.1\r\nHost: x\r\n\r\n")
        raw.recv(10)
        raw.close()  # Unread bytes are left, so the system resets the connection.
        assert not server.wait(0.5)
        assert ask(server, "GET", "/t.zip")[1] == CONTENT[:size]
        assert server.wait(10)


def test_a_file_that_is_gone_leaves_no_traceback(
    file: Path, server: OneFileServer, capfd: pytest.CaptureFixture[str]
) -> None:
    file.unlink()
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        ask(server, "GET")
    assert not server.wait(0.1)
    assert capfd.readouterr().err == ""


def test_a_taken_port_is_one_line(file: Path, server: OneFileServer) -> None:
    with pytest.raises(UsageError, match=f"port {server.port} .*can't be used") as refusal:
        OneFileServer(file, server.port)
    assert "\n" not in str(refusal.value)


def test_a_port_is_free_again_at_once(file: Path) -> None:
    with OneFileServer(file, port=0) as first:
        ask(first, "GET")
        assert first.wait(10)
    with OneFileServer(file, first.port) as second:
        assert ask(second, "GET")[1] == CONTENT


def test_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there's no file"):
        OneFileServer(tmp_path / "none.zip", port=0)


def test_the_wait_ends_at_its_timeout(file: Path) -> None:
    started = time.monotonic()
    with OneFileServer(file, port=0) as server:
        assert server.wait(timeout=0.1) is False
    assert time.monotonic() - started < 5


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT as a terminal does")
def test_control_c_ends_it(file: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from perfetto_autoviz.share.serve import OneFileServer\n"
        "try:\n"
        "    with OneFileServer(Path(sys.argv[1]), 0) as server:\n"
        "        print(server.port, flush=True)\n"
        "        server.wait()\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 0
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
        assert process.wait(10) == 0
