from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perfetto_autoviz.engine import Engine, start_engine
from perfetto_autoviz.engine.engine import SMALL_TRACE
from perfetto_autoviz.engine.protocol import MAX_MESSAGE
from perfetto_autoviz.errors import EngineError, QueryError
from tests.engine.conftest import TINY_TRACE, engine_pid

ENDLESS = (
    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 4000000000)"
    " SELECT COUNT(*) FROM c"
)


def test_loaded_times_are_exact(engine: Engine) -> None:
    rows = engine.query("SELECT name, ts, dur FROM slice ORDER BY ts")
    assert rows.values.tolist() == [["gemm", 10_000, 5_500], ["softmax", 20_000, 2_000]]


def test_what_the_engine_says_about_itself(engine: Engine) -> None:
    assert (engine.kind, engine.version, engine.drops_overlaps) == ("wasm", "v55.3", True)


def test_values_at_the_edges_of_their_types(engine: Engine) -> None:
    row = engine.query(
        "SELECT 9223372036854775807 AS high, -9223372036854775808 AS low, 1e400 AS inf,"
        " CAST(x'fffe41' AS TEXT) AS broken, x'00ff' AS blob, '' AS empty, NULL AS nil"
    ).iloc[0]
    assert row.tolist() == [2**63 - 1, -(2**63), float("inf"), "��A", b"\x00\xff", "", None]


def test_only_the_last_statement_answers(engine: Engine) -> None:
    assert engine.query("SELECT 1 AS a; SELECT 2 AS b;")["b"].tolist() == [2]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT x FROM nowhere", 'no such table: nowhere ("stdin" line 1 col 1: SELECT x FROM'),
        ("SELEC 1", "syntax error near 'SELEC'"),
        ("", "No valid SQL to run"),
        ("SELECT '\ud800'", "unpaired surrogate"),
    ],
)
def test_refused_sql(engine: Engine, sql: str, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        engine.query(sql)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert engine.query("SELECT 1 AS a")["a"].tolist() == [1]


def test_sql_beyond_the_message_limit(engine: Engine) -> None:
    with pytest.raises(QueryError, match="64 MiB: split it"):
        engine.query(f"SELECT 1 AS a --{' ' * MAX_MESSAGE}")
    assert engine.query("SELECT 1 AS a")["a"].tolist() == [1]


def test_sql_beyond_the_request_buffer(engine: Engine) -> None:
    assert engine.query("SELECT 1 AS a --".ljust(33 * 2**20))["a"].tolist() == [1]


def test_packages_are_registered_and_replaced(engine: Engine) -> None:
    for value in (1, 2):
        module = f"CREATE OR REPLACE PERFETTO TABLE pkg_table AS SELECT {value} AS a"
        engine.register_package("pkg", {"pkg.deep.part": module})
        rows = engine.query("INCLUDE PERFETTO MODULE pkg.deep.part; SELECT a FROM pkg_table")
        assert rows["a"].tolist() == [value]


def test_refused_packages(engine: Engine) -> None:
    with pytest.raises(QueryError, match="SQL package one can't be registered"):
        engine.register_package("one", {"two.module": "SELECT 1"})
    with pytest.raises(QueryError, match="package big has 64 MiB"):
        engine.register_package("big", {"big.module": " " * MAX_MESSAGE})


def test_an_error_inside_a_module_names_the_module(engine: Engine) -> None:
    engine.register_package("bad", {"bad.module": "CREATE PERFETTO TABLE t AS\nSELECT no_column"})
    with pytest.raises(QueryError, match=r'no_column \(Module include "bad.module" line 2 col 8'):
        engine.execute("INCLUDE PERFETTO MODULE bad.module")


def test_threads_share_an_engine(engine: Engine) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda i: engine.query(f"SELECT {i} AS i")["i"][0], range(40))
    assert list(answers) == list(range(40))


