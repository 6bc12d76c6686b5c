"""Native Perfetto traces through the whole product, against the capture they were made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from perfetto_autoviz.session import Session
from tests.conftest import ROOT
from tests.live import annotated, bare_engine, open_fresh
from tests.native import DEVICE, Event, as_trace, native_trace, write_native

CAPTURE = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"


@dataclass(frozen=True)
class Both:
    """A capture of a profiler, and the same as a native trace.

    Attributes:
        events: its complete events.
        path: the native trace.
        native: it, open.
        json: the capture, open.
    """

    events: list[Event]
    path: Path
    native: Session
    json: Session


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    path = tmp_path_factory.mktemp("native") / "run.pftrace"
    events = write_native(CAPTURE, path)
    with open_fresh(path) as native, open_fresh(CAPTURE) as json:
        yield Both(events, path, native, json)


def test_counts_are_by_name(both: Both) -> None:
    kinds = [each.category for each in both.events]
    row = both.native.query(
        "SELECT kernel_count, memcpy_count, memset_count, launch_count, annotation_count, warning"
        " FROM autoviz_capture"
    ).iloc[0]
    assert row["kernel_count"] == kinds.count("kernel")
    assert row["memcpy_count"] == kinds.count("gpu_memcpy") > 0
    assert row["memset_count"] == 0
    assert row["launch_count"] == kinds.count("cuda_runtime") + kinds.count("hip_runtime")
    assert row["annotation_count"] == kinds.count("user_annotation")
    assert row["warning"] is None


# What a native trace says otherwise: numbers of its rows, streams and ranks.
_SAME = {
    "autoviz_kernel": "ts, dur, name, kind, op, family, launch_ts, launch_dur, launch_name",
    "autoviz_iteration": "ts, dur, number, kind, name, evidence, host_ts, host_dur, kernel_count",
    "autoviz_phase": "iteration_id, phase, evidence, context_requests, generation_tokens",
    "autoviz_layer": "iteration_id, layer, kind, ts, dur, kernel_count",
}


@pytest.mark.parametrize("relation", _SAME)
def test_the_same_is_found(both: Both, relation: str) -> None:
    sql = f"SELECT {_SAME[relation]} FROM {relation} ORDER BY 1, 2, 3"
    pd.testing.assert_frame_equal(both.native.query(sql), both.json.query(sql))


def test_an_enriched_trace_of_it(both: Both, tmp_path: Path) -> None:
    sql = "SELECT ts, dur, number, kernel_count FROM autoviz_iteration ORDER BY id"
    with bare_engine(annotated(both.path, tmp_path)) as engine:
        pd.testing.assert_frame_equal(engine.query(sql), both.json.query(sql))


def test_numbers_that_no_call_repeats(tmp_path: Path) -> None:
    """A producer may write a number, as text, beside the correlation that Perfetto defines."""
    launch = Event(10_000, 20_000, "cudaLaunchKernel", "cuda_runtime", 7, 7, 3)
    kernel = Event(30_000, 40_000, "gemm", "kernel", 0, 7, 3)
    packets = []
    for raw in native_trace([launch, kernel]):
        packet = perfetto_trace_pb2.TracePacket.FromString(raw)
        if packet.HasField("gpu_render_stage_event"):
            packet.gpu_render_stage_event.extra_data.add(name="correlation_id", value="77")
        packets.append(packet.SerializeToString())
    path = tmp_path / "x.pftrace"
    path.write_bytes(as_trace(packets))
    with open_fresh(path) as session:
        row = session.query("SELECT correlation, launch_ts FROM autoviz_kernel").iloc[0]
    assert (row["correlation"], row["launch_ts"]) == (77, 10_000)


def test_all_kinds_are_there(both: Both) -> None:
    assert {each.category for each in both.events} >= {*DEVICE[:2], "user_annotation", "cpu_op"}
