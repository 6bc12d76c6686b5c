"""Arrivals, annotation texts, noise and measured tables, each on its own."""

from __future__ import annotations

import ast
import gzip
import json
import re
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfetto_autoviz.errors import CaptureError, UsageError
from perfetto_autoviz.synth import Arrivals, preset, read_truth, synthesise
from perfetto_autoviz.synth.arrivals import StepPlan, Work, decode_work, plan_steps
from perfetto_autoviz.synth.dialects import Dialect, annotation_texts
from perfetto_autoviz.synth.model import load_model
from perfetto_autoviz.synth.noise import CLASSES, NOISE, layer_effect, repeat_noise
from perfetto_autoviz.synth.program import step_program
from perfetto_autoviz.synth.simulate import graph_batch

SPIKES = Arrivals(concurrency=32, prompt_tokens=(100, 200), spike_every=10)


def test_arrivals_give_ramp_steady_state_spikes_and_drain() -> None:
    plans = list(plan_steps(SPIKES, 60, seed=5, speculative=0))
    active = [p.requests for p in plans]
    assert len(plans) == 60
    assert active[:12] == sorted(active[:12])
    assert active[0] < 8
    assert set(active[12:48]) == {32}
    assert active[48:] == sorted(active[48:], reverse=True)
    assert active[-1] >= 1
    assert active[-1] < 16
    phases = [p.phase for p in plans]
    assert phases[0] == "prefill"
    assert set(phases[48:]) == {"decode"}
    spikes = [i for i in range(12, 48) if plans[i].context.queries > 4 * 400]
    assert spikes == [17, 27, 37, 47]
    assert phases[17] == "mixed"


def test_long_prompts_are_prefilled_in_chunks_within_the_budget() -> None:
    arrivals = Arrivals(concurrency=4, prompt_tokens=(3000, 3000), token_budget=1024)
    plans = list(plan_steps(arrivals, 40, seed=0, speculative=0))
    assert max(p.tokens for p in plans) == 1024
    # 3000 = 1024 + 1024 + 952: the third chunk attends to everything before it.
    assert plans[0].context == Work(1, 1024, 1024, 1024**2, 1024**2, (1024,))
    assert plans[1].context.keys == 2048
    assert plans[2].context.lengths[0] == 952


def test_separate_policy_never_mixes() -> None:
    plans = plan_steps(replace(SPIKES, policy="separate"), 60, seed=5, speculative=0)
    assert {p.phase for p in plans} == {"prefill", "decode"}


def test_speculative_steps_alternate_between_draft_and_verification() -> None:
    arrivals = replace(SPIKES, start_full=True, spike_every=0, output_tokens=(500, 900))
    plans = list(plan_steps(arrivals, 8, seed=1, speculative=3))
    assert [p.phase for p in plans] == ["draft", "verify"] * 4
    assert [p.index for p in plans] == list(range(8))
    assert plans[1].tokens == 4 * plans[1].requests


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"prompt_tokens": (5, 4)}, "5..4"),
        ({"output_tokens": (0, 4)}, "0..4"),
    ],
)
def test_impossible_arrivals_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(plan_steps(replace(SPIKES, **changes), 4, 0, 0))  # type: ignore[arg-type]


CONTEXT = Work(2, 6144, 7144, 20_000_000, 22_000_000, (3072, 3072))
MIXED = StepPlan(12, "step", "mixed", CONTEXT, decode_work(3, 100))
PREFILL = StepPlan(3, "step", "prefill", Work(1, 888, 888, 788544, 788544, (888,)))
DECODE = StepPlan(17, "step", "decode", generation=decode_work(32, 1000))
MANY = Work(6, 2100, 2100, 1, 1, (500, 400, 300, 200, 400, 300))


