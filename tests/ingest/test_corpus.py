"""Every real capture: counts against a plain JSON reader, and nothing lost on old engines."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest import scan_capture
from perfetto_autoviz.ingest.clock import engine_ns
from tests.ingest.conftest import ANNOTATION, LAUNCH
from tests.ingest.test_overlaps import dropped

FOLDERS = ("llm_serving", "many_iterations", "multirank", "odd", "pairs", "train")

# Named by what the README of the captures says of them.
NO_GPU_WORK = {
    "aiu_allreduce_tp4_begin_end.json": "no GPU kernel",
    "cpu_only_rank34of300.json.gz": "no GPU kernel",
    "cupti_profiler_ranges.json.gz": "hardware counter ranges",
    "mtia_inference.json.gz": "MTIA",
    "no_rank_no_gpu.json.gz": "no GPU kernel",
}

B300 = (
    "llm_serving/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
    "1782799835.6885648-TP-0-DECODE.trace.json.gz"
)


def files(corpus: Path, folder: str) -> list[Path]:
    found = [p for p in sorted((corpus / folder).rglob("*.json*")) if p.name not in NO_GPU_WORK]
    assert found
    return found


def read(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    trace = orjson.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    events: list[dict[str, Any]] = trace if isinstance(trace, list) else trace["traceEvents"]
    return events


def lost(events: list[dict[str, Any]]) -> int:
    """Slices that an engine up to v56 drops."""
    threads: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event.get("ph") == "X":
            threads[event["pid"], event["tid"]].append(event)
    total = 0
    for slices in threads.values():
        start = engine_ns(np.array([event["ts"] for event in slices], np.float64))
        end = start + engine_ns(np.array([event["dur"] for event in slices], np.float64))
        total += dropped(list(zip(start.tolist(), end.tolist(), strict=True)))
    return total


@pytest.mark.parametrize("folder", FOLDERS)
def test_counts_and_completeness(corpus: Path, folder: str) -> None:
    for path in files(corpus, folder):
        events = read(path)
        counted = Counter(
            str(event.get("cat")).lower() for event in events if event.get("ph") == "X"
        )
        capture = scan_capture(path, drops_overlaps=True)
        counts = capture.counts
        assert capture.event_count == len(events), path
        assert counts.kernel == counted["kernel"], path
        assert counts.memcpy == counted["gpu_memcpy"] + counted["memcpy"], path
        assert counts.memset == counted["gpu_memset"] + counted["memset"], path
        assert counts.launch == sum(counted[name] for name in LAUNCH), path
        assert counts.annotation == sum(counted[name] for name in ANNOTATION), path
        assert capture.original_is_enough, path
        if not capture.repairs:
            assert lost(events) == 0, path
            continue
        assert lost(events) > 0, path
        written = orjson.loads(b"".join(capture.chunks()))["traceEvents"]
        assert lost(written) == 0, path
        moved = [(a, b) for a, b in zip(written, events, strict=False) if a != b]
        assert all({**a, "tid": b["tid"]} == b for a, b in moved), path
        lanes = written[len(events) :]
        assert {a["tid"] for a, _ in moved} == {lane["tid"] for lane in lanes}, path


def test_the_model_of_old_engines_loses_what_they_were_seen_to_lose(corpus: Path) -> None:
    # v55.3 showed 375 of this capture's 713 kernels.
    kernels = [event for event in read(corpus / B300) if event.get("cat") == "kernel"]
    assert len(kernels) - lost(kernels) == 375


@pytest.mark.parametrize("name", NO_GPU_WORK)
def test_captures_without_gpu_work(corpus: Path, name: str) -> None:
    with pytest.raises(CaptureError, match=NO_GPU_WORK[name]):
        scan_capture(corpus / "odd" / name, drops_overlaps=True)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("odd/lfs_pointer_instead_of_data.tgz", "git lfs pull"),
        ("rocprofv3/mi350x_train_50steps_908_results.json.gz", "rocprofv3 JSON"),
        ("rocprofv3/llamacpp_prefill_gfx1151/prefill_kernel_trace.csv", "rocprofv3 CSV"),
        ("nsys/dit_2gpu_before_after/mfu_2gpu_before.sqlite", "nsys SQLite"),
        ("nsys/cloverleaf/cloverleaf_gpu_trace.csv", "CSV"),
        ("nsys/nbody-nvtx/trace.csv", "nsys CSV"),
        ("perfetto/gpu_info.textproto", "no capture"),
    ],
)
def test_other_kinds_of_files(corpus: Path, name: str, says: str) -> None:
    with pytest.raises(CaptureError, match=says):
        scan_capture(corpus / name, drops_overlaps=True)
