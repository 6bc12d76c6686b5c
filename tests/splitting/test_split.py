"""Splits of synthetic and real captures, judged by their truth and their raw JSON."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import read_truth, truth_path
from tests.conftest import ROOT
from tests.live import bare_engine, open_fresh
from tests.splitting.conftest import Cutter, split_session

TRACES = ROOT / "traces"
SYNTHETIC = {
    "vllm-gptoss20b": TRACES / "vllm-gptoss20b.pt.trace.json.gz",
    "sglang-qwen3-8b": TRACES / "sglang-qwen3-8b-tp2" / "sglang-qwen3-8b-tp2-TP-0.trace.json.gz",
}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver")

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Example:
    """A synthetic capture that is open, and cuts of it.

    Attributes:
        name: of the capture.
        path: the capture.
        session: it, open.
        each: folder of a file for each iteration and each phase.
        each_files: what its manifest says of them.
        windows: folder of windows of several iterations.
        window_files: what its manifest says of them.
    """

    name: str
    path: Path
    session: Session
    each: Path
    each_files: list[dict[str, Any]]
    windows: Path
    window_files: list[dict[str, Any]]


@pytest.fixture(scope="module", params=SYNTHETIC)
def example(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Example]:
    """Each capture, opened once for all tests."""
    path = SYNTHETIC[request.param]
    each, windows = (tmp_path_factory.mktemp(name) for name in ("each", "windows"))
    with open_fresh(path) as session:
        yield Example(
            request.param,
            path,
            session,
            each,
            split_session(session, each, iterations="all", first=True, last=True, phases=True),
            windows,
            split_session(session, windows, iterations="4,6-9", steady="all"),
        )


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


def test_every_iteration_holds_exactly_its_kernels(example: Example) -> None:
    truth = read_truth(truth_path(example.path))
    kernels = truth.kernels
    files = [file for file in example.each_files if "--iterations all" in file["chosen_by"]]
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
                _events(example.each / file["file"])
            ).elements()
        )
        assert have == want
        assert file["counts"]["kernels"] + file["counts"]["copies"] == iteration.kernels


def _check_closed(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """A cut holds events of the capture only, and neither half a launch nor half a flow."""
    texts = Counter(map(repr, before))
    assert not Counter(map(repr, after)) - texts
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
    before = _events(capture)
    manifest = cutter(capture, iterations="all")
    union: Counter[Key] = Counter()
    for file in manifest["files"]:
        cut = tmp_path / "cuts" / file["file"]
        assert hashlib.sha256(cut.read_bytes()).hexdigest() == file["sha256"]
        after = _events(cut)
        _check_closed(before, after)
        union += _keys(after)
        (iteration,) = file["iterations"]
        assert _keys(after).total() == iteration["activity_count"]
    assert union <= _keys(before)
    assert union.total() == sum(f["iterations"][0]["activity_count"] for f in manifest["files"])


def test_a_plain_trace_processor_reads_all_of_a_cut(example: Example) -> None:
    cut = example.windows / example.window_files[1]["file"]
    events = Counter(event["ph"] for event in _events(cut))
    with bare_engine(cut, package=False) as engine:
        loaded = engine.query("SELECT count() AS slices FROM slice")["slices"].iloc[0]
        arrows = engine.query("SELECT count() AS arrows FROM flow")["arrows"].iloc[0]
        lost = engine.query("SELECT name FROM stats WHERE severity != 'info' AND value > 0")
    assert (loaded, arrows) == (events["X"], events["f"])
    assert lost.empty, lost


def test_a_cut_annotates_to_the_same_result(example: Example) -> None:
    """Up to the numbers of steps and runs and the names of patterns, as far as those repeat."""
    whole = _results(example.session)
    files = example.window_files[:2]
    assert [len(file["iterations"]) for file in files] == [1, 4]
    for file in files:
        numbers = [row["number"] for row in file["iterations"]]
        span = file["ts"], file["ts"] + file["dur"]
        with open_fresh(example.windows / file["file"]) as session:
            cut, runs = _results(session), _pattern_runs(session, *span)
        assert len(runs) > 0
        pd.testing.assert_frame_equal(runs, _pattern_runs(example.session, *span))
        for relation, frame in cut.items():
            want = whole[relation][whole[relation]["number"].isin(numbers)]
            want = want.assign(number=want["number"] - numbers[0]).reset_index(drop=True)
            pd.testing.assert_frame_equal(frame, want, check_dtype=False, obj=relation)


def _pattern_runs(session: Session, start: int, end: int) -> pd.DataFrame:
    """Runs in a span of patterns that run there at least twice, each with its operations."""
    runs = session.query(
        "SELECT pattern_id, ts, dur, device, stream, missing, extra, swapped"
        f" FROM autoviz_pattern_run WHERE ts >= {start} AND ts + dur <= {end}"
    )
    runs = runs[runs.groupby("pattern_id")["ts"].transform("size") > 1]
    positions = session.query(
        "SELECT pattern_id, coalesce(op, 'a pattern') AS op FROM autoviz_pattern_position"
        " ORDER BY pattern_id, position"
    )
    sequences = positions.groupby("pattern_id")["op"].agg(tuple).rename("ops")
    joined = runs.join(sequences, on="pattern_id").drop(columns="pattern_id")
    return joined.sort_values(["ts", "dur"]).reset_index(drop=True)


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


def test_steady_windows_are_those_that_the_relation_states(example: Example) -> None:
    stated = example.session.query(
        "SELECT mode, first_number, last_number FROM autoviz_steady_window WHERE level = 0"
    )
    files = [file for file in example.window_files if "--steady" in file["chosen_by"]]
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


def test_reference_splits(example: Example, refresh: bool) -> None:
    found = list(_listing(example.each, example.each_files))
    reference = REFERENCES / f"{example.name}.json"
    if refresh:
        reference.parent.mkdir(exist_ok=True)
        reference.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(reference.read_text(encoding="utf-8"))
