"""Captures without what names their steps: the same steps and phases are found as with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import read_truth, synthesise
from tests.benchmarks.strip.judge import (
    at_one_rotation,
    innermost_steps,
    judge,
    overlap,
    steady_windows,
)
from tests.benchmarks.strip.scenarios import strip_scenarios
from tests.benchmarks.strip.tally import LEAST_OVERLAP, Tally
from tests.live import open_fresh
from tests.stripping import ROUNDS, Stripped, strip_capture

LAYERS = 12
"""Enough to be told from a group of alternating layers."""

CELLS = (
    "sglang graph moe ramp",
    "vllm piecewise dense prefill",
    "atom eager alternating decode",
    "sglang eager alternating chunked",  # on two ranks, without Python frames
    "sglang eager speculative ramp",
)

FLUX = "pairs/xdit_flux_1024px_two_attention_backends/aiter.json.gz"
LLM = "llm_serving"
DLRM = "multirank/dlrm_8ranks_v100"
VLLM_DECODE = f"{LLM}/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz"
VLLM_PREFILL = f"{LLM}/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz"
LINEAR = "many_iterations/param_linear_40steps_rtx2080ti.json.gz"


def rounds(session: Session) -> Iterator[tuple[int, Session]]:
    """The capture without what each round takes away."""
    for stage in ROUNDS:
        yield stage, Stripped(session, stage)


def test_what_is_taken_away_in_the_engine_is_what_a_file_lacks(
    corpus: Path, tmp_path: Path
) -> None:
    made = ("iteration", "iteration_segment", "iteration_evidence", "phase", "layer")
    with open_fresh(corpus / VLLM_DECODE) as whole:
        found = {
            stage: {name: session.relation(name) for name in made}
            for stage, session in rounds(whole)
            if stage > 1  # the second round takes away what the first does, and more
        }
    for stage, frames in found.items():
        path = strip_capture(corpus / VLLM_DECODE, tmp_path / f"{stage}.json.gz", stage)
        with open_fresh(path) as session:
            for name, frame in frames.items():
                pd.testing.assert_frame_equal(frame, session.relation(name), obj=name)


@pytest.mark.parametrize("cell", CELLS)
def test_synthetic_steps_phases_and_windows(cell: str, tmp_path: Path) -> None:
    spec = replace(dict(strip_scenarios())[cell], layers=LAYERS)
    tallies = {stage: Tally(stage) for stage in ROUNDS}
    captures = synthesise(spec, tmp_path)
    verdicts = []
    for capture in captures:
        truth = read_truth(capture.truth_path)
        with open_fresh(capture.path) as whole:
            window = steady_windows(whole).get("mixed")
            verdicts.append(
                {
                    stage: judge(session, truth, rotated=stage == 3, window=window)
                    for stage, session in rounds(whole)
                }
            )
    for stage, tally in tallies.items():
        ranks = [verdict[stage] for verdict in verdicts]
        assert list(tally.add(ranks)) == []
        assert list(tally.broken()) == []
        assert all(one.true_steps >= spec.steps for one in ranks)
        assert cell != "sglang graph moe ramp" or ranks[0].window is not None


def test_denoising_steps_are_found(corpus: Path) -> None:
    """One generation of four steps, with what encodes the prompt and decodes the image."""
    with open_fresh(corpus / FLUX) as whole:
        expected = innermost_steps(whole)
        assert whole.query(PHASES).empty
        for stage, session in rounds(whole):
            found = innermost_steps(session)
            kinds = session.query(
                "SELECT level, kind, grade FROM autoviz_iteration, "
                "(SELECT grade FROM autoviz_iteration_evidence"
                " ORDER BY number DESC LIMIT 1) ORDER BY ts, level"
            )
            assert found["first"].tolist() == expected["first"].tolist()
            steps = ["warm-up", *["step"] * 4, "wrap-up"]
            assert kinds["kind"].tolist() == (["generation"] if stage < 3 else []) + steps
            assert kinds["level"].max() == (1 if stage < 3 else 0)
            assert set(kinds["grade"]) == {"good"}


PHASES = "SELECT phase, batch_size, context_tokens, confidence FROM autoviz_phase"


@pytest.mark.parametrize(
    # Phase, requests, tokens that are prefilled: as the annotations state them.
    ("name", "layers", "phase", "requests", "tokens"),
    [
        (VLLM_DECODE, 24, "decode", 32, 0),
        (
            f"{LLM}/sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz",
            *(36, "decode", 32, 0),
        ),
        (VLLM_PREFILL, 36, "prefill", 1, 888),
        (
            f"{LLM}/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
            "1782799835.6885648-TP-0-DECODE.trace.json.gz",
            *(48, "decode", 16, 0),
        ),
    ],
)
def test_a_single_serving_step_is_one_step_of_its_layers(
    corpus: Path, name: str, layers: int, phase: str, requests: int, tokens: int
) -> None:
    with open_fresh(corpus / name) as whole:
        for _, session in rounds(whole):
            assert len(session.query("SELECT id FROM autoviz_iteration WHERE is_real")) == 1
            assert len(session.query("SELECT id FROM autoviz_layer")) == layers
            (row,) = session.query(PHASES).to_dict("records")
            assert (row["phase"], row["context_tokens"]) == (phase, tokens)
            assert row["batch_size"] == requests
            assert row["confidence"] < 1
            assert session.query("SELECT * FROM autoviz_steady_window").empty


@pytest.mark.parametrize(
    "name",
    [
        "pairs/hf_qwen1.5-0.5b/h100.json.gz",
        "pairs/hf_timesformer/mi300.json.gz",
        f"{DLRM}/worker0_step_12.1694128201545.pt.trace.json",
        f"{DLRM}/worker3_step_12.1694128201557.pt.trace.json",
        "odd/gpu_only_mi210.json.gz",
        "odd/torch_compile_triton_mi300.json.gz",
    ],
)
def test_single_inferences_and_training_steps_are_not_split(corpus: Path, name: str) -> None:
    with open_fresh(corpus / name) as whole:
        phases = whole.query(PHASES)["phase"].tolist()
        assert phases == (["prefill"] if "qwen" in name else [])
        for _, session in rounds(whole):
            assert session.query("SELECT id FROM autoviz_iteration").empty
            assert session.query(PHASES).empty
            tried = session.query("SELECT * FROM autoviz_iteration_evidence")
            assert set(tried["grade"]) == {"not splittable"}
            assert tried["reason"].str.len().min() > 0


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        (LINEAR, 40),
        ("train/mi300_ddp_resnet18.json.gz", 5),
    ],
)
def test_training_steps_are_found(corpus: Path, name: str, steps: int) -> None:
    with open_fresh(corpus / name) as whole:
        assert len(innermost_steps(whole)) == steps
        assert whole.query(PHASES).empty
        if name == LINEAR:
            check_that_no_window_is_steady(whole)
        for _, session in rounds(whole):
            assert len(innermost_steps(session)) == steps


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("train/a100_ddp_nccl_meta_rank0of2.json.gz", 3),
        ("train/tb_resnet50_old_kineto.json.gz", 6),  # recorded as operators
        ("odd/negative_queue_length_a100.json.gz", 5),
    ],
)
def test_steps_of_the_profiler_are_found_without_them(corpus: Path, name: str, steps: int) -> None:
    with open_fresh(corpus / name) as whole:
        marked, windows = innermost_steps(whole), steady_windows(whole)
        assert set(marked["evidence"]) == {"annotation, activities by launch"}
        assert len(marked) == steps
        for stage, session in rounds(whole):
            found = innermost_steps(session)
            assert len(found) == steps
            first, true = (each["first"].to_numpy(np.int64) for each in (found, marked))
            assert at_one_rotation(first, true) == steps
            kept = steady_windows(session)
            assert kept.keys() == windows.keys()
            assert all(overlap(span, kept[mode]) >= LEAST_OVERLAP for mode, span in windows.items())
            if stage < 3:
                assert first.tolist() == true.tolist()
                assert kept == windows


def test_layers_that_are_trained_alone_have_no_phases(corpus: Path) -> None:
    with open_fresh(corpus / "train/mi300_normalization_layers_a.json.gz") as session:
        assert len(innermost_steps(session)) == 3
        assert session.query(PHASES).empty


def check_that_no_window_is_steady(linear: Session) -> None:
    """Its steps grow and shrink, so that no 32 in a row are steady, and that is said."""
    (row,) = linear.query("SELECT * FROM autoviz_steady_window").to_dict("records")
    assert (row["mode"], row["tier"], row["iteration_count"]) == ("any", "durations", 32)
    assert "the least unsteady window" in row["why"]
    assert row["variation"] > 0.15
    assert row["confidence"] < 0.5
