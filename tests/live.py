"""Helpers for tests that open captures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from perfetto_autoviz import sqlpackage
from perfetto_autoviz.annotate import write_annotated
from perfetto_autoviz.engine import Engine, start_engine
from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.opening import OpenOptions, open_capture, run_id
from perfetto_autoviz.session import Session
from perfetto_autoviz.steps import EXPANSIONS, STEPS

ENGINE_IDS = ["id", "launch_id"]
"""Columns of autoviz_kernel that differ from file to file."""


def open_fresh(path: Path, **options: object) -> Session:
    """Opens a capture and runs the steps, whatever is stored in it."""
    found = find_captures([path])
    return open_capture(found[0], OpenOptions(fresh=True, **options), run_id(found))  # type: ignore[arg-type]


def annotated(path: Path, folder: Path) -> Path:
    """Annotates a capture into a folder."""
    out = folder / f"{path.name.split('.')[0]}.autoviz.zip"
    with open_fresh(path) as session:
        write_annotated(session, out)
    return out


@contextmanager
def bare_engine(path: Path, *, package: bool = True) -> Iterator[Engine]:
    """A plain trace processor with a file as it is, as a teammate would open it."""
    with start_engine(trace_bytes=path.stat().st_size) as engine:
        engine.load([path.read_bytes()])
        if package:
            texts = {module.name: module.sql for module in sqlpackage.modules().values()}
            engine.register_package(sqlpackage.PACKAGE, texts)
            for name in texts:
                engine.execute(f"INCLUDE PERFETTO MODULE {name}")
        yield engine


def public_relations() -> list[str]:
    """Names of all public tables and views of the package."""
    return sorted(
        name
        for module in sqlpackage.modules().values()
        for name in module.defines
        if name.startswith("autoviz_")
    )


def comparable(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """A public relation without what differs from file to file."""
    return frame.drop(columns=ENGINE_IDS) if name == "autoviz_kernel" else frame


def check_expansions(session: Session) -> None:
    """What Python puts together is what SQL makes, row for row."""
    for expansion in EXPANSIONS:
        read = [r for step in STEPS for r in step.reads if r.relation == expansion.relation]
        columns = list(dict.fromkeys(column for r in read for column in r.columns))
        expanded = session.fetch(expansion.relation, columns)
        queried = session.query(f"SELECT {', '.join(columns)} FROM {expansion.relation}")
        pd.testing.assert_frame_equal(expanded, queried, check_dtype=len(queried) > 0)
