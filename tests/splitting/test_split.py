"""Splits of synthetic and real captures, judged by their truth and their raw JSON."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perfetto_autoviz.session import Session
from perfetto_autoviz.synth.truth import read_truth
from tests.conftest import ROOT
from tests.live import bare_engine, open_fresh
from tests.splitting.conftest import Cutter

TRACES = ROOT / "traces"
SYNTHETIC = {
    "vllm-gptoss20b": TRACES / "vllm-gptoss20b.pt.trace.json.gz",
    "sglang-qwen3-8b": TRACES / "sglang-qwen3-8b-tp2" / "sglang-qwen3-8b-tp2-TP-0.trace.json.gz",
}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver")

Key = tuple[Any, ...]


def _events(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        document = json.loads(file.read())
    found: list[dict[str, Any]] = document["traceEvents"]
    return found


def _key(event: dict[str, Any]) -> Key:
    """The durable key of a device activity, from the raw JSON."""
    args = event["args"]
    return (
        event["ts"], event["dur"], event["pid"], event["tid"], args["correlation"], event["name"],
    )  # fmt: skip


def _keys(events: list[dict[str, Any]]) -> Counter[Key]:
    return Counter(_key(event) for event in events if event.get("cat") in DEVICE)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_every_iteration_holds_exactly_its_kernels(
    name: str, cutter: Cutter, tmp_path: Path
) -> None:
    capture = SYNTHETIC[name]
    truth = read_truth(capture.with_name(capture.name.split(".")[0] + ".truth.json.gz"))
    kernels = truth.kernels
    manifest = cutter(capture, iterations="all")
    files = manifest["files"]
    real = [each for each in truth.iterations if each.kind == "step"]
    assert len(files) == len(real)
    for file, iteration in zip(files, real, strict=True):
        mine = kernels["iteration"] == iteration.index
        want = Counter(
            zip(
                kernels["ts"][mine].tolist(),
                kernels["dur"][mine].tolist(),
                kernels["correlation"][mine].tolist(),
                (truth.names[name] for name in kernels["name"][mine].tolist()),
                strict=True,
            )
        )
        have = Counter(
            (round(ts * 1000), round(dur * 1000), correlation, what)
            for ts, dur, _, _, correlation, what in _keys(
                _events(tmp_path / "cuts" / file["file"])
            ).elements()
        )
        assert have == want
        assert file["counts"]["kernels"] + file["counts"]["copies"] == iteration.kernels


def _check_closed(original: Path, cut: Path) -> None:
    """A cut holds events of the capture only, and neither half a launch nor half a flow."""
    before, after = _events(original), _events(cut)
    texts = Counter(json.dumps(event, sort_keys=True) for event in before)
    assert not Counter(json.dumps(event, sort_keys=True) for event in after) - texts
    launched = {e["args"]["correlation"] for e in after if e.get("cat") in DEVICE}
    calls = [e for e in after if e.get("cat") in LAUNCHES]
    assert launched <= {e["args"]["correlation"] for e in calls}
    kept = _keys(after)
    by_correlation = {e["args"]["correlation"] for e in calls}
    whole = Counter(
        _key(e)
        for e in before
        if e.get("cat") in DEVICE and e["args"]["correlation"] in by_correlation
    )
    assert kept == whole
    assert _flow_ends(after).items() <= _flow_ends(before).items()
    assert all(_has_company(event, after) for event in after if event["ph"] == "M")


def _flow_ends(events: list[dict[str, Any]]) -> dict[Any, frozenset[str]]:
    found: dict[Any, set[str]] = {}
    for event in events:
        if event["ph"] in "stf":
            found.setdefault((event["cat"], event["id"]), set()).add(event["ph"])
    return {flow: frozenset(phases) for flow, phases in found.items()}


def _has_company(named: dict[str, Any], events: list[dict[str, Any]]) -> bool:
    return any(event["pid"] == named["pid"] for event in events if event["ph"] != "M")


REAL = {
    "vllm decode": "llm_serving/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz",
    "vllm prefill, overlapping kernels": (
        "llm_serving/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz"
    ),
    "sglang decode, overlapping kernels": (
        "llm_serving/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
        "1782799835.6885648-TP-0-DECODE.trace.json.gz"
    ),
    "training": "train/a100_ddp_nccl_meta_rank0of2.json.gz",
}


@pytest.mark.parametrize("name", REAL)
def test_cuts_of_real_captures_are_closed(
    name: str, corpus: Path, cutter: Cutter, tmp_path: Path
) -> None:
    capture = corpus / REAL[name]
    manifest = cutter(capture, iterations="all")
    union: Counter[Key] = Counter()
    for file in manifest["files"]:
        cut = tmp_path / "cuts" / file["file"]
        assert hashlib.sha256(cut.read_bytes()).hexdigest() == file["sha256"]
        _check_closed(capture, cut)
        union += _keys(_events(cut))
        (iteration,) = file["iterations"]
        assert _keys(_events(cut)).total() == iteration["activity_count"]
    assert union <= _keys(_events(capture))
    assert union.total() == sum(f["iterations"][0]["activity_count"] for f in manifest["files"])


def test_steps_inside_a_step_are_cut_by_their_level(
    corpus: Path, cutter: Cutter, tmp_path: Path
) -> None:
    folder = "pairs/xdit_flux_1024px_two_attention_backends"
    capture = corpus / folder / "sage.json.gz"
    manifest = cutter(capture, iterations="all", level=1)
    assert len(manifest["files"]) == 4  # denoising steps of one generation
    for file in manifest["files"]:
        events = _events(tmp_path / "cuts" / file["file"])
        texts = [e["name"] for e in events if e.get("cat") == "user_annotation"]
        # Its own graph and what is around it, but not the graphs beside it.
        assert sum(text.startswith("## Call CompiledFxGraph") for text in texts) == 1
        assert any(text.startswith("execute_diffusion") for text in texts)


def test_a_plain_trace_processor_reads_all_of_a_cut(cutter: Cutter, tmp_path: Path) -> None:
    (file,) = cutter(SYNTHETIC["vllm-gptoss20b"], iterations="2-3")["files"]
    cut = tmp_path / "cuts" / file["file"]
    events = Counter(event["ph"] for event in _events(cut))
    with bare_engine(cut, package=False) as engine:
        loaded = engine.query("SELECT count() AS slices FROM slice")["slices"].iloc[0]
        arrows = engine.query("SELECT count() AS arrows FROM flow")["arrows"].iloc[0]
        lost = engine.query("SELECT name FROM stats WHERE severity != 'info' AND value > 0")
    assert (loaded, arrows) == (events["X"], events["f"])
    assert lost.empty, lost


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_cut_annotates_to_the_same_result(name: str, cutter: Cutter, tmp_path: Path) -> None:
    capture = SYNTHETIC[name]
    manifest = cutter(capture, iterations="4,6-9")
    with open_fresh(capture) as session:
        whole = _results(session)
    for file in manifest["files"]:
        numbers = [row["number"] for row in file["iterations"]]
        with open_fresh(tmp_path / "cuts" / file["file"]) as session:
            cut = _results(session)
        for relation, frame in cut.items():
            want = whole[relation][whole[relation]["number"].isin(numbers)]
            want = want.assign(number=want["number"] - numbers[0]).reset_index(drop=True)
            pd.testing.assert_frame_equal(frame, want, check_dtype=False, obj=relation)


_QUERIES = {
    "iterations": """
        SELECT number, ts, dur, kind, name, dialect, evidence, host_ts, host_dur,
               activity_count, kernel_count, busy_dur
        FROM autoviz_iteration WHERE level = 0 ORDER BY id""",
    "phases": """
        SELECT iteration.number, phase.phase, phase.batch_size, phase.context_requests,
               phase.generation_requests, phase.context_tokens, phase.evidence
        FROM autoviz_phase AS phase
        JOIN autoviz_iteration AS iteration ON iteration.id = phase.iteration_id
        ORDER BY iteration.id""",
    "layers": """
        SELECT iteration.number, layer.layer, layer.kind, layer.ts, layer.dur,
               layer.kernel_count
        FROM autoviz_layer AS layer
        JOIN autoviz_iteration AS iteration ON iteration.id = layer.iteration_id
        ORDER BY iteration.id, layer.layer""",
    "kernels": """
        SELECT iteration.number, kernel.ts, kernel.dur, kernel.op, kernel.family,
               kernel.stream, kernel.correlation, kernel.launch_ts, kernel.launch_name
        FROM autoviz_iteration_kernel AS member
        JOIN autoviz_iteration AS iteration ON iteration.id = member.iteration_id
        JOIN autoviz_kernel AS kernel USING (seq)
        ORDER BY kernel.seq""",
}


def _results(session: Session) -> dict[str, pd.DataFrame]:
    return {name: session.query(sql) for name, sql in _QUERIES.items()}


def test_steady_windows_are_those_that_the_relation_states(cutter: Cutter) -> None:
    capture = SYNTHETIC["vllm-gptoss20b"]
    with open_fresh(capture) as session:
        stated = session.query(
            "SELECT mode, first_number, last_number FROM autoviz_steady_window WHERE level = 0"
        )
    files = cutter(capture, steady="all")["files"]
    assert [
        (file["window"], *sorted(row["number"] for row in file["iterations"])) for file in files
    ] == [
        (f"steady-{row.mode}", *range(int(row.first_number), int(row.last_number) + 1))
        for row in stated.itertuples()
    ]


REFERENCES = Path(__file__).with_name("references")


def _listing(folder: Path, files: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What is pinned of each cut: its events by kind, and a hash of its activities' keys."""
    for file in files:
        events = _events(folder / file["file"])
        keys = sorted(map(repr, _keys(events).elements()))
        yield {
            "window": file["window"],
            "events": dict(
                sorted(Counter(f"{e['ph']} {e.get('cat', '-')}" for e in events).items())
            ),
            "activities": hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16],
        }


@pytest.mark.parametrize("name", SYNTHETIC)
def test_reference_splits(name: str, refresh: bool, cutter: Cutter, tmp_path: Path) -> None:
    manifest = cutter(SYNTHETIC[name], iterations="all", first=True, last=True, phases=True)
    found = list(_listing(tmp_path / "cuts", manifest["files"]))
    reference = REFERENCES / f"{name}.json"
    if refresh:
        reference.parent.mkdir(exist_ok=True)
        reference.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(reference.read_text(encoding="utf-8"))
