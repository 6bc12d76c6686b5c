"""``autoviz query``: statements, formats, ranks."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.handmade import BATCH_SIZES, LAYER_KERNELS, LAYERS, write_capture

Run = Callable[..., Any]

KERNELS = len(BATCH_SIZES) * LAYERS * len(LAYER_KERNELS)
ODD_VALUES = (
    "SELECT 9223372036854775807 AS big, NULL AS none, 0.1 AS part, 1e999 AS endless,"
    " 'a,\"b' || char(10) || 'c' AS words UNION ALL SELECT 1, 2, 3, 4, NULL"
)


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    for rank in (0, 1):
        write_capture(folder / f"rank{rank}.json")
    return folder


def test_table(autoviz: Run, capture: Path) -> None:
    done = autoviz(
        "query",
        capture,
        "SELECT phase, batch_size, count() AS n FROM autoviz_phase GROUP BY 1, 2 ORDER BY 2",
    )
    assert done == (
        0,
        "phase   batch_size  n\n"
        "------  ----------  -\n"
        "decode           8  2\n"
        "decode          16  1\n"
        "(2 rows)\n",
        "",
    )


def test_json_keeps_every_value(autoviz: Run, capture: Path) -> None:
    done = autoviz("query", capture, ODD_VALUES, "--format", "json")
    assert json.loads(done.out) == [
        {"big": 2**63 - 1, "none": None, "part": 0.1, "endless": None, "words": 'a,"b\nc'},
        {"big": 1, "none": 2, "part": 3.0, "endless": 4.0, "words": None},
    ]


def test_csv_keeps_every_value(autoviz: Run, capture: Path) -> None:
    done = autoviz("query", capture, ODD_VALUES, "--format", "csv")
    header, first, second = csv.reader(io.StringIO(done.out))
    assert header == ["big", "none", "part", "endless", "words"]
    assert first == [str(2**63 - 1), "", "0.1", "inf", 'a,"b\nc']
    assert second[:4] == ["1", "2", "3.0", "4.0"]


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_no_rows(autoviz: Run, capture: Path, form: str) -> None:
    done = autoviz("query", capture, "SELECT 1 AS a WHERE 0", "--format", form)
    assert done.code == 0
    assert done.out == {"table": "a\n-\n(0 rows)\n", "csv": "a\n", "json": "[]\n"}[form]


def test_statement_from_file_and_standard_input(
    autoviz: Run, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT count() AS n FROM autoviz_kernel"
    path = tmp_path / "count.sql"
    path.write_text(sql)
    wanted = (0, f"n\n{KERNELS}\n", "")
    assert autoviz("query", capture, f"@{path}", "--format", "csv") == wanted
    monkeypatch.setattr("sys.stdin", io.StringIO(sql))
    assert autoviz("query", capture, "-", "--format", "csv") == wanted


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nope", "no such column: nope"),
        ("SELECT * FROM nope", "no such table: nope"),
        ("SELEC 1", "syntax error"),
        ("  \n", "the SQL statement is empty"),
        ("@missing.sql", "missing.sql"),
    ],
)
def test_wrong_statement_is_told_in_one_line(
    autoviz: Run, capture: Path, sql: str, said: str
) -> None:
    done = autoviz("query", capture, sql)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_ranks_have_a_leading_column(autoviz: Run, ranks: Path) -> None:
    done = autoviz("query", ranks, "SELECT count() AS n FROM autoviz_kernel", "--format", "csv")
    assert done.out == f"rank,n\n0,{KERNELS}\n1,{KERNELS}\n"


def test_all_joins_ranks(autoviz: Run, ranks: Path) -> None:
    sql = "SELECT count(DISTINCT rank) AS ranks, count() AS n FROM autoviz_iteration"
    done = autoviz("query", ranks, sql, "--all", "--format", "json")
    assert json.loads(done.out) == [{"ranks": 2, "n": 2 * len(BATCH_SIZES)}]


def test_all_needs_ranks(autoviz: Run, capture: Path) -> None:
    done = autoviz("query", capture, "SELECT 1", "--all")
    assert done.code == 2
    assert "--all is for a folder" in done.err


def test_enriched_trace_answers_the_same(autoviz: Run, capture: Path) -> None:
    sql = "SELECT ts, dur, layer, kind FROM autoviz_layer ORDER BY id"
    live = autoviz("query", capture, sql, "--format", "csv")
    assert autoviz("annotate", capture, "-q").code == 0
    stored = autoviz("query", capture.with_name("small.autoviz.zip"), sql, "--format", "csv")
    assert live.out.count("\n") == 1 + len(BATCH_SIZES) * LAYERS
    assert stored == live


@pytest.mark.skipif(os.name != "posix", reason="closes a pipe as a POSIX shell does")
def test_closed_pipe_is_quiet(capture: Path) -> None:
    program = "import sys; from perfetto_autoviz.cli import main; sys.exit(main(sys.argv[1:]))"
    sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000)"
    with subprocess.Popen(
        [sys.executable, "-c", program, "query", str(capture), f"{sql} SELECT i FROM n"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
