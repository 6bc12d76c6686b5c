"""A running trace processor: load a trace, ask SQL, end it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pandas as pd

from perfetto_autoviz.closing import Closing
from perfetto_autoviz.engine import protocol
from perfetto_autoviz.engine.chunks import rechunked
from perfetto_autoviz.engine.client import Client
from perfetto_autoviz.engine.decode import decode_query_result
from perfetto_autoviz.engine.find import ENGINE_VARIABLE, EngineChoice, Kind, candidates
from perfetto_autoviz.engine.native import NotTriedError
from perfetto_autoviz.engine.process import EngineProcess
from perfetto_autoviz.engine.stats import Stat, major_version
from perfetto_autoviz.errors import EngineError, QueryError

LAST_DROPPING_MAJOR = 56
"""Up to v56, a slice that overlaps the previous one of its thread in part is dropped."""

SMALL_TRACE = 20 << 20
"""Unpacked bytes up to which an engine is told that its trace is small: loading takes as long,
and half the CPU time. At twice the size, loading takes a tenth longer."""

_DEATH_SECONDS = 2.0  # how long a dying process may take to be seen as dead

# Example: "Perfetto v55.3-df2b6e4be (df2b6e4be1b2f6f799e72e0210d5981af6506436)"
_VERSION = re.compile(r"v(\d+)\.(\d+)")


# Example: '  Module include "autoviz.x" line 3 col 3', then the line of SQL and a caret.
_ERROR_PLACE = re.compile(r"^  (\S.* line \d+ col \d+)$\n^ +(\S.*)$", re.MULTILINE)
_SQL_EXCERPT = 80  # characters of SQL in an error

_log = logging.getLogger("perfetto_autoviz.engine")


def start_engine(path: str | None = None, *, trace_bytes: int | None = None) -> Engine:
    """Finds an engine and starts it.

    If the native shell can't be had or doesn't start, one line of explanation is logged as a
    warning, and the WebAssembly build takes its place.

    Args:
        path: an explicit engine, see `find.candidates`.
        trace_bytes: about the size of the trace for it, unpacked, if that is known.

    Raises:
        EngineError: there's none, or the explicit one doesn't start.
    """
    small = trace_bytes is not None and trace_bytes <= SMALL_TRACE
    ways = candidates(path)
    problems: list[str] = []
    for way in ways:
        try:
            return Engine(way(), small=small)
        except EngineError as error:
            if len(ways) == 1:
                raise
            # What the user forbade, or was told a short time ago, is no news.
            level = logging.DEBUG if isinstance(error, NotTriedError) else logging.WARNING
            _log.log(level, "%s; trying the next engine", error)
            problems.append(str(error))
    raise EngineError(
        f"no trace processor: give one with --trace-processor PATH or {ENGINE_VARIABLE}, or allow "
        "the download of Perfetto's native shell, or install Node.js with npm for the WebAssembly "
        f"build ({'; '.join(problems)})"
    )


class Engine(Closing):
    """One engine process with one trace. A context manager; safe to use from any thread.

    Attributes:
        kind: ``native`` or ``wasm``.
        version: for instance ``v55.3``.
        drops_overlaps: whether slices that overlap in part on one thread are lost.
    """

    kind: Kind
    version: str
    drops_overlaps: bool

    def __init__(self, choice: EngineChoice, *, small: bool = False) -> None:
        self._dead = ""
        self._fed = False
        more = choice.for_small if small else ()
        self._process = EngineProcess(
            lambda port: [*choice.command(port), *more], reports_port=choice.reports_port
        )
        self._client = Client(self._process.port, self._failure)
        self.kind = choice.kind
        try:
            self.version = _short_version(protocol.status(self._client.get("/status")).version)
        except BaseException:
            self.close()
            raise
        self.drops_overlaps = drops_overlaps(self.version)

    def load(self, chunks: Iterable[bytes]) -> None:
        """Feeds a whole trace, in pieces of any size.

        The engine parses one piece while the next is being made.

        Raises:
            EngineError: the engine can't read the trace, died of it, or has one already.
        """
        if self._fed:
            raise EngineError("a trace processor takes one trace: start another one")
        self._fed = True
        with ThreadPoolExecutor(max_workers=1) as worker:
            pending: Future[None] | None = None
            for chunk in rechunked(chunks):
                if pending:
                    pending.result()
                pending = worker.submit(self._append, chunk)
            if pending:
                pending.result()
        complaint = protocol.finalize_error(self._get("/notify_eof"))
        if complaint:
            raise EngineError(f"the trace processor can't read the trace: {_one_line(complaint)}")

    def query(self, sql: str) -> pd.DataFrame:
        """Runs SQL and returns the rows of its last statement.

        Returns:
            A typed frame, see `decode.decode_query_result`.

        Raises:
            QueryError: the engine refuses the statement.
            EngineError: the engine is dead.
        """
        answer = decode_query_result(self._post("/query", protocol.query_request(sql)))
        if answer.error:
            raise QueryError(_sql_error(answer.error))
        return answer.frame

    def execute(self, sql: str) -> None:
        """Runs SQL for its effect; errors as in `query`."""
        self.query(sql)

    def register_package(self, name: str, modules: Mapping[str, str]) -> None:
        """Registers an SQL package, or replaces the one of that name.

        Args:
            name: the package, for instance ``autoviz``.
            modules: SQL text by full module name, for instance ``autoviz.kernels``. A module
                that was included before is run anew by the next ``INCLUDE PERFETTO MODULE``.

        Raises:
            QueryError: the engine refuses the package, or it's too large.
            EngineError: the engine is dead.
        """
        request = protocol.register_request(name, modules)
        complaint = protocol.register_error(self._post("/rpc", request))
        if complaint:
            raise QueryError(f"the SQL package {name} can't be registered: {_one_line(complaint)}")

    def stats(self) -> list[Stat]:
        """What the import counted, without zeros, by name; indexed counters are summed.

        Raises:
            EngineError: the engine is dead.
        """
        rows = self.query(
            "SELECT name, severity, SUM(value) AS value FROM stats"
            " WHERE value != 0 GROUP BY name, severity ORDER BY name"
        )
        return [
            Stat(str(name), int(value), str(severity))
            for name, severity, value in rows.itertuples(index=False)
        ]

    def close(self) -> None:
        """Ends the engine. Later calls raise `EngineError`; closing again is harmless."""
        self._dead = self._dead or "the trace processor was closed: start another one"
        # The process first: a request under way in another thread then fails at once.
        self._process.end()
        self._client.close()

    def _append(self, chunk: bytes | memoryview) -> None:
        complaint = protocol.append_error(self._post("/parse", chunk))
        if complaint:
            raise EngineError(f"the trace processor can't read the trace: {_one_line(complaint)}")

    def _post(self, endpoint: str, body: bytes | memoryview) -> bytes:
        self._check_alive()
        return self._client.post(endpoint, body)

    def _get(self, endpoint: str) -> bytes:
        self._check_alive()
        return self._client.get(endpoint)

    def _check_alive(self) -> None:
        if self._dead:
            raise EngineError(self._dead)

    def _failure(self, words: str) -> EngineError:
        """The error for a request that failed; the engine counts as dead from then on."""
        if not self._dead:
            ended = self._process.wait(_DEATH_SECONDS)
            reason = _one_line(words) or (self._process.last_words() if ended else "no answer")
            self._dead = _death_notice(self.kind, reason)
        return EngineError(self._dead)


def drops_overlaps(version: str) -> bool:
    """Whether a version such as ``v55.3`` loses slices that overlap in part on a thread."""
    major = major_version(version)
    # A build without a release number is somebody's own and newer than any release here.
    return major is not None and major <= LAST_DROPPING_MAJOR


def _short_version(text: str) -> str:
    found = _VERSION.search(text)
    return found[0] if found else text.strip() or "unknown"


def _death_notice(kind: Kind, reason: str) -> str:
    remedy = "load less (--light) or use the native one" if kind == "wasm" else "start it again"
    return f"the {kind} trace processor died ({reason or 'no reason given'}): {remedy}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sql_error(text: str) -> str:
    """The engine's error in one line: what, then the innermost place."""
    places = _ERROR_PLACE.findall(text)
    what = _one_line(text.rstrip().rpartition("\n")[2])
    if not places:
        return _one_line(text)
    place, sql = places[-1]
    return f"{what} ({place.removeprefix('File ')}: {sql[:_SQL_EXCERPT].rstrip()})"
