"""The summary's numbers against raw captures, the truth of synthetic ones, and its doubts."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from perfetto_autoviz.errors import EngineError
from perfetto_autoviz.opening import open_trace
from perfetto_autoviz.reports.summary import CaptureSummary, summarise
from perfetto_autoviz.reports.summary_view import SummaryView
from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import read_truth
from tests.cli.handmade import capture_events
from tests.conftest import ROOT

_SERVING = "llm_serving"
B300 = (
    f"{_SERVING}/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
    "1782799835.6885648-TP-0-DECODE.trace.json.gz"
)
B200 = f"{_SERVING}/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz"
HOLE = f"{_SERVING}/sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz"
GRAPH_CAPTURE = f"{_SERVING}/sglang_qwen3-8b_mi300x_decode/bs_32_rank0.json.gz"
H100 = "pairs/hf_qwen1.5-0.5b/h100.json.gz"
OPTIMISER = "many_iterations/param_linear_40steps_rtx2080ti.json.gz"
COMPILED = "odd/torch_compile_triton_mi300.json.gz"
CPU_ONLY_NAMES = "odd/gpu_only_mi210.json.gz"


@cache
def _summary(path: Path) -> CaptureSummary:
    try:
        opened = open_trace(path)
    except EngineError as error:
        pytest.skip(f"no engine: {error}")
    with opened:
        assert isinstance(opened, Session)
        return summarise(opened)


def _raw(path: Path) -> list[dict[str, Any]]:
    document = json.loads(gzip.decompress(path.read_bytes()))
    events = document["traceEvents"] if isinstance(document, dict) else document
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    return [event for event in events if event.get("cat") in kinds]


def _union(events: list[dict[str, Any]]) -> float:
    """Time in ns in which at least one runs, by the file's own µs."""
    busy, end = 0.0, float("-inf")
    for start, stop in sorted((float(e["ts"]), float(e["ts"]) + float(e["dur"])) for e in events):
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return 1000 * busy


# The engine's timestamps are off by up to 1 ns at each of so many starts and ends.
def _tolerance(events: list[dict[str, Any]]) -> float:
    return 2.0 * len(events)


@pytest.mark.parametrize("name", [B300, B200, HOLE, H100])
def test_device_time_against_the_raw_file(corpus: Path, name: str) -> None:
    events = _raw(corpus / name)
    summary = _summary(corpus / name)
    (device,) = summary.devices
    communication = re.compile("nccl|multimem_all_reduce|allreduce", re.IGNORECASE)
    other = [event for event in events if not communication.search(event["name"])]
    near = _tolerance(events)
    start = min(float(e["ts"]) for e in events)
    end = max(float(e["ts"]) + float(e["dur"]) for e in events)
    assert device.activities == len(events)
    assert device.wall == pytest.approx(1000 * (end - start), abs=near)
    assert device.busy == pytest.approx(_union(events), abs=near)
    assert device.idle == device.wall - device.busy
    assert device.exposed_communication == pytest.approx(_union(events) - _union(other), abs=near)
    total = sum(family.total for family in summary.families)
    assert total == pytest.approx(1000 * sum(float(e["dur"]) for e in events), abs=near)
    assert sum(family.count for family in summary.families) == len(events)
    assert sum(family.share for family in summary.families) == pytest.approx(1)
    assert summary.counts["kernel"] == sum(e["cat"] == "kernel" for e in events)


