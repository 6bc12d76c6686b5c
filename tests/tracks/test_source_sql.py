from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from perfetto_autoviz.engine import Engine
from perfetto_autoviz.relations import RELATIONS, Column, Relation, SqlType
from perfetto_autoviz.tracks.source_sql import (
    source_module,
    source_module_name,
    write_source_modules,
)
from perfetto_autoviz.tracks.specs import TrackSpec
from perfetto_autoviz.tracks.writer import build_annotations
from tests.conftest import ROOT
from tests.tracks.conftest import Load

EMPTY_JSON = (
    b'{"traceEvents":[{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"name":"x","cat":"kernel"}]}'
)

ANY_VALUE: dict[SqlType, st.SearchStrategy[object]] = {
    "LONG": st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([2**53 + 1, -(2**53) - 1, 0]),
    "DOUBLE": st.none() | st.floats(allow_nan=False) | st.sampled_from([3.0, 1e-300, -0.5]),
    "STRING": st.none()
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
    | st.sampled_from(["", 'it\'s "quoted"', "two\nlines", "层 🧵", "NULL"]),
}
BASES = (0, 10**9, 1_700_000_000_123_456_789)


def rows_of(relation: Relation) -> st.SearchStrategy[pd.DataFrame]:
    """Frames of any values; a timed relation's rows overlap, touch, or have no time."""
    rest = [column for column in relation.columns if column.name not in ("ts", "dur", "id")]
    values = st.tuples(*(ANY_VALUE[column.type] for column in rest))
    spans = st.none() | st.tuples(st.sampled_from(BASES), st.integers(0, 30), st.integers(0, 9))
    return st.lists(st.tuples(spans, values), max_size=25).map(
        lambda rows: pd.DataFrame(
            [row_of(relation, number, *row) for number, row in enumerate(rows)],
            columns=list(relation.types),
            dtype=object,
        )
    )


def row_of(
    relation: Relation, number: int, span: tuple[int, int, int] | None, values: tuple[object, ...]
) -> list[object]:
    if not relation.timed:
        return list(values)
    ts, dur = (span[0] + span[1], span[2]) if span else (None, None)
    named = dict(
        zip(
            (c.name for c in relation.columns if c.name not in ("ts", "dur", "id")),
            values,
            strict=True,
        )
    )
    return [{"ts": ts, "dur": dur, "id": number, **named}[column] for column in relation.types]


def read_back(engine: Engine, relation: Relation) -> list[tuple[object, ...]]:
    """All rows, each value with the name of its SQL type, NULL as None."""
    columns = ", ".join(f"{name}, TYPEOF({name}) AS type_{name}" for name in relation.types)
    frame = engine.query(f"SELECT {columns} FROM {relation.source}")
    return plain(frame)


def plain(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    columns = [
        [None if pd.isna(value) else value for value in frame[name].tolist()] for name in frame
    ]
    return list(zip(*columns, strict=True))


def expected(frame: pd.DataFrame, relation: Relation) -> list[tuple[object, ...]]:
    words = {"LONG": "integer", "DOUBLE": "real", "STRING": "text"}
    rows = []
    for row in plain(frame):
        typed: list[object] = []
        for value, kind in zip(row, relation.types.values(), strict=True):
            typed += [value, "null" if value is None else words[kind]]
        rows.append(tuple(typed))
    return rows


MIXED = Relation(
    "mixed",
    "Rows with and without a time.",
    (
        Column("ts", "LONG", "Start."),
        Column("dur", "LONG", "Duration."),
        Column("id", "LONG", "Number."),
        Column("big", "LONG", "An integer."),
        Column("share", "DOUBLE", "A number."),
        Column("text", "STRING", "A text."),
        Column("always_null", "STRING", "Never there."),
    ),
    timed=True,
)
PLAIN = Relation(
    "plain",
    "Rows without a time.",
    (
        Column("text", "STRING", "A text."),
        Column("big", "LONG", "An integer."),
        Column("share", "DOUBLE", "A number."),
    ),
)


AT_ONCE = 4
"""Pairs of frames in one trace: starting an engine takes longer than all else."""


@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(rows_of(MIXED), rows_of(PLAIN)), min_size=AT_ONCE, max_size=AT_ONCE))
def test_rows_come_back_value_for_value_and_type_for_type(
    load: Load, pairs: list[tuple[pd.DataFrame, pd.DataFrame]]
) -> None:
    frames = {}
    for number, pair in enumerate(pairs):
        pair[0]["always_null"] = None
        for relation, frame in zip((MIXED, PLAIN), pair, strict=True):
            frames[replace(relation, name=f"{relation.name}_{number}")] = frame
    trace = build_annotations(
        {relation.name: frame for relation, frame in frames.items()},
        [
            TrackSpec(relation.name, relation.name, ["slice"] * len(frame))
            for relation, frame in frames.items()
            if relation.timed
        ],
        [],
        first_ts=5,
        schema=tuple(frames),
    )
    engine = load(trace)
    try:
        for relation, frame in frames.items():
            engine.execute(source_module(relation))
            assert read_back(engine, relation) == expected(frame, relation)
    finally:
        engine.close()


