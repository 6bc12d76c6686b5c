"""What captures say about themselves, read from the raw files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfetto_autoviz.ingest import CaptureMetadata, scan_capture
from perfetto_autoviz.ingest.metadata import describe, read_surroundings

SERVING = "llm_serving"

# From the files' own text: deviceProperties, distributedInfo, *_runtime_version.
REAL: dict[str, dict[str, Any]] = {
    f"{SERVING}/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
    "1782799835.6885648-TP-0-DECODE.trace.json.gz": {
        "rank": 0,
        "world_size": 1,
        "backend": "nccl",
        "gpu_name": "NVIDIA B300 SXM6 AC",
        "gpu_count": 1,
        "runtime": "cuda 13.0",
        "collective_library": "nccl 2.28.9",
        "trace_name": "/tmp/tmpj4c9j8yf.json",
        "base_time_ns": 1775078550000000000,
        "schema_version": 1,
    },
    f"{SERVING}/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz": {
        "gpu_name": None,  # blank in the file
        "gpu_count": 8,
        "runtime": "hip 7.0.51831",
    },
    f"{SERVING}/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz": {
        "world_size": 8,
        "gpu_name": "NVIDIA B200",
        "gpu_count": 8,
        "runtime": "cuda 12.9",
        "collective_library": "nccl 2.27.5",
    },
    # Keys of this one stand behind the events, too.
    "pairs/hf_timesformer/mi300.json.gz": {
        "gpu_name": "AMD Instinct MI300X VF",
        "runtime": "hip 6.4.43483",
        "trace_name": "/tmp/tmpt39v83zt/file.json",
        "base_time_ns": 1751410836000000000,
        "rank": None,
    },
    # A bare list of events says nothing about itself.
    "train/tb_resnet50_old_kineto.json.gz": {"gpu_name": None, "gpu_count": None, "rank": None},
}


@pytest.mark.parametrize("name", REAL)
def test_real_captures(corpus: Path, name: str) -> None:
    metadata = scan_capture(corpus / name, drops_overlaps=False).metadata
    assert {key: getattr(metadata, key) for key in REAL[name]} == REAL[name]


def test_other_keys_are_kept(corpus: Path) -> None:
    metadata = scan_capture(
        corpus / "pairs/hf_timesformer/mi300.json.gz", drops_overlaps=False
    ).metadata
    assert metadata.other["metadata"]["num_errors"] == 0
    assert metadata.other["with_stack"] == 1
    assert "traceEvents" not in metadata.other


@pytest.mark.parametrize(
    ("top", "field", "value"),
    [
        ({"cuda_runtime_version": 12040}, "runtime", "cuda 12.4"),
        ({"hip_runtime_version": 71326183}, "runtime", "hip 7.13.26183"),
        ({"hip_runtime_version": "70253211"}, "runtime", "hip 7.2.53211"),
        ({"cuda_runtime_version": None}, "runtime", None),
        ({"distributedInfo": {"rank": "3"}}, "rank", 3),
        ({"distributedInfo": {"rank": True}}, "rank", None),
        ({"distributedInfo": "none"}, "rank", None),
        ({"deviceProperties": {}}, "gpu_count", None),
        ({"deviceProperties": [{"id": 0, "name": " "}]}, "gpu_name", None),
        ({"traceName": ""}, "trace_name", None),
    ],
)
def test_fields(top: dict[str, Any], field: str, value: object) -> None:
    assert getattr(describe(top, {}), field) == value


def test_the_name_is_that_of_the_device_the_kernels_ran_on() -> None:
    devices = [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}, {"id": 2, "name": ""}]
    top = {"deviceProperties": devices}
    assert describe(top, {1: 20, 0: 3}).gpu_name == "B"
    assert describe(top, {2: 20}).gpu_name is None
    assert describe(top, {"GPU 7": 20}).gpu_name is None
    assert describe({"deviceProperties": devices[:1]}, {"GPU 7": 1}).gpu_name == "A"


def test_nothing_known() -> None:
    assert describe({}, {}) == CaptureMetadata()


def test_text_around_the_events() -> None:
    read = read_surroundings(b'{"a": 1,', b', "b": [2]}\n oops', bare=False)
    assert (read.before, read.after) == ({"a": 1}, {"b": [2]})
    assert (read.garbage, read.lost, read.closed) == (4, 0, True)
    read = read_surroundings(b"{", b', "b": "cut of', bare=False)
    assert (read.after, read.lost, read.closed) == ({}, len('"b": "cut of'), False)
    read = read_surroundings(b"", b" ", bare=True)
    assert (read.before, read.garbage, read.closed) == ({}, 0, True)