def test_synthetic_capture_against_its_truth() -> None:
    summary = _summary(ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz")
    truth = read_truth(ROOT / "traces" / "vllm-gptoss20b.truth.json.gz")
    steps = [step for step in truth.iterations if step.kind == "step"]
    phases: dict[str, list[int]] = {}
    for step in steps:
        phases.setdefault(step.phase, []).append(step.requests)
    assert {group.what: (group.count, group.batch_sizes) for group in summary.iterations} == {
        phase: (len(sizes), (min(sizes), max(sizes))) for phase, sizes in phases.items()
    }
    assert summary.layers_per_step == (24, 24)
    assert sum(group.executions for group in summary.layers) == 24 * len(steps)
    for phase in summary.phases:
        mine = [step for step in steps if step.phase == phase.phase]
        assert phase.iterations == len(mine)
        assert phase.wall == sum(step.dur or 0 for step in mine)


def _doubts(summary: CaptureSummary) -> dict[str, str]:
    return {doubt.kind: doubt.text for doubt in summary.doubts}


def test_kernels_outside_iterations(corpus: Path) -> None:
    # 509 of the 1,707 activities have no launch record: the whole is said, none is dropped.
    doubts = _doubts(_summary(corpus / H100))
    assert doubts["outside_iterations"].startswith("509 of 1,707 kernels, copies and fills")
    assert "30.1 % of the device time" in doubts["outside_iterations"]


def test_a_long_hole_is_flagged(corpus: Path) -> None:
    doubts = _doubts(_summary(corpus / HOLE))
    assert "463.30 ms at a stretch" in doubts["long_gap"]


def test_graph_capture_says_why_it_has_no_layers(corpus: Path) -> None:
    summary = _summary(corpus / GRAPH_CAPTURE)
    assert summary.layers == ()
    assert [(group.what, group.count) for group in summary.iterations] == [("capture", 1)]
    assert "only capture steps" in _doubts(summary)["no_layers"]


def test_capture_without_steps_says_what_is_annotated_instead(corpus: Path) -> None:
    doubts = _doubts(_summary(corpus / COMPILED))
    assert doubts["no_iterations"].startswith(
        "no iterations: no annotation names an engine step; the most frequent are"
        " ## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh74…; not splittable otherwise: "
    )
    assert "no iterations to look for them in" in doubts["no_layers"]


def test_capture_without_annotations_says_so(corpus: Path) -> None:
    doubts = _doubts(_summary(corpus / CPU_ONLY_NAMES))
    assert doubts["no_iterations"] == (
        "no iterations: the capture has no annotations; not splittable otherwise: there are no"
        " layers with attention"
    )


def test_inferred_iterations_say_how_good_they_are(corpus: Path) -> None:
    summary = _summary(corpus / OPTIMISER)
    assert summary.iteration_grade == "good, 100.0 % of the device time"
    assert [(group.what, group.count) for group in summary.iterations] == [("step", 40)]
    assert "confidence as low as 0.85" in _doubts(summary)["unsure_iterations"]


def _handmade(tmp_path: Path, events: list[dict[str, Any]]) -> dict[str, str]:
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return _doubts(_summary(path))


def test_exact_duplicates_are_told(tmp_path: Path) -> None:
    events = capture_events()
    kernels = [event for event in events if event["cat"] == "kernel"]
    another = {**kernels[0], "name": "another"}
    doubts = _handmade(tmp_path, [*events, kernels[5], kernels[7], kernels[7], another])
    assert doubts["duplicates"].startswith(f"3 of {len(kernels) + 4} kernels, copies and fills")
    assert "duplicates" not in _handmade(tmp_path, [*events, another])


def test_kernels_without_durations_are_told(tmp_path: Path) -> None:
    events = capture_events()
    kernels = [event for event in events if event["cat"] == "kernel"]
    for kernel in kernels[1:]:
        kernel["dur"] = 0
    assert "no_durations" not in _handmade(tmp_path, events)
    kernels[0]["dur"] = 0
    assert f"all {len(kernels)} kernels is 0" in _handmade(tmp_path, events)["no_durations"]


@pytest.fixture(scope="module")
def b300(corpus: Path) -> CaptureSummary:
    return _summary(corpus / B300)


def test_repairs_are_told(b300: CaptureSummary) -> None:
    repairs = b300.capture["repairs"]
    told = [doubt.text for doubt in b300.doubts if doubt.kind == "repair"]
    assert len(told) == len(repairs)
    assert all(repair["kind"] in text for repair, text in zip(repairs, told, strict=True))


def test_is_ready_for_json(b300: CaptureSummary) -> None:
    document = b300.as_dict()
    assert json.loads(json.dumps(document, allow_nan=False))["counts"]["kernel"] == 713


@pytest.mark.parametrize("width", [40, 80, 200])
def test_view_fits_the_terminal_and_loses_no_word(b300: CaptureSummary, width: int) -> None:
    def words(columns: int) -> tuple[list[str], int]:
        screen = Console(width=columns, color_system=None)
        with screen.capture() as captured:
            screen.print(SummaryView(b300))
        lines = captured.get().splitlines()
        return " ".join(lines).split(), max(map(len, lines[1:]))

    narrow, longest = words(width)
    assert longest <= width
    assert "".join(narrow) == "".join(words(10_000)[0])