def test_stats_without_zeros(fresh_engine: Engine) -> None:
    events = [
        {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 10, "dur": 10},
        {"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 15, "dur": 10},
        {"ph": "X", "name": "c", "pid": 1, "tid": 1, "ts": 50, "dur": -1},
    ]
    fresh_engine.load([json.dumps(events).encode()])
    stats = {stat.name: (stat.value, stat.severity) for stat in fresh_engine.stats()}
    assert stats["slice_drop_overlapping_complete_event"] == (1, "error")
    assert stats["slice_negative_duration"] == (1, "error")
    assert all(value for value, _ in stats.values())


def test_a_trace_in_crumbs_and_compressed(fresh_engine: Engine) -> None:
    events = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(500)]
    data = gzip.compress(json.dumps(events).encode())
    fresh_engine.load(data[i : i + 7] for i in range(0, len(data), 7))
    assert fresh_engine.query("SELECT COUNT(*) AS n FROM slice")["n"].tolist() == [500]


def test_a_chunk_beyond_the_message_limit(fresh_engine: Engine) -> None:
    event = b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}'
    fresh_engine.load([b"[" + event + b" " * (70 * 2**20) + b"]"])
    assert fresh_engine.query("SELECT COUNT(*) AS n FROM slice")["n"].tolist() == [1]


def test_an_engine_takes_one_trace(engine: Engine) -> None:
    with pytest.raises(EngineError, match="takes one trace"):
        engine.load([b"[]"])
    assert engine.query("SELECT COUNT(*) AS n FROM slice")["n"].tolist() == [2]


def test_an_engine_without_a_trace_answers(fresh_engine: Engine) -> None:
    fresh_engine.execute("CREATE PERFETTO TABLE t AS SELECT 1 AS a")
    assert fresh_engine.query("SELECT a FROM t")["a"].tolist() == [1]


def test_a_file_that_is_no_trace(fresh_engine: Engine) -> None:
    with pytest.raises(EngineError, match="can't read the trace: Trace parse failure") as raised:
        fresh_engine.load([b"hello"])
    assert "\n" not in str(raised.value)


def test_an_error_of_the_source_passes_through(fresh_engine: Engine) -> None:
    def source() -> Iterator[bytes]:
        yield bytes(3 * 2**20)
        raise ZeroDivisionError

    with pytest.raises((ZeroDivisionError, EngineError)):
        fresh_engine.load(source())


@pytest.mark.parametrize(("size", "told"), [(SMALL_TRACE, True), (SMALL_TRACE + 1, False)])
def test_an_engine_is_told_that_its_trace_is_small(
    wasm_folder: Path, size: int, told: bool
) -> None:
    with start_engine(str(wasm_folder), trace_bytes=size) as engine:
        command = Path(f"/proc/{engine_pid()}/cmdline").read_bytes().split(b"\0")
        assert (b"--small-trace" in command) is told
        engine.load([TINY_TRACE])
        # The more steps of SQLite's machine, the sooner it would be compiled anew.
        rows = engine.query(
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c"
            " WHERE i < 100000) SELECT sum(i * dur) AS total FROM c, slice"
        )
        assert rows["total"][0] == 100_000 * 100_001 // 2 * (5_500 + 2_000)


def test_closed_engines_say_so(wasm_folder: Path) -> None:
    with start_engine(str(wasm_folder)) as engine:
        engine.query("SELECT 1 AS a")
    engine.close()
    with pytest.raises(EngineError, match="was closed"):
        engine.query("SELECT 1 AS a")


def test_closing_ends_a_query_of_another_thread(fresh_engine: Engine) -> None:
    threading.Timer(0.3, fresh_engine.close).start()
    begin = time.monotonic()
    with pytest.raises(EngineError, match="was closed"):
        fresh_engine.query(ENDLESS)
    assert time.monotonic() - begin < 5


def test_many_engines_at_once(wasm_folder: Path) -> None:
    def answer(number: int) -> int:
        with start_engine(str(wasm_folder)) as engine:
            engine.execute(f"CREATE PERFETTO TABLE mine AS SELECT {number} AS n")
            return int(engine.query("SELECT n FROM mine")["n"][0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(answer, range(4))) == [0, 1, 2, 3]
