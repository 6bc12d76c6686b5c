"""Looks at everything the engine depends on, and tries each engine with a tiny trace."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from perfetto_autoviz.engine import native, webassembly
from perfetto_autoviz.engine.cache import cache_folder
from perfetto_autoviz.engine.engine import Engine
from perfetto_autoviz.engine.find import EngineChoice, candidates
from perfetto_autoviz.errors import AutovizError, EngineError

PACKAGES = (
    "perfetto-autoviz",
    "perfetto",
    "protobuf",
    "numpy",
    "pandas",
    "torch",
    "orjson",
    "msgspec",
    "isal",
    "rapidfuzz",
    "sqlglot",
    "click",
    "rich",
    "platformdirs",
)
"""The distributions whose versions matter when somebody reports a problem."""

_TOOL_SECONDS = 10
# Two kernels that overlap on one stream: an engine up to v56 keeps the first alone.
_TEST_TRACE = json.dumps(
    {
        "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 10, "dur": 5},
            {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 12, "dur": 8},
        ]
    }
).encode()
_TEST_QUERY = "SELECT COUNT(*) AS n, MIN(ts) AS ts, MIN(dur) AS dur FROM slice"
_TEST_FIRST_SLICE = (10_000, 5_000)  # ts and dur of slice "a" in ns


@dataclass(frozen=True)
class EngineReport:
    """One engine that was looked for.

    Attributes:
        kind: ``native`` or ``wasm``, or ``unknown`` for an explicit path that's no engine.
        location: the shell, or the folder of the WebAssembly files; None if there's none.
        version: as the running engine told, for instance ``v55.3``.
        works: the self-test passed.
        keeps_overlaps: whether slices that overlap on one thread all came back in the test.
        start_seconds: from nothing to the first answer.
        problem: why it doesn't work, in one line.
    """

    kind: str
    location: str | None = None
    version: str | None = None
    works: bool = False
    keeps_overlaps: bool | None = None
    start_seconds: float | None = None
    problem: str | None = None


@dataclass(frozen=True)
class DoctorReport:
    """What was found, ready for JSON through `as_dict`.

    Attributes:
        works: at least one engine passed its self-test and no package is missing.
        engines: every candidate, in the order in which they'd be taken.
        cache: the folder of fetched files.
        tools: path and version of node and npm; None where one is missing.
        python: the interpreter's version.
        system: operating system and machine.
        packages: versions by distribution; None where one is missing.
        remedies: what to do, one line each; empty when all is well.
    """

    works: bool
    engines: tuple[EngineReport, ...]
    cache: str
    tools: dict[str, str | None]
    python: str
    system: str
    packages: dict[str, str | None]
    remedies: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)


def doctor(path: str | None = None) -> DoctorReport:
    """Examines the engines and their surroundings.

    An engine that isn't there yet is fetched, exactly as its first use would.

    Args:
        path: an explicit engine, see `find.candidates`; then it's the only one examined.
    """
    engines = tuple(_examine(kind, way) for kind, way in _named_candidates(path))
    packages = {name: _package_version(name) for name in PACKAGES}
    tools = {name: _tool(name) for name in ("node", "npm")}
    works = any(engine.works for engine in engines)
    missing = [name for name, version in packages.items() if version is None]
    return DoctorReport(
        works=works and not missing,
        engines=engines,
        cache=_cache(),
        tools=tools,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        packages=packages,
        remedies=(*_engine_remedies(engines, tools), *map(_package_remedy, missing)),
    )


def _named_candidates(path: str | None) -> list[tuple[str, Callable[[], EngineChoice]]]:
    ways = candidates(path)
    names = ("native", "wasm") if len(ways) > 1 else ("unknown",)
    return list(zip(names, ways, strict=True))


def _examine(kind: str, way: Callable[[], EngineChoice]) -> EngineReport:
    try:
        choice = way()
    except EngineError as error:
        return EngineReport(kind, problem=str(error))
    found = EngineReport(choice.kind, str(choice.location))
    damaged = _damaged_files(choice)
    if damaged:
        return EngineReport(
            found.kind, found.location, problem=f"{damaged} isn't the file that was fetched"
        )
    try:
        return _self_test(choice)
    except AutovizError as error:
        return EngineReport(found.kind, found.location, problem=str(error))


def _damaged_files(choice: EngineChoice) -> str:
    """Names of damaged files in the cache; files elsewhere are the user's own."""
    if choice.kind != "wasm" or choice.location != webassembly.cached():
        return ""
    return ", ".join(webassembly.wrong_files(choice.location))


def _self_test(choice: EngineChoice) -> EngineReport:
    begin = time.perf_counter()
    with Engine(choice) as engine:
        seconds = time.perf_counter() - begin
        engine.load([_TEST_TRACE])
        count, ts, dur = engine.query(_TEST_QUERY).iloc[0]
        if count < 1 or (ts, dur) != _TEST_FIRST_SLICE:
            raise EngineError(f"the self-test gave {count} slices, ts {ts} and dur {dur}")
        return EngineReport(
            kind=choice.kind,
            location=str(choice.location),
            version=engine.version,
            works=True,
            keeps_overlaps=bool(count > 1),
            start_seconds=round(seconds, 3),
        )


def _engine_remedies(
    engines: tuple[EngineReport, ...], tools: dict[str, str | None]
) -> tuple[str, ...]:
    if any(engine.works for engine in engines):
        return ()
    if len(engines) == 1:
        return (f"give another --trace-processor, or none: {engines[0].problem}",)
    shell = native.pinned()
    remedies = [f"{tool} is missing: install Node.js" for tool, at in tools.items() if not at]
    if shell:
        remedies.append(f"or put {shell.url} at {shell.path} and make it executable")
    remedies.append("or give a trace_processor_shell with --trace-processor PATH")
    damaged = webassembly.cached()
    if damaged and webassembly.wrong_files(damaged):
        remedies.insert(0, f"delete {damaged}: it's fetched again")
    return tuple(remedies)


def _package_remedy(name: str) -> str:
    return f"the Python package {name} is missing: pip install {name}"


def _package_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _tool(name: str) -> str | None:
    path = shutil.which(name)
    if not path:
        return None
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=_TOOL_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path} (doesn't answer: {error})"
    return f"{path} {done.stdout.strip()}"


def _cache() -> str:
    try:
        return str(cache_folder())
    except EngineError as error:
        return str(error)