@pytest.fixture
def filled() -> Callable[[Relation], pd.DataFrame]:
    """Three rows of a relation, the last one NULL wherever it may be."""

    def frame(relation: Relation) -> pd.DataFrame:
        examples: dict[SqlType, list[object]] = {
            "LONG": [2**53 + 1, 2**53 + 3, None],
            "DOUBLE": [1.0, 0.25, None],
            "STRING": ["kernel<float>", "", None],
        }
        columns = {name: examples[kind] for name, kind in relation.types.items()}
        ordering = ("id", "iteration_id", "run_id")
        keys = [name for name in ordering if relation.types.get(name) == "LONG"]
        columns.update({name: [1, 2, 3] for name in keys})
        return pd.DataFrame(columns, dtype=object)

    return frame


def test_every_stored_relation_comes_back(
    load: Load, filled: Callable[[Relation], pd.DataFrame]
) -> None:
    frames = {relation.name: filled(relation) for relation in RELATIONS}
    tracks = [
        TrackSpec(relation.name, relation.name, ["a", "b", "c"])
        for relation in RELATIONS
        if relation.timed
    ]
    engine = load(build_annotations(frames, tracks, [], first_ts=10**15))
    for relation in RELATIONS:
        engine.execute(f"INCLUDE PERFETTO MODULE {source_module_name(relation)}")
        assert read_back(engine, relation) == expected(frames[relation.name], relation)


def test_a_capture_without_annotations_gives_empty_typed_tables(load: Load) -> None:
    engine = load(EMPTY_JSON)
    for relation in RELATIONS:
        engine.execute(f"INCLUDE PERFETTO MODULE {source_module_name(relation)}")
        frame = engine.query(f"SELECT * FROM {relation.source}")
        assert list(frame.columns) == list(relation.types)
        assert frame.empty


def test_the_shipped_modules_are_up_to_date() -> None:
    folder = ROOT / "sql" / "source"
    shipped = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.sql")}
    wanted = {relation.name: source_module(relation) for relation in RELATIONS}
    assert shipped == wanted, "run python -m perfetto_autoviz.tracks.source_sql sql/source"


def test_each_object_and_column_has_a_comment_and_lines_are_short() -> None:
    for relation in RELATIONS:
        lines = source_module(relation).splitlines()
        assert lines[0].startswith("-- ")
        for column in relation.columns:
            declared = next(
                number for number, line in enumerate(lines)
                if line.rstrip(",") == f"  {column.name} {column.type}"
            )  # fmt: skip
            assert lines[declared - 1].startswith("  -- ")
        assert max(map(len, (line for line in lines if line.lstrip().startswith("--")))) <= 80


def test_writing_the_modules_leaves_one_file_per_relation(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    write_source_modules(folder, [MIXED])
    write_source_modules(folder, [PLAIN])
    assert [path.name for path in folder.iterdir()] == ["plain.sql"]
