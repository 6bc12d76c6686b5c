"""The captures of several ranks: SQL on each of them, and on all together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pandas as pd

from perfetto_autoviz import sqlpackage
from perfetto_autoviz.closing import Closing
from perfetto_autoviz.engine import Engine, start_engine
from perfetto_autoviz.push import derived_types, push_table
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import SetStep

T = TypeVar("T")


class RankSet(Closing):
    """One session per rank, and a hub: an empty engine that holds what all ranks found.

    A context manager. Clocks of different ranks are not assumed to be aligned.

    Attributes:
        sessions: by rank, in order.
        run_id: shared by all ranks.
    """

    def __init__(
        self, sessions: Sequence[Session], run_id: str, trace_processor: str | None = None
    ) -> None:
        """Takes over sessions, which end with the set.

        Args:
            sessions: one per rank, each with a rank of its own; a single one may have none.
            run_id: see above.
            trace_processor: path of the hub's engine.
        """
        # A single capture needs no rank; several have been told apart by theirs.
        ranked = {session.rank or 0: session for session in sessions}
        self.sessions: dict[int, Session] = {rank: ranked[rank] for rank in sorted(ranked)}
        self.run_id = run_id
        self._trace_processor = trace_processor
        self._hub: Engine | None = None
        for session in self.sessions.values():
            session.make_together = self._make_together
        self._on_hub: set[str] = set()
        self._done: set[str] = set()

    def close(self) -> None:
        """Ends all engines; closing again is harmless."""
        for session in self.sessions.values():
            session.close()
        if self._hub:
            self._hub.close()

    def query(self, sql: str) -> pd.DataFrame:
        """Runs SQL on every rank; errors as in `Session.query`.

        Returns:
            The rows of all ranks, in order of rank, with a leading column ``rank``.
        """
        # Before the ranks part: a step over all of them reads from all of them.
        for step in next(iter(self.sessions.values())).set_steps(sql):
            self._make_together(step)
        return _stacked(self.on_each(lambda session: session.query(sql)))

    def query_all(self, sql: str) -> pd.DataFrame:
        """Runs SQL once, over the public relations of all ranks together.

        Each relation that the statement mentions is copied to the hub with a leading column
        ``rank``, so that ranks can be joined. Slice ids are those of the rank's own engine.
        """
        hub = self._hub or start_engine(self._trace_processor)
        self._hub = hub
        for name in sqlpackage.objects_named(sql):
            if name not in self._on_hub:
                frame = self.query(f"SELECT * FROM {name}")
                push_table(hub, name, frame, derived_types(frame))
                self._on_hub.add(name)
        return hub.query(sqlpackage.without_includes(sql))

    def _make_together(self, step: SetStep) -> None:
        if step.name in self._done:
            return
        self._done.add(step.name)
        live = {rank: session for rank, session in self.sessions.items() if not session.stored}
        with ThreadPoolExecutor(max_workers=len(self.sessions)) as pool:
            inputs = dict(
                zip(
                    live, pool.map(lambda session: session.inputs(step), live.values()), strict=True
                )
            )
        options = next(iter(self.sessions.values())).options
        for rank, frames in (step.run(inputs, options) if inputs else {}).items():
            for name, frame in frames.items():
                live[rank].provide(name, frame)

    def on_each(self, work: Callable[[Session], T]) -> dict[int, T]:
        """Does work on the session of every rank, several at once; results by rank."""
        with ThreadPoolExecutor(max_workers=len(self.sessions)) as pool:
            results = pool.map(work, self.sessions.values())
            return dict(zip(self.sessions, results, strict=True))


def _stacked(frames: dict[int, pd.DataFrame]) -> pd.DataFrame:
    ranked = []
    for rank, frame in frames.items():
        others = frame.drop(columns="rank", errors="ignore")
        others.insert(0, "rank", rank)
        ranked.append(others)
    # An empty frame has no types, and would take those of the others away.
    filled = [frame for frame in ranked if not frame.empty] or ranked
    return pd.concat(filled, ignore_index=True)
