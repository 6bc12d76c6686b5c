"""A capture open in a trace processor: SQL, tables pushed from Python, steps run on demand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from perfetto_autoviz import sqlpackage
from perfetto_autoviz.closing import Closing
from perfetto_autoviz.engine import Engine
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.ingest import Capture
from perfetto_autoviz.options import Options
from perfetto_autoviz.push import push_table
from perfetto_autoviz.relations import RELATIONS, Relation, SqlType
from perfetto_autoviz.steps import EXPANSIONS, STEPS, Expansion, Frames, SetStep, Step
from perfetto_autoviz.steps.step import LazyFrames

_log = logging.getLogger("perfetto_autoviz.session")

_RELATIONS: dict[str, Relation] = {relation.name: relation for relation in RELATIONS}
_MAKERS: dict[str, Step | SetStep] = {
    relation.name: step for step in STEPS for relation in step.makes
}

_EXPANSIONS = {expansion.relation: expansion for expansion in EXPANSIONS}
_READS = [read for reader in (*STEPS, *EXPANSIONS) for read in reader.reads]
_COLUMNS: dict[str, tuple[str, ...]] = {
    relation: tuple(
        dict.fromkeys(c for read in _READS if read.relation == relation for c in read.columns)
    )
    for relation in {read.relation for read in _READS}
}
"""All that any step reads of a relation, so that it is fetched once."""

# The text that stands for a source module whose relation the session pushes itself.
_PUSHED = "-- The session pushes this relation."


class Session(Closing):
    """One capture in one engine. A context manager.

    A statement may use any relation of the package without including its module first: what
    it needs is included, and the steps that make what it reads are run, once.

    Attributes:
        engine: the trace processor.
        capture: what the scan of the file found.
        stored: whether the relations are read from the annotation tracks of an enriched
            trace instead of being made by the steps.
        make_together: runs a step that works on all ranks; a rank set puts its own here.
    """

    def __init__(
        self,
        engine: Engine,
        capture: Capture,
        options: Options | None = None,
        *,
        stored: bool = False,
    ) -> None:
        """Takes over an engine with a loaded capture; the engine ends with the session.

        Args:
            engine: the engine.
            capture: what the scan of the file found.
            options: for the steps.
            stored: see above.
        """
        self.engine = engine
        self.capture = capture
        self.stored = stored
        self.options = options or Options()
        self._frames: dict[str, pd.DataFrame] = {}
        self._read_once: dict[str, pd.DataFrame] = {}
        self._included: set[str] = set()
        self._unpushed: set[str] = set()
        self.make_together: Callable[[SetStep], None] = self._make_alone
        self._register()

    def close(self) -> None:
        """Ends the engine; closing again is harmless."""
        self.engine.close()

    @property
    def rank(self) -> int | None:
        """Rank of the recorded process, None if unknown."""
        rank = self.metadata.get("rank")
        return None if rank is None else int(rank)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The row of ``autoviz_capture`` as a mapping; NULL is None."""
        frame = self.query("SELECT * FROM autoviz_capture")
        if frame.empty:
            return {}
        row = frame.iloc[0]
        return {str(name): None if pd.isna(value) else value for name, value in row.items()}

    def query(self, sql: str) -> pd.DataFrame:
        """Runs SQL.

        Args:
            sql: one or more statements.

        Returns:
            The rows of the last statement: integers as ``int64``, or ``Int64`` where NULLs
            occur, doubles as ``float64``, text as ``object``.

        Raises:
            QueryError: the engine refuses a statement; the message is the engine's.
            EngineError: the engine died.
        """
        for module in sqlpackage.modules_needed(sql):
            self.include(module)
        return self.engine.query(sql)

    def include(self, module: str) -> None:
        """Includes a module of the package, or of Perfetto's standard library.

        Raises:
            QueryError: there is no such module.
        """
        if module in self._included:
            return
        for needed in sqlpackage.included(module):
            relation = sqlpackage.source_relation(needed)
            if relation and not self.stored:
                self._make(relation)
                self._push(relation)
        self.engine.execute(f"INCLUDE PERFETTO MODULE {module}")
        self._included.update((module, *sqlpackage.included(module)))

    def push_table(
        self, name: str, frame: pd.DataFrame, types: Mapping[str, SqlType] | None = None
    ) -> None:
        """Makes a typed table of a frame, replacing one of that name.

        Raises:
            UsageError: the name belongs to the package, or a column can't be typed.
        """
        if not name.isidentifier() or sqlpackage.modules_needed(name):
            raise UsageError(f"{name!r} can't be the name of a pushed table: choose another")
        push_table(self.engine, name, frame, types)

    def relation(self, name: str) -> pd.DataFrame:
        """The frame of a stored relation, made first if need be.

        Args:
            name: short name, e.g. ``iteration``.

        Raises:
            UsageError: there is no such relation.
        """
        if name not in _RELATIONS:
            raise UsageError(f"no relation {name!r}: there are {', '.join(_RELATIONS)}")
        if self.stored:
            return self.query(f"SELECT * FROM {_RELATIONS[name].source}")
        self._make(name)
        return self._frames[name]

    def set_steps(self, sql: str) -> list[SetStep]:
        """Steps over all ranks that a statement needs and that have not run."""
        if self.stored:
            return []
        needed = {
            sqlpackage.source_relation(name)
            for module in sqlpackage.modules_needed(sql)
            for name in sqlpackage.included(module)
        }
        missing = [name for name in _MAKERS if name in needed and name not in self._frames]
        steps = [_MAKERS[name] for name in missing]
        return [step for step in dict.fromkeys(steps) if isinstance(step, SetStep)]

    def relations(self) -> dict[str, pd.DataFrame]:
        """The frames of all stored relations by short name, made first if need be."""
        return {name: self.relation(name) for name in _RELATIONS}

    def _register(self) -> None:
        texts = {
            module.name: _PUSHED
            if sqlpackage.source_relation(module.name) and not self.stored
            else module.sql
            for module in sqlpackage.modules().values()
        }
        self.engine.register_package(sqlpackage.PACKAGE, texts)

    def _make(self, relation: str) -> None:
        if relation in self._frames:
            return
        step = _MAKERS[relation]
        _log.info("%s", step.name)
        if isinstance(step, Step):
            self._provide_all(step.run(LazyFrames(step.reads, self.fetch), self.options))
        else:
            self.make_together(step)

    def inputs(self, step: Step | SetStep | Expansion) -> Frames:
        """The frames that a step reads; those that are stored relations are made first."""
        return {read.relation: self.fetch(read.relation, read.columns) for read in step.reads}

    def _make_alone(self, step: SetStep) -> None:
        rank = self.rank or 0
        self._provide_all(step.run({rank: self.inputs(step)}, self.options)[rank])

    def _provide_all(self, frames: Mapping[str, pd.DataFrame]) -> None:
        for name, frame in frames.items():
            self.provide(name, frame)

    def _push(self, name: str) -> None:
        """Pushes a relation when SQL first reads it; many are only written to a file."""
        if name in self._unpushed:
            relation = _RELATIONS[name]
            push_table(self.engine, relation.source, self._frames[name], relation.types)
            self._unpushed.remove(name)

    def fetch(self, relation: str, columns: Iterable[str]) -> pd.DataFrame:
        """Columns of a relation that a step reads too; fetched or expanded once.

        Args:
            relation: SQL name of a view or table, or the source of a stored relation.
            columns: columns that some step reads.
        """
        name = next((r.name for r in RELATIONS if r.source == relation), None)
        if name is not None:
            return self.relation(name)[list(columns)]
        if relation not in self._read_once:
            self._read_once[relation] = self._read(relation)
        return self._read_once[relation][list(columns)]

    def _read(self, relation: str) -> pd.DataFrame:
        expansion = _EXPANSIONS.get(relation)
        if expansion and not self.stored:
            return expansion.run(self.inputs(expansion))
        return self.query(f"SELECT {', '.join(_COLUMNS[relation])} FROM {relation}")

    def provide(self, name: str, frame: pd.DataFrame) -> None:
        """Gives a stored relation from outside, in place of the step that makes it.

        Args:
            name: short name, e.g. ``capture``.
            frame: its rows, with exactly the relation's columns.
        """
        self._frames[name] = frame
        self._unpushed.add(name)