@pytest.mark.parametrize(
    ("dialect", "plan", "batch", "expected"),
    [
        ("vllm-old", MIXED, None, "execute_new_2_cached_3"),
        ("vllm", MIXED, None, "execute_context_2(6144)_generation_3(3)"),
        (
            "vllm-detailed",
            MIXED,
            None,
            "execute_6147_context_2(sq6144sk7144sqsq20000000sqsk22000000)"
            "_generation_3(sq3sk300sqsq3sqsk300)",
        ),
        (
            "vllm-detailed",
            DECODE,
            32,
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32000sqsq32sqsk32000)",
        ),
        ("vllm-squares", PREFILL, None, "execute_context_1(888_788544)_generation_0(0)"),
        ("sglang", PREFILL, None, "step[EXTEND bs=1 toks=888]"),
        ("sglang", DECODE, 32, "step[DECODE bs=32]"),
        ("sglang", MIXED, None, "step[MIXED bs=5]"),
        ("sglang", replace(DECODE, phase="verify"), 32, "step[TARGET_VERIFY bs=32]"),
        ("sglang", replace(DECODE, phase="draft"), 32, "step[DRAFT_EXTEND_V2 bs=32]"),
        ("sglang", StepPlan(0, "step", "idle"), None, "step[IDLE bs=0]"),
        ("sglang-lower", DECODE, 32, "step[decode bs=32]"),
        (
            "sglang-suffixed",
            MIXED,
            None,
            "step[MIXED bs=5 c=2 g=3 c_sq=6144 c_sk=7144 c_sqsq=20000000 c_sqsk=22000000"
            " g_sq=3 g_sk=300 g_sqsq=3 g_sqsk=300]",
        ),
        ("atom", PREFILL, None, "prefill[bs=1 tok=888 ctx=[888]]"),
        (
            "atom",
            StepPlan(0, "step", "prefill", MANY),
            None,
            "prefill[bs=6 tok=2100 ctx=[500, 400, 300]...+3]",
        ),
        ("atom", DECODE, 40, "decode[bs=32/40 tok=32 p=0 d=32]"),
        ("atom", DECODE, None, "eager_decode[bs=32 tok=32 p=0 d=32]"),
        ("atom", replace(DECODE, kind="dummy"), 32, "dummy_decode[bs=32/32 tok=32 p=0 d=32]"),
        ("atom", replace(DECODE, phase="draft"), 32, "draft[0/1 bs=32]"),
        ("trtllm", MIXED, None, "[Executor] _forward_step 12: 2 ctx reqs, 3 gen reqs"),
        ("trtllm-old", MIXED, None, "[Executor] _forward_step: 2 ctx reqs, 3 gen reqs"),
        ("profiler-step", MIXED, None, "ProfilerStep#12"),
        ("vllm", replace(DECODE, kind="capture"), 32, "capture_32_FULL"),
        ("sglang", replace(DECODE, kind="capture"), 32, "capture_32_DECODE"),
        ("atom", replace(DECODE, kind="capture"), 32, "capture_graph_bs_32"),
    ],
)
def test_annotation_texts(
    dialect: Dialect, plan: StepPlan, batch: int | None, expected: str
) -> None:
    assert annotation_texts(plan, dialect, batch) == (expected,)


def test_nested_dialect_writes_two_and_none_writes_nothing() -> None:
    outer, inner = annotation_texts(DECODE, "sglang-nested", 32)
    assert outer.startswith("execute_32_context_0(")
    assert inner == "step[DECODE bs=32]"
    assert annotation_texts(DECODE, "none", 32) == ()


def test_texts_have_the_shape_of_the_real_annotations(corpus: Path) -> None:
    folder = corpus / "llm_serving"
    real = {
        "vllm-detailed": folder / "vllm_gptoss20b_mi300x_decode/graph_execution.json.gz",
        "vllm-squares": folder / "vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz",
        "sglang-nested": folder / "sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz",
    }
    plans = {"vllm-detailed": DECODE, "vllm-squares": PREFILL, "sglang-nested": DECODE}

    def shapes(texts: list[str]) -> set[str]:
        return {re.sub(r"\d+", "#", text) for text in texts}

    for dialect, path in real.items():
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        texts = [e["name"] for e in events if e.get("cat") == "user_annotation"]
        mine = annotation_texts(plans[dialect], dialect, 32)  # type: ignore[arg-type]
        assert shapes(list(mine)) <= shapes(texts)


@pytest.mark.parametrize("cls", CLASSES)
def test_noise_has_the_measured_spread(cls: str) -> None:
    rng = np.random.default_rng(0)
    classes = np.full(400, CLASSES.index(cls))  # type: ignore[arg-type]
    logs = np.log(repeat_noise(classes, 100, rng))
    expected = NOISE[cls]  # type: ignore[index]
    middle = np.quantile(logs, [0.1587, 0.5, 0.8413])
    assert middle[1] == pytest.approx(0.0, abs=0.1 * expected.sigma)
    assert (middle[2] - middle[0]) / 2 == pytest.approx(expected.sigma, rel=0.1)
    beyond = (logs > 5 * expected.sigma).mean()
    assert beyond <= 1.3 * expected.tail_probability
    assert beyond >= 0.2 * expected.tail_probability
    effect = np.log(layer_effect(np.full(20_000, classes[0]), rng))
    assert effect.std() == pytest.approx(expected.layer, rel=0.05)


