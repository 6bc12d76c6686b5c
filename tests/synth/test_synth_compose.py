"""The written capture against its truth, read independently with the standard library."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.synth import (
    EPOCH_US,
    PRESETS,
    Arrivals,
    ScenarioSpec,
    bench_capture,
    preset,
    read_truth,
    synthesise,
)

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def load(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    # Times stay text, so that no double can hide a lost nanosecond.
    document: dict[str, Any] = json.loads(text, parse_float=str)
    return document


def nanoseconds(text: str) -> int:
    us, ns = text.split(".")
    assert len(ns) == 3
    return int(us) * 1000 + int(ns)


def device_rows(document: dict[str, Any]) -> list[tuple[int, int, int, int, str]]:
    return sorted(
        (
            nanoseconds(e["ts"]),
            nanoseconds(e["dur"]),
            e["args"]["stream"],
            e["args"]["correlation"],
            e["name"],
        )
        for e in document["traceEvents"]
        if e.get("cat") in DEVICE
    )


def check_capture(path: Path, truth_path: Path) -> None:
    document, truth = load(path), read_truth(truth_path)
    events = document["traceEvents"]
    kernels = truth.kernels
    names = [truth.names[i] for i in kernels["name"].tolist()]
    columns = [kernels[c].tolist() for c in ("ts", "dur", "stream", "correlation")]
    assert sorted(zip(*columns, names, strict=True)) == device_rows(document)

    end = kernels["ts"] + kernels["dur"]
    for iteration in truth.iterations:
        mine = kernels["iteration"] == iteration.index
        assert int(mine.sum()) == iteration.kernels
        if iteration.kernels:
            assert iteration.ts == kernels["ts"][mine].min()
            assert iteration.dur is not None
            assert iteration.ts + iteration.dur == end[mine].max()
    texts = Counter(e["name"] for e in events if e.get("cat") == "user_annotation")
    assert all(i.name is None or texts[i.name] for i in truth.iterations)

    layers = truth.layers
    for row in range(len(layers["index"])):
        mine = (kernels["iteration"] == layers["iteration"][row]) & (
            kernels["layer"] == layers["index"][row]
        )
        assert np.flatnonzero(mine)[0] == layers["first"][row]
        assert np.flatnonzero(mine)[-1] == layers["last"][row]
        assert kernels["ts"][mine].min() == layers["ts"][row]
        assert end[mine].max() == layers["ts"][row] + layers["dur"][row]
        kind = truth.header.kinds[layers["kind"][row]]
        assert {truth.header.parts[p] for p in kernels["part"][mine]} == {kind}

    launches = {
        e["args"]["correlation"]: nanoseconds(e["ts"])
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    assert all(launches[c] < ts for ts, _, _, c, _ in device_rows(document))


def spans_nest(spans: list[tuple[int, int]]) -> bool:
    open_ends: list[int] = []
    for ts, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= ts:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            return False
        open_ends.append(end)
    return True


def small(name: str) -> ScenarioSpec:
    spec = preset(name, steps=6, ranks=min(2, PRESETS[name].ranks), seed=3)
    return replace(spec, layers=3)


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_agrees_with_its_truth(name: str, tmp_path: Path) -> None:
    for capture in synthesise(small(name), tmp_path):
        check_capture(capture.path, capture.truth_path)
        document = load(capture.path)
        assert len(document["traceEvents"]) == capture.events
        info = document["distributedInfo"]
        assert info["rank"] == capture.rank
        assert info["world_size"] == small(name).ranks


@pytest.mark.parametrize("name", list(PRESETS))
def test_host_events_nest(name: str, tmp_path: Path) -> None:
    events = load(synthesise(small(name), tmp_path)[0].path)["traceEvents"]
    host = [
        (nanoseconds(e["ts"]), nanoseconds(e["ts"]) + nanoseconds(e["dur"]))
        for e in events
        if e["ph"] == "X" and e.get("pid") == e.get("tid") and e["pid"] >= 1000
    ]
    assert host
    assert spans_nest(host)


def overlaps(path: Path) -> tuple[int, int]:
    rows = device_rows(load(path))
    streams = {row[2] for row in rows}
    touching = [
        b[0] - a[0] - a[1]
        for s in streams
        for a, b in zip(
            [r for r in rows if r[2] == s], [r for r in rows if r[2] == s][1:], strict=False
        )
    ]
    return sum(gap < 0 for gap in touching), len(touching)


def test_without_pdl_nothing_crosses_and_with_it_most_graph_kernels_do(tmp_path: Path) -> None:
    # 340 of 715 kernels are dropped, and 674 start early, in the measured B300 decode step.
    base = replace(preset("sglang-qwen3-30b-a3b-b300", steps=4), layers=6)
    apart = replace(base, pdl=False, name="apart")
    full = replace(base, arrivals=replace(base.arrivals, start_full=True), name="full")
    assert overlaps(synthesise(apart, tmp_path)[0].path)[0] == 0
    crossing, pairs = overlaps(synthesise(full, tmp_path)[0].path)
    assert crossing > 0.5 * pairs


@pytest.mark.parametrize("name", ["vllm-gptoss20b", "sglang-qwen3-8b-tp2"])
def test_same_seed_same_bytes_other_seed_other_bytes(name: str, tmp_path: Path) -> None:
    spec = small(name)
    runs = [
        synthesise(replace(spec, seed=seed), tmp_path / folder)
        for seed, folder in ((3, "a"), (3, "b"), (4, "c"))
    ]
    for a, b, c in zip(*runs, strict=True):
        assert a.path.read_bytes() == b.path.read_bytes()
        assert a.truth_path.read_bytes() == b.truth_path.read_bytes()
        assert a.path.read_bytes() != c.path.read_bytes()


def test_graph_replay_shares_one_correlation_and_has_no_external_id(tmp_path: Path) -> None:
    spec = replace(small("vllm-gptoss20b"), arrivals=Arrivals(concurrency=8, start_full=True))
    document = load(synthesise(spec, tmp_path)[0].path)
    graphs = [e for e in document["traceEvents"] if e.get("name") == "hipGraphLaunch"]
    assert len(graphs) == 6
    replayed = [
        e
        for e in document["traceEvents"]
        if e.get("cat") == "kernel" and e["args"]["correlation"] == graphs[0]["args"]["correlation"]
    ]
    # Head, layers of 16 (no cast in layer 0), 18 and 17 kernels, and the final norm.
    assert len(replayed) == 1 + 16 + 18 + 17 + 1
    assert all("External id" not in e["args"] for e in replayed)
    assert {e["args"]["kind"] for e in replayed} == {"Dispatch Task"}
    flows = Counter(e["ph"] for e in document["traceEvents"] if e.get("cat") == "ac2g")
    kernels = len(device_rows(document))
    launches = sum(e.get("cat") == "cuda_runtime" for e in document["traceEvents"])
    assert flows["f"] == kernels
    assert flows["s"] == launches - 6  # Waiting for the device starts nothing.


def test_asynchronous_host_runs_ahead_of_the_device(tmp_path: Path) -> None:
    arrivals = Arrivals(concurrency=32, start_full=True)
    spec = preset("vllm-gptoss20b", steps=8)
    for asynchronous in (True, False):
        scenario = replace(spec, arrivals=arrivals, asynchronous=asynchronous)
        truth = read_truth(synthesise(scenario, tmp_path)[0].truth_path)
        later = truth.iterations[3:6]
        ahead = [i.ts is not None and i.ts > i.host_ts + i.host_dur for i in later]
        assert ahead == [asynchronous] * 3


def test_collectives_end_together_on_all_ranks(tmp_path: Path) -> None:
    spec = replace(small("vllm-gptoss120b-tp8"), rank_offset_us=0.0)
    truths = [read_truth(c.truth_path) for c in synthesise(spec, tmp_path)]
    ends = []
    for truth in truths:
        names = np.array(truth.names)[truth.kernels["name"]]
        chosen = np.char.find(names.astype(str), "multimem_all_reduce") >= 0
        ends.append((truth.kernels["ts"] + truth.kernels["dur"])[chosen])
    assert len(ends[0]) == 6 * (1 + 2 * 3)  # One after the embedding, two per layer.
    assert np.array_equal(ends[0], ends[1])
    first = truths[0].kernels["dur"], truths[1].kernels["dur"]
    assert not np.array_equal(*first)


def test_annotations_of_a_stream_cover_its_kernels(tmp_path: Path) -> None:
    spec = replace(small("trtllm-gptoss120b"), steps=3)
    document = load(synthesise(spec, tmp_path)[0].path)
    spans = [e for e in document["traceEvents"] if e.get("cat") == "gpu_user_annotation"]
    assert {e["tid"] for e in spans} == {7, 27}  # Main stream and collectives.
    assert len(spans) == 6
    for ts, dur, stream, _, _ in device_rows(document):
        assert any(
            e["tid"] == stream
            and nanoseconds(e["ts"]) <= ts
            and ts + dur <= nanoseconds(e["ts"]) + nanoseconds(e["dur"])
            for e in spans
        )


def test_epoch_clock_keeps_three_decimals_exactly(tmp_path: Path) -> None:
    spec = replace(small("vllm-gptoss20b"), clock_us=EPOCH_US)
    capture = synthesise(spec, tmp_path)[0]
    check_capture(capture.path, capture.truth_path)
    assert read_truth(capture.truth_path).kernels["ts"].min() > EPOCH_US * 1000


def test_stray_copies_belong_to_no_iteration(tmp_path: Path) -> None:
    spec = replace(small("vllm-gptoss20b"), stray_copies=1.0)
    capture = synthesise(spec, tmp_path)[0]
    check_capture(capture.path, capture.truth_path)
    assert (read_truth(capture.truth_path).kernels["iteration"] == -1).sum() == spec.steps


def test_holes_and_dummies_and_captures(tmp_path: Path) -> None:
    spec = replace(small("atom-gptoss20b"), hole_every=4, hole_ms=200.0)
    truth = read_truth(synthesise(spec, tmp_path)[0].truth_path)
    kinds = [i.kind for i in truth.iterations]
    assert kinds == ["capture"] * 2 + ["dummy"] + ["step"] * 6
    assert truth.iterations[0].name == "capture_graph_bs_32"
    assert truth.iterations[1].name == "capture_graph_bs_16"
    gaps = [
        b.host_ts - a.host_ts - a.host_dur
        for a, b in zip(truth.iterations, truth.iterations[1:], strict=False)
    ]
    assert [i + 1 for i, gap in enumerate(gaps) if gap > 200_000_000] == [3, 7]


def test_bench_capture_reaches_the_events_and_streams(tmp_path: Path) -> None:
    bench_capture(tmp_path / "warm.json", 5_000, pdl=True)
    peaks = []
    for events in (10_000, 60_000):
        tracemalloc.start()
        capture = bench_capture(tmp_path / f"{events}.json", events, pdl=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert events <= capture.events <= events + 8_000
        assert 200 < capture.path.stat().st_size / capture.events < 330
    # Six times the events, the same memory but for a few caches.
    assert peaks[1] < peaks[0] + 4_000_000


def test_max_events_stops_after_a_step(tmp_path: Path) -> None:
    capture = synthesise(preset("vllm-gptoss20b", steps=50), tmp_path, max_events=3_000)[0]
    assert len(read_truth(capture.truth_path).iterations) == 2
    check_capture(capture.path, capture.truth_path)


def test_no_partial_file_stays_after_an_error(tmp_path: Path) -> None:
    spec = replace(small("vllm-gptoss20b"), arrivals=Arrivals(concurrency=32, token_budget=16))
    with pytest.raises(UsageError, match="token budget"):
        synthesise(spec, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "gpt-5"}, "no model 'gpt-5'"),
        ({"ranks": 0}, "at least one rank"),
        ({"layers": 0}, "at least one layer"),
        ({"dialect": "atom"}, "no mixed step"),
        ({"speculative": 2}, "no annotation for a draft step"),
    ],
)
def test_contradicting_scenarios_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(PRESETS["vllm-gptoss20b"], **changes)


def test_unknown_preset_is_named() -> None:
    with pytest.raises(UsageError, match="choose one of vllm-gptoss20b"):
        preset("nothing")


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(PRESETS)),
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 5),
    ranks=st.integers(1, 3),
    layers=st.integers(1, 4),
    launch=st.sampled_from(["graph", "piecewise", "eager"]),
    asynchronous=st.booleans(),
    split=st.booleans(),
    pdl=st.booleans(),
    concurrency=st.integers(1, 40),
)
def test_any_scenario_agrees_with_its_truth(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    seed: int,
    steps: int,
    ranks: int,
    layers: int,
    launch: Any,
    asynchronous: bool,
    split: bool,
    pdl: bool,
    concurrency: int,
) -> None:
    base = preset(name, steps=steps, ranks=ranks, seed=seed, launch=launch)
    spec = replace(
        base,
        layers=layers,
        asynchronous=asynchronous,
        split_streams=split,
        pdl=pdl,
        arrivals=replace(base.arrivals, concurrency=concurrency),
    )
    for capture in synthesise(spec, tmp_path_factory.mktemp("any")):
        check_capture(capture.path, capture.truth_path)
        if not pdl:
            assert overlaps(capture.path)[0] == 0
