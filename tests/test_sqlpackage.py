"""Which modules a statement needs."""

from __future__ import annotations

import pytest

from perfetto_autoviz.sqlpackage import modules_needed, objects_named


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'autoviz_layer'",
        "SELECT 1 -- autoviz_layer",
        "SELECT 1 /* autoviz_layer\n */",
        "SELECT 'it''s autoviz_layer'",
    ],
)
def test_names_in_texts_and_comments_need_nothing(sql: str) -> None:
    assert modules_needed(sql) == ()
    assert objects_named(sql) == ()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM autoviz_layer",
        "SELECT * FROM autoviz_layer WHERE kind = 'attention+moe'",
        'SELECT * FROM "autoviz_layer" -- all of them',
        "SELECT * FROM span_join!(autoviz_layer, mine) WHERE kind != 'x'",
        "SELECT 'autoviz_phase' AS name FROM autoviz_layer",
        "CREATE PERFETTO TABLE mine AS SELECT 'a' AS a FROM autoviz_layer; SELECT * FROM mine",
    ],
)
def test_names_of_objects_need_their_module(sql: str) -> None:
    assert modules_needed(sql) == ("autoviz.layers",)
    assert objects_named(sql) == ("autoviz_layer",)


def test_a_text_without_an_end_is_left_to_the_engine() -> None:
    assert modules_needed("SELECT 'open FROM autoviz_layer") == ("autoviz.layers",)