MEASURED = {
    "gpt-oss-20b-mi300x": (24, {"attention_2d+moe": 17, "attention_3d+moe": 18}),
    "qwen3-8b-mi300x": (36, {"attention+mlp": 15}),
    "qwen3-30b-a3b-mi300x": (48, {"attention+moe": 16}),
    "qwen3-30b-a3b-b300": (48, {"attention+moe": 14}),
    "gpt-oss-120b-b200": (36, {"attention_full+moe": 25, "attention_sliding+moe": 25}),
}
"""Layers and kernels in each kind of layer, counted in the captures."""


@pytest.mark.parametrize("name", MEASURED)
def test_measured_models_have_the_layers_of_the_real_ones(name: str) -> None:
    model = load_model(name)
    kernels = {kind: len(slots) for kind, slots in model.kinds.items()}
    assert (model.layers, kernels) == MEASURED[name]


def test_a_decode_step_has_the_kernels_and_times_of_the_real_one(corpus: Path) -> None:
    path = corpus / "llm_serving/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    real = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy")]
    model = load_model("gpt-oss-20b-mi300x")
    program = step_program(model, "graph", model.layers)
    counts = Counter(k.slot.name for k in program.kernels)
    assert counts == Counter(e["name"] for e in real)
    mean = sum(k.slot.dur_ns for k in program.kernels) / 1000
    assert mean == pytest.approx(sum(e["dur"] for e in real), rel=0.05)


def test_a_synthetic_decode_lasts_as_long_as_the_real_one(tmp_path: Path) -> None:
    # The real step: batch 32, 55,086 cached tokens, device span 10.74 ms.
    arrivals = Arrivals(concurrency=32, prompt_tokens=(1690, 1720), start_full=True)
    spec = replace(preset("vllm-gptoss20b", steps=10), arrivals=arrivals)
    truth = read_truth(synthesise(spec, tmp_path)[0].truth_path)
    spans = [i.dur for i in truth.iterations if i.phase == "decode" and i.requests == 32]
    assert statistics.median(s for s in spans if s) == pytest.approx(10.74e6, rel=0.06)


def test_graph_batches_are_padded_to_captured_sizes() -> None:
    assert [graph_batch(n) for n in (1, 3, 5, 17, 512, 600)] == [1, 4, 8, 24, 512, 600]


def test_what_is_no_truth_file_is_named(tmp_path: Path) -> None:
    cases = {
        "broken.json": (b'{"schema": ', "no readable truth file"),
        "cut.json.gz": (gzip.compress(b"{}" * 50)[:-9], "no readable truth file"),
        "other.json": (b'{"traceEvents": []}', "its schema is not"),
        "list.json": (b"[]", "its schema is not"),
        "new.json": (b'{"schema": "autoviz-truth", "version": 9}', "truth version 9"),
    }
    for name, (content, message) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(CaptureError, match=message):
            read_truth(path)


def test_a_truth_in_one_chunk_and_unknown_members_are_read(tmp_path: Path) -> None:
    document = {
        "schema": "autoviz-truth",
        "version": 1,
        "generator": "another",
        "capture": "a.json",
        "rank": 0,
        "world_size": 1,
        "seed": 0,
        "model": "m",
        "dialect": "none",
        "parts": ["outside"],
        "kinds": [],
        "chunks": [
            {
                "kernels": {
                    "ts": [5, 9],
                    "dur": [2, 3],
                    "stream": [0, 0],
                    "correlation": [1, 2],
                    "name": [0, 0],
                    "iteration": [-1, -1],
                    "layer": [-1, -1],
                    "position": [0, 1],
                    "part": [0, 0],
                }
            }
        ],
        "names": ["k"],
        "anomalies": [],
    }
    path = tmp_path / "a.truth.json"
    path.write_text(json.dumps(document))
    truth = read_truth(path)
    assert truth.header.generator == "another"
    assert truth.kernels["ts"].tolist() == [5, 9]
    assert truth.iterations == []
    assert truth.layers["ts"].tolist() == []


def test_the_synthesiser_knows_nothing_of_the_analysis() -> None:
    folder = Path(synthesise.__code__.co_filename).parent
    imported = {
        node.module
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("perfetto_autoviz")
    }
    others = {m for m in imported if m and not m.startswith("perfetto_autoviz.synth")}
    assert others == {"perfetto_autoviz.errors"}
