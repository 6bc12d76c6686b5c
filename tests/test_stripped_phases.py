"""Phases and steady state without annotations are those with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfetto_autoviz import open_trace
from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import read_truth, synthesise
from tests.benchmarks.strip.judge import judge, mixed_window
from tests.benchmarks.strip.scenarios import strip_scenarios
from tests.live import open_fresh
from tests.stripping import strip_capture

RAMP, PREFILL, DECODE = (
    "sglang graph moe ramp",
    "vllm piecewise dense prefill",
    "atom eager alternating decode",
)
LLM = "llm_serving"
REAL = {
    # Phase, requests, tokens that are prefilled: as the annotations state them.
    f"{LLM}/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz": ("prefill", 1, 888),
    f"{LLM}/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz": ("decode", 32, 0),
    f"{LLM}/sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz": ("decode", 32, 0),
    f"{LLM}/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
    "1782799835.6885648-TP-0-DECODE.trace.json.gz": ("decode", 16, 0),
}
PHASES = "SELECT phase, batch_size, context_tokens, confidence FROM autoviz_phase"


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("cell", [RAMP, PREFILL, DECODE])
def test_synthetic_phases_and_windows(cell: str, stage: int, tmp_path: Path) -> None:
    (capture, *_) = synthesise(dict(strip_scenarios())[cell], tmp_path)
    with open_fresh(capture.path) as session:
        window = mixed_window(session)
    stripped = strip_capture(capture.path, tmp_path / "stripped.json.gz", stage)
    with open_fresh(stripped) as session:
        truth = read_truth(capture.truth_path)
        verdict = judge(session, truth, rotated=False, window=window)
    assert window is not None or cell != RAMP
    assert verdict.wrong_phases == 0
    assert verdict.phases == verdict.true_steps
    assert window is None or (verdict.window is not None and verdict.window >= 0.9)


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("name", REAL)
def test_real_phases(corpus: Path, name: str, stage: int, tmp_path: Path) -> None:
    stripped = strip_capture(corpus / name, tmp_path / "stripped.json.gz", stage)
    with open_fresh(stripped) as session:
        (row,) = session.query(PHASES).to_dict("records")
        windows = session.query("SELECT * FROM autoviz_steady_window")
    phase, requests, tokens = REAL[name]
    assert (row["phase"], row["context_tokens"]) == (phase, tokens)
    # One prefilled request leaves no trace but its shapes.
    assert row["batch_size"] == requests or (phase == "prefill" and stage > 1)
    assert row["confidence"] < 1
    assert windows.empty


@pytest.mark.parametrize(
    "name",
    [
        "many_iterations/param_linear_40steps_rtx2080ti.json.gz",
        "pairs/hf_timesformer/h100.json.gz",
        "pairs/xdit_flux_1024px_two_attention_backends/aiter.json.gz",
        "train/mi300_normalization_layers_a.json.gz",
        "multirank/dlrm_8ranks_v100/worker0_step_12.1694128201545.pt.trace.json",
    ],
)
def test_what_is_no_language_model_has_no_phases(corpus: Path, name: str) -> None:
    with open_fresh(corpus / name) as session:
        assert session.query(PHASES).empty


def test_the_user_may_say_what_it_is(corpus: Path) -> None:
    hf = corpus / "pairs/hf_qwen1.5-0.5b/h100.json.gz"
    with open_trace(hf, llm_inference=False) as session:
        assert session.query(PHASES).empty
    with open_trace(hf) as session:
        assert isinstance(session, Session)
        assert session.query(PHASES)["phase"].tolist() == ["prefill"]


def test_many_equal_steps_have_a_steady_window(corpus: Path) -> None:
    path = corpus / "many_iterations/param_linear_40steps_rtx2080ti.json.gz"
    with open_fresh(path) as session:
        (row,) = session.query("SELECT * FROM autoviz_steady_window").to_dict("records")
    assert (row["mode"], row["tier"], row["iteration_count"]) == ("any", "durations", 32)
    # Its steps grow and shrink, so that no 32 in a row are steady, and that is said.
    assert "the least unsteady window" in row["why"]
    assert row["variation"] > 0.15
    assert row["confidence"] < 0.5
