"""Each module works on its own, in a capture that nobody annotated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from perfetto_autoviz.engine import Engine, start_engine
from perfetto_autoviz.errors import EngineError, QueryError
from perfetto_autoviz.sqlpackage import PACKAGE, modules
from tests.sql.documentation import COLUMN_TYPES, Definition, definitions

MODULES = modules()

KERNEL_ARGUMENTS = {
    "device": 0, "stream": 7, "correlation": 11,
    "grid": [4, 2, 1], "block": [256, 1, 1], "registers per thread": 32, "shared memory": 1024,
}  # fmt: skip
CAPTURE = {
    "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "execute_context_0(0)_generation_2(2)",
         "pid": 9, "tid": 9, "ts": 1, "dur": 8},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
         "pid": 9, "tid": 9, "ts": 2, "dur": 3, "args": {"correlation": 11}},
        {"ph": "X", "cat": "kernel", "name": "gemm_kernel",
         "pid": 0, "tid": 7, "ts": 10, "dur": 4, "args": KERNEL_ARGUMENTS},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)",
         "pid": 0, "tid": 7, "ts": 16.5, "dur": 2,
         "args": {"device": 0, "stream": 7, "correlation": 12, "bytes": 64}},
    ]
}  # fmt: skip

STORED = re.compile(r"_autoviz_src_\w+")


@pytest.fixture(scope="module")
def loaded() -> Iterator[Engine]:
    """An engine with the capture, for all tests here: registering anew forgets the includes."""
    try:
        engine = start_engine(trace_bytes=0)
    except EngineError as error:
        pytest.skip(f"no trace processor: {error}")
    with engine:
        engine.load([json.dumps(CAPTURE).encode()])
        yield engine


@pytest.fixture
def engine(loaded: Engine) -> Engine:
    """The engine with the package as shipped, and nothing of it included or left over."""
    forget(loaded)
    loaded.register_package(PACKAGE, {name: module.sql for name, module in MODULES.items()})
    return loaded


def forget(engine: Engine) -> None:
    """Drops what earlier tests defined, or a module could lean on what it doesn't include."""
    made = engine.query(
        "SELECT type, name FROM sqlite_master WHERE name GLOB 'autoviz_*' OR name GLOB '_autoviz_*'"
    )
    for kind, name in zip(made["type"], made["name"], strict=True):
        if kind in {"table", "view"}:
            engine.execute(f"DROP {kind} {name}")


def relations(name: str) -> list[Definition]:
    return [d for d in definitions(MODULES[name].sql) if d.kind in {"TABLE", "VIEW"}]


@pytest.mark.parametrize("name", MODULES)
def test_module_works_on_its_own(name: str, engine: Engine) -> None:
    engine.execute(f"INCLUDE PERFETTO MODULE {name}")
    for relation in relations(name):
        columns = list(engine.query(f"SELECT * FROM {relation.name}").columns)
        assert columns == [column.name for column in relation.members]


@pytest.mark.parametrize("name", [n for n in MODULES if n.startswith(f"{PACKAGE}.source.")])
def test_source_of_a_capture_without_annotations_is_empty(name: str, engine: Engine) -> None:
    engine.execute(f"INCLUDE PERFETTO MODULE {name}")
    for relation in relations(name):
        assert engine.query(f"SELECT * FROM {relation.name}").empty


@pytest.mark.parametrize("name", MODULES)
def test_module_can_be_included_again_after_registering_anew(name: str, engine: Engine) -> None:
    engine.execute(f"INCLUDE PERFETTO MODULE {name}")
    engine.register_package(PACKAGE, {n: module.sql for n, module in MODULES.items()})
    engine.execute(f"INCLUDE PERFETTO MODULE {name}")


def test_module_that_leans_on_what_it_does_not_include_fails(engine: Engine) -> None:
    engine.execute(f"INCLUDE PERFETTO MODULE {PACKAGE}.kernels")
    forget(engine)
    careless = f"{PACKAGE}.careless"
    engine.register_package(
        PACKAGE, {careless: "CREATE PERFETTO VIEW _autoviz_x AS SELECT id FROM autoviz_kernel"}
    )
    with pytest.raises(QueryError, match="autoviz_kernel"):
        engine.execute(f"INCLUDE PERFETTO MODULE {careless}; SELECT * FROM _autoviz_x")


def test_kernels_need_no_annotations(engine: Engine) -> None:
    rows = engine.query(
        f"INCLUDE PERFETTO MODULE {PACKAGE}.kernels;"
        " SELECT ts, dur, name, kind, op, device, stream, correlation, launch_name, launch_delay,"
        " idle_before, overlap_before, grid_y, block_x, registers, shared_memory, bytes"
        " FROM autoviz_kernel ORDER BY seq"
    )
    kernel, copy = rows.astype(object).where(rows.notna(), None).values.tolist()
    assert kernel == [
        10_000, 4_000, "gemm_kernel", "kernel", None, 0, 7, 11, "cudaLaunchKernel", 8_000,
        None, None, 2, 256, 32, 1024, None,
    ]  # fmt: skip
    assert copy == [
        16_500, 2_000, "Memcpy HtoD (Pageable -> Device)", "memcpy", None, 0, 7, 12, None, None,
        2_500, 0, None, None, None, None, 64,
    ]  # fmt: skip


def test_streams_are_busy_without_annotations(engine: Engine) -> None:
    rows = engine.query(
        f"INCLUDE PERFETTO MODULE {PACKAGE}.utilization;"
        " SELECT wall_dur, sum_dur, busy_dur, idle_dur, compute_dur, copy_dur"
        " FROM autoviz_stream_busy"
    )
    # From 10 to 18.5 µs, of which 4 compute, 2.5 are idle and 2 copy.
    assert rows.values.tolist() == [[8_500, 6_000, 6_000, 2_500, 4_000, 2_000]]


def test_declared_types_hold_in_the_engine(engine: Engine) -> None:
    """The engine checks a table's values against its types; a wrong one must not pass."""
    assert "STRING" in COLUMN_TYPES
    with pytest.raises(QueryError):
        engine.execute("CREATE PERFETTO TABLE _autoviz_wrong(name LONG) AS SELECT 'x' AS name")
