"""Every object of the SQL package is documented, typed and named by the rules."""

from __future__ import annotations

import pytest

from perfetto_autoviz.relations import RELATIONS
from perfetto_autoviz.sqlpackage import PACKAGE, modules
from tests.sql.documentation import definitions, problems

MODULES = {name.removeprefix(f"{PACKAGE}."): module.sql for name, module in modules().items()}

GOOD = """\
INCLUDE PERFETTO MODULE autoviz.kernels;

-- Kernels that
-- take long.
CREATE OR REPLACE PERFETTO TABLE autoviz_slow(
  -- The kernel; it's joined by this.
  id JOINID(slice.id),
  -- Duration in ns.
  dur DURATION
) AS
SELECT id, dur FROM slice WHERE name != 'it''s; -- no comment';

CREATE PERFETTO INDEX _autoviz_slow_id ON autoviz_slow(id);

-- Half of a number.
CREATE PERFETTO FUNCTION autoviz_half(
  -- The number.
  whole LONG
)
-- Half of it.
RETURNS DOUBLE AS
SELECT $whole / 2.0;

-- Kernels longer than that.
CREATE PERFETTO FUNCTION autoviz_longer(
  -- Duration in ns.
  dur LONG
)
RETURNS TABLE(
  -- The kernel.
  id LONG
) AS
SELECT id FROM slice WHERE dur > $dur;

-- Rows in reverse.
CREATE PERFETTO MACRO autoviz_reversed(
  -- What to reverse.
  rows TableOrSubquery
)
-- The rows.
RETURNS TableOrSubquery AS
(SELECT * FROM $rows ORDER BY ts DESC);

CREATE PERFETTO VIEW _autoviz_private AS SELECT 1 AS one;
"""


@pytest.mark.parametrize("name", MODULES)
def test_module_follows_the_rules(name: str) -> None:
    assert problems(name, MODULES[name]) == []


@pytest.mark.parametrize("name", MODULES)
def test_module_says_what_it_is_for(name: str) -> None:
    assert definitions(MODULES[name]), "a module defines something"


def test_a_public_relation_of_each_shipped_module_is_found() -> None:
    found = {
        thing.name
        for sql in MODULES.values()
        for thing in definitions(sql)
        if not thing.name.startswith("_")
    }
    contract = {
        "autoviz_capture", "autoviz_kernel", "autoviz_iteration", "autoviz_phase",
        "autoviz_layer", "autoviz_layer_position", "autoviz_stream_busy", "autoviz_iteration_time",
    }  # fmt: skip
    assert contract <= found


def test_each_stored_relation_has_its_source_with_the_same_columns() -> None:
    sources = {
        thing.name: [(column.name, column.type) for column in thing.members]
        for name, sql in MODULES.items()
        if name.startswith("source.")
        for thing in definitions(sql)
    }
    stored = {r.source: [(column.name, column.type) for column in r.columns] for r in RELATIONS}
    assert sources == stored


def test_good_module_has_no_problems() -> None:
    assert problems("slow", GOOD) == []


def test_parser_reads_each_kind_of_object() -> None:
    found = {thing.name: thing for thing in definitions(GOOD)}
    assert [thing.kind for thing in found.values()] == [
        "TABLE", "INDEX", "FUNCTION", "FUNCTION", "MACRO", "VIEW",
    ]  # fmt: skip
    assert [(c.name, c.type) for c in found["autoviz_slow"].members] == [
        ("id", "JOINID(slice.id)"),
        ("dur", "DURATION"),
    ]
    assert [(c.name, c.type) for c in found["autoviz_longer"].returns] == [("id", "LONG")]
    assert found["autoviz_half"].returns[0].type == "DOUBLE"
    assert found["_autoviz_private"].members == ()


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ("-- take long.\n", "", "no problem: the line above it is a comment, too"),
        ("-- Kernels that\n-- take long.\n", "", "slow:3: autoviz_slow has no comment"),
        ("-- take long.\n", "-- take long.\n\n", "slow:6: autoviz_slow has no comment"),
        ("-- Kernels that\n-- take long.\n", "--\n", "slow:4: autoviz_slow has no comment"),
        ("  -- Duration in ns.\n  dur DURATION\n", "  dur DURATION\n", "autoviz_slow.dur has no"),
        ("  -- The number.\n", "", "autoviz_half.whole has no comment"),
        ("-- Half of it.\n", "", "autoviz_half.returned has no comment"),
        ("  -- The kernel.\n", "", "autoviz_longer.id has no comment"),
        ("  -- What to reverse.\n", "", "autoviz_reversed.rows has no comment"),
        ("dur DURATION", "dur INT", "autoviz_slow.dur has the type INT"),
        ("dur DURATION", "dur", "autoviz_slow.dur has the type of nothing"),
        ("RETURNS DOUBLE", "RETURNS REAL", "autoviz_half.returned has the type REAL"),
        ("whole LONG", "whole Expr", "autoviz_half.whole has the type Expr"),
        ("TABLE autoviz_slow", "TABLE slow", "slow is neither autoviz_"),
        ("TABLE autoviz_slow", "TABLE autoviz_Slow", "autoviz_Slow is neither autoviz_"),
        ("INDEX _autoviz_slow_id", "INDEX slow_id", "slow_id is neither autoviz_"),
        ("VIEW _autoviz_private", "VIEW autoviz_private", "autoviz_private declares no columns"),
        ("CREATE OR REPLACE PERFETTO TABLE", "CREATE TABLE", "slow:5: CREATE without PERFETTO"),
        ("CREATE PERFETTO VIEW", "CREATE TEMP VIEW", "CREATE without PERFETTO"),
        ("CREATE PERFETTO VIEW", "DROP VIEW a; CREATE PERFETTO VIEW", "no DROP"),
        ("autoviz.kernels", "autoviz.*", "slow:1: an include of everything"),
        ("Kernels that", "Kernels that " + "so " * 25 + "often", "slow:3: longer than 80 columns"),
    ],
)  # fmt: skip
def test_bad_module_is_caught(good: str, bad: str, complaint: str) -> None:
    assert good in GOOD
    found = problems("slow", GOOD.replace(good, bad, 1))
    if complaint.startswith("no problem"):
        assert found == []
    else:
        assert len([line for line in found if complaint in line]) == 1, found


@pytest.mark.parametrize("name", ["slow-kernels", "2nd", "source.Layer", ""])
def test_name_that_is_no_identifier_is_caught(name: str) -> None:
    assert "can't be part of a module's name" in problems(name, GOOD)[0]
