"""Where an engine comes from: an explicit one, else the native shell, else WebAssembly."""

from __future__ import annotations

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


@dataclass(frozen=True)
class EngineChoice:
    """An engine that can be started.

    Attributes:
        kind: ``native`` or ``wasm``.
        location: the shell, or the folder of the WebAssembly files.
        command: the command line for a port.
        reports_port: the first line of output names the port, and port 0 takes a free one.
        for_small: what else the command line says for a small trace.
    """

    kind: Kind
    location: Path
    command: Callable[[int], list[str]]
    reports_port: bool
    for_small: tuple[str, ...] = ()


def candidates(path: str | None = None) -> tuple[Callable[[], EngineChoice], ...]:
    """The ways to an engine, to be tried in this order; each raises `EngineError` in vain.

    Args:
        path: a native shell, a folder with the WebAssembly files, a script that serves the
            same HTTP API under Node.js, or one of the words ``native`` and ``wasm``. Then it's
            the only candidate. Default: the environment variable ``AUTOVIZ_TRACE_PROCESSOR``,
            else everything there is.
    """
    explicit = path or os.environ.get(ENGINE_VARIABLE)
    if explicit in _WORDS:
        return (_WORDS[explicit],)
    if explicit:
        return (lambda: explicit_choice(Path(explicit)),)
    return tuple(_WORDS.values())


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
        "wasm",
        folder,
        lambda port: webassembly.command(folder, port),
        reports_port=True,
        for_small=webassembly.FOR_SMALL,
    )


def _native_command(shell: Path, port: int) -> list[str]:
    # The spelling that every release understands; newer ones also have `server http`.
    return [str(shell.resolve()), "-D", "--http-port", str(port), "--no-ftrace-raw"]


def _script(path: Path, port: int) -> list[str]:
    return [webassembly.node(), str(path.resolve()), "-D", "--http-port", str(port)]


_WORDS: dict[str, Callable[[], EngineChoice]] = {
    "native": lambda: native_choice(native.cached_or_downloaded()),
    "wasm": lambda: wasm_choice(webassembly.cached_or_fetched()),
}
