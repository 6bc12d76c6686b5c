"""The native shell that the ``perfetto`` package pins: cached, or downloaded once.

The cache is the one of that package itself, so neither fetches what the other has.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import platform
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfetto.prebuilts.manifests.trace_processor_shell import TRACE_PROCESSOR_SHELL_MANIFEST

from perfetto_autoviz.engine.cache import cache_folder, one_at_a_time
from perfetto_autoviz.errors import EngineError

NO_DOWNLOAD_VARIABLE = "AUTOVIZ_NO_DOWNLOAD"

FIRST_BYTE_SECONDS = 6.0
"""Without an answer by then, names aren't resolved or a firewall swallows the request."""
DOWNLOAD_SECONDS = 60.0
"""For about 16 MB; on a slower line the WebAssembly build wouldn't come faster."""
RETRY_SECONDS = 24 * 3600.0
"""How long a failed attempt is remembered, so that offline machines start without delay."""

_STAMP = "native-download-failed.json"
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Pinned:
    """The shell of this platform that the ``perfetto`` package names."""

    path: Path
    url: str
    sha256: str


def pinned() -> Pinned | None:
    """The shell pinned for this platform, or None when there's none."""
    for entry in TRACE_PROCESSOR_SHELL_MANIFEST:
        if entry.get("platform") == sys.platform and _machine() in entry.get("machine", []):
            return _pinned(entry)
    return None


def cached_or_downloaded() -> Path:
    """The pinned shell, downloaded if need be.

    Raises:
        NotTriedError: it isn't there, and fetching is forbidden or failed a short time ago.
        EngineError: it isn't there and can't be fetched.
    """
    shell = pinned()
    if shell is None:
        raise EngineError(f"there's no native trace processor for {sys.platform} {_machine()}")
    if shell.path.is_file():
        return shell.path
    if os.environ.get(NO_DOWNLOAD_VARIABLE):
        raise NotTriedError(
            f"{NO_DOWNLOAD_VARIABLE} forbids to download the native trace processor"
        )
    with one_at_a_time("native"):
        if shell.path.is_file():
            return shell.path
        failure = remembered_failure(shell)
        if failure:
            raise NotTriedError(failure)
        return _download_once(shell)


class NotTriedError(EngineError):
    """The download is forbidden, or failed within the last day: known, and no news."""


def remembered_failure(shell: Pinned) -> str:
    """Why the last download of this shell failed, or an empty string if it may be tried."""
    try:
        stamp = json.loads((cache_folder() / _STAMP).read_text())
        fresh = 0 <= time.time() - stamp["time"] < RETRY_SECONDS
        return str(stamp["reason"]) if fresh and stamp["sha256"] == shell.sha256 else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _download_once(shell: Pinned) -> Path:
    try:
        _Download(shell).run()
    except (OSError, http.client.HTTPException, EngineError) as error:
        reason = f"the native trace processor can't be downloaded ({error})"
        stamp = {"sha256": shell.sha256, "time": time.time(), "reason": reason}
        with contextlib.suppress(OSError):  # then it's tried again, no more than that
            (cache_folder() / _STAMP).write_text(json.dumps(stamp))
        raise EngineError(reason) from error
    return shell.path


class _Download:
    """One attempt, in a thread of its own: looking up a name knows no timeout."""

    def __init__(self, shell: Pinned) -> None:
        self._shell = shell
        self._answered = threading.Event()
        self._done = threading.Event()
        self._gave_up = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()
        if not self._answered.wait(FIRST_BYTE_SECONDS):
            self._gave_up.set()
            raise EngineError(f"no answer within {FIRST_BYTE_SECONDS:.0f} s")
        if not self._done.wait(DOWNLOAD_SECONDS):
            self._gave_up.set()
            raise EngineError(f"not finished within {DOWNLOAD_SECONDS:.0f} s")
        if self._error:
            raise self._error

    def _work(self) -> None:
        try:
            self._fetch()
        except (OSError, http.client.HTTPException, EngineError) as error:
            self._error = error
        finally:
            self._answered.set()
            self._done.set()

    def _fetch(self) -> None:
        target = self._shell.path
        digest = hashlib.sha256()
        address = self._shell.url  # an https address out of the perfetto package
        with urllib.request.urlopen(address, timeout=FIRST_BYTE_SECONDS) as response:  # noqa: S310
            self._answered.set()
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    while chunk := response.read(_CHUNK):
                        digest.update(chunk)
                        file.write(chunk)
                        if self._gave_up.is_set():
                            return
                if digest.hexdigest() != self._shell.sha256:
                    raise EngineError("its checksum is wrong")
                Path(name).chmod(0o755)
                Path(name).replace(target)
            finally:
                Path(name).unlink(missing_ok=True)


def _machine() -> str:
    return platform.machine().lower()


def _pinned(entry: dict[str, Any]) -> Pinned:
    root, extension = os.path.splitext(entry["file_name"])  # noqa: PTH122 (a name, no path)
    name = f"{root}-{entry['sha256'][:16]}{extension}"
    folder = Path.home() / ".local" / "share" / "perfetto" / "prebuilts"
    return Pinned(folder / name, entry["url"], entry["sha256"])
