"""A session: SQL with what it needs included, tables pushed, ranks side by side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfetto_autoviz import (
    AutovizError,
    CaptureError,
    EngineError,
    QueryError,
    RankSet,
    Session,
    UsageError,
    open_trace,
)
from tests.conftest import ROOT
from tests.live import check_expansions

SHIPPED = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_trace(SHIPPED) as opened:
        assert isinstance(opened, Session)
        yield opened


def test_a_statement_needs_no_include(session: Session) -> None:
    assert session.query("SELECT count() AS n FROM autoviz_layer")["n"].iloc[0] > 0


def test_an_include_in_the_statement_does_no_harm(session: Session) -> None:
    frame = session.query(
        "INCLUDE PERFETTO MODULE autoviz.layers; SELECT count() AS n FROM autoviz_layer"
    )
    assert frame["n"].iloc[0] > 0


def test_modules_of_the_standard_library_can_be_included(session: Session) -> None:
    session.include("slices.with_context")
    assert not session.query("SELECT * FROM thread_slice LIMIT 1").empty


def test_an_unknown_module_is_a_query_error(session: Session) -> None:
    with pytest.raises(QueryError, match=r"autoviz\.nothing"):
        session.include("autoviz.nothing")


def test_a_wrong_statement_is_a_query_error(session: Session) -> None:
    with pytest.raises(QueryError, match="no such column: nonsense"):
        session.query("SELECT nonsense FROM autoviz_kernel")


def test_the_metadata_is_the_row_of_the_capture(session: Session) -> None:
    metadata = session.metadata
    assert metadata["framework"] == "vllm"
    assert metadata["loaded_count"] == (
        metadata["kernel_count"] + metadata["memcpy_count"] + metadata["memset_count"]
    )
    assert json.loads(metadata["repairs"]) == []
    assert metadata["rank"] == session.rank == 0


def test_a_relation_of_steps_by_its_name(session: Session) -> None:
    assert (session.relation("iteration")["level"] == 0).all()
    with pytest.raises(UsageError, match="no relation 'nothing'"):
        session.relation("nothing")


def test_expansions_are_what_sql_makes(session: Session) -> None:
    check_expansions(session)


def test_a_pushed_table_joins_with_the_views(session: Session) -> None:
    notes = pd.DataFrame({"family": ["gemm", "moe"], "weight": [0.5, 2.0]})
    session.push_table("notes", notes)
    frame = session.query(
        "SELECT family, max(weight) AS weight, count() AS n FROM autoviz_kernel"
        " JOIN notes USING (family) GROUP BY 1 ORDER BY 1"
    )
    assert frame["weight"].tolist() == [0.5, 2.0]
    session.push_table("notes", notes.head(1))
    assert len(session.query("SELECT * FROM notes")) == 1


@pytest.mark.parametrize("name", ["autoviz_kernel", "two words", "a;b", "_autoviz_src_layer"])
def test_a_pushed_table_can_not_take_a_name_of_the_package(session: Session, name: str) -> None:
    with pytest.raises(UsageError):
        session.push_table(name, pd.DataFrame({"a": [1]}))


INTEGERS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
DOUBLES = st.one_of(st.none(), st.floats(allow_nan=False))
TEXTS = st.one_of(
    st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(INTEGERS, DOUBLES, TEXTS), max_size=8))
def test_pushed_values_come_back_as_they_are(
    session: Session, rows: list[tuple[int | None, float | None, str | None]]
) -> None:
    frame = pd.DataFrame(
        {
            "a": pd.array([row[0] for row in rows], dtype="Int64"),
            "b": pd.array([row[1] for row in rows], dtype="Float64"),
            "c": pd.Series([row[2] for row in rows], dtype=object),
        }
    )
    session.push_table("pushed", frame, {"a": "LONG", "b": "DOUBLE", "c": "STRING"})
    back = session.query("SELECT * FROM pushed")
    assert len(back) == len(rows)
    for (a, b, c), found in zip(rows, back.itertuples(index=False), strict=True):
        assert (None if pd.isna(found.a) else int(found.a)) == a
        assert (None if pd.isna(found.b) else float(found.b)) == b
        assert found.c == c


@pytest.mark.parametrize(
    ("values", "type_", "message"),
    [
        ([2**63], "LONG", "64 bits"),
        ([0.5], "LONG", "no integer"),
        (["x"], "DOUBLE", "can't"),
    ],
)
def test_values_that_a_type_can_not_hold_are_refused(
    session: Session, values: list[object], type_: str, message: str
) -> None:
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    with pytest.raises(UsageError, match=message):
        session.push_table("pushed", frame, {"a": type_})  # type: ignore[dict-item]


def test_a_large_push_is_cut_into_messages(session: Session) -> None:
    frame = pd.DataFrame({"a": np.arange(45_000), "b": ["x" * 500] * 45_000})
    session.push_table("large", frame)
    back = session.query("SELECT count() AS n, sum(a) AS total, sum(length(b)) AS text FROM large")
    assert back.iloc[0].tolist() == [45_000, 45_000 * 44_999 // 2, 45_000 * 500]


def test_a_dead_engine_is_one_clear_error() -> None:
    with open_trace(SHIPPED) as opened:
        assert isinstance(opened, Session)
        opened.engine.close()
        with pytest.raises(EngineError) as dead:
            opened.query("SELECT 1")
    assert "\n" not in str(dead.value)


def test_each_rank_answers_with_its_number(ranks: RankSet) -> None:
    frame = ranks.query("SELECT count() AS n FROM autoviz_kernel")
    assert frame.columns.tolist() == ["rank", "n"]
    assert frame["rank"].tolist() == [0, 1]
    assert (frame["n"] > 0).all()


def test_rows_of_a_relation_with_a_rank_carry_it_once(ranks: RankSet) -> None:
    frame = ranks.query("SELECT * FROM autoviz_iteration")
    assert frame.columns.tolist().count("rank") == 1
    assert frame.columns[0] == "rank"
    assert sorted(frame["rank"].unique()) == [0, 1]


def test_ranks_are_joined_on_the_hub(ranks: RankSet) -> None:
    frame = ranks.query_all(
        "SELECT a.number, a.dur AS first, b.dur AS second"
        " FROM autoviz_iteration AS a JOIN autoviz_iteration AS b USING (number)"
        " WHERE a.rank = 0 AND b.rank = 1 ORDER BY a.number"
    )
    each = ranks.query("SELECT number, dur FROM autoviz_iteration WHERE level = 0")
    for rank, column in ((0, "first"), (1, "second")):
        mine = each[each["rank"] == rank]
        assert frame[column].tolist() == mine["dur"].tolist()


def test_ranks_share_a_run(ranks: RankSet) -> None:
    assert set(ranks.query("SELECT run_id FROM autoviz_capture")["run_id"]) == {ranks.run_id}


def test_files_without_ranks_say_how_to_name_them(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1}
    for name in ("first.json", "second.json"):
        (tmp_path / name).write_text(json.dumps({"traceEvents": [event]}))
    with pytest.raises(CaptureError, match=r"name the files .* rank0"):
        open_trace(tmp_path)


def test_two_files_of_one_rank_are_an_error(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        shutil.copy(SHIPPED, tmp_path / name)
    with pytest.raises(CaptureError, match="rank 0"):
        open_trace(tmp_path)


@pytest.mark.parametrize("what", ["missing.json", "."])
def test_what_is_no_capture_is_refused(tmp_path: Path, what: str) -> None:
    with pytest.raises(AutovizError) as refused:
        open_trace(tmp_path / what)
    assert "\n" not in str(refused.value)


def test_an_anchor_that_is_no_expression_is_refused() -> None:
    with open_trace(SHIPPED, anchor="(") as opened:
        assert isinstance(opened, Session)
        with pytest.raises(UsageError, match="no regular expression"):
            opened.query("SELECT * FROM autoviz_layer")


def test_a_chosen_anchor_finds_the_same_layers(session: Session) -> None:
    with open_trace(SHIPPED, anchor="unified_attention") as chosen:
        assert isinstance(chosen, Session)
        sql = "SELECT ts, dur, layer FROM autoviz_layer ORDER BY id"
        assert session.query(sql).equals(chosen.query(sql))
        evidence = chosen.query("SELECT DISTINCT evidence FROM autoviz_layer")["evidence"]
    assert all(text.startswith("chosen anchor") for text in evidence)


def test_a_light_load_keeps_all_work_and_says_what_is_missing(session: Session) -> None:
    with open_trace(SHIPPED, light=True) as light:
        assert isinstance(light, Session)
        assert light.metadata["left_out"] == "python_function"
        count = "SELECT count() AS n FROM slice WHERE category = 'python_function'"
        assert session.query(count)["n"].iloc[0] > 0
        assert light.query(count)["n"].iloc[0] == 0
        for sql in (
            "SELECT ts, dur, name, launch_ts FROM autoviz_kernel ORDER BY seq",
            "SELECT ts, dur, name, host_ts FROM autoviz_iteration ORDER BY id",
        ):
            assert light.query(sql).equals(session.query(sql))
