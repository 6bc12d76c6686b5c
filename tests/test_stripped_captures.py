"""Captures without what names their steps: the same steps are found as with it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import read_truth, synthesise
from tests.benchmarks.strip.judge import judge
from tests.benchmarks.strip.scenarios import strip_scenarios
from tests.live import open_fresh
from tests.stripping import ROUNDS, strip_capture

# Mixed steps on two ranks without Python frames, and ramps of a drafting model.
CELLS = ("sglang eager alternating chunked", "sglang eager speculative ramp")

FLUX = "pairs/xdit_flux_1024px_two_attention_backends/aiter.json.gz"
LLM = "llm_serving"
DLRM = "multirank/dlrm_8ranks_v100"

INNERMOST = """
SELECT min(seq) AS first, max(seq) AS last FROM autoviz_iteration AS iteration
JOIN autoviz_iteration_kernel ON iteration_id = iteration.id
WHERE is_real AND iteration.id NOT IN (
  SELECT parent_id FROM autoviz_iteration WHERE parent_id IS NOT NULL)
GROUP BY iteration.id ORDER BY first
"""


def stripped(path: Path, folder: Path, stage: int) -> Session:
    return open_fresh(strip_capture(path, folder / f"{stage}-{path.name}", stage))


@pytest.mark.parametrize("stage", ROUNDS)
@pytest.mark.parametrize("cell", CELLS)
def test_synthetic_steps_are_found(cell: str, stage: int, tmp_path: Path) -> None:
    spec = dict(strip_scenarios())[cell]
    for capture in synthesise(spec, tmp_path):
        truth = read_truth(capture.truth_path)
        with stripped(capture.path, tmp_path, stage) as session:
            verdict = judge(session, truth, rotated=stage == 3)
        assert verdict.found_steps == verdict.true_steps >= spec.steps
        assert verdict.right_steps == verdict.true_steps


@pytest.mark.parametrize("stage", ROUNDS)
def test_denoising_steps_are_found(corpus: Path, stage: int, tmp_path: Path) -> None:
    """One generation of four steps, with what encodes the prompt and decodes the image."""
    with open_fresh(corpus / FLUX) as session:
        expected = session.query(INNERMOST)
    with stripped(corpus / FLUX, tmp_path, stage) as session:
        found = session.query(INNERMOST)
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


@pytest.mark.parametrize("stage", [1, 3])
@pytest.mark.parametrize(
    ("name", "layers"),
    [
        (f"{LLM}/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz", 24),
        (f"{LLM}/sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz", 36),
        (f"{LLM}/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz", 36),
        (
            f"{LLM}/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
            "1782799835.6885648-TP-0-DECODE.trace.json.gz",
            48,
        ),
    ],
)
def test_a_single_serving_step_is_one_step_of_its_layers(
    corpus: Path, name: str, layers: int, stage: int, tmp_path: Path
) -> None:
    with stripped(corpus / name, tmp_path, stage) as session:
        assert len(session.query("SELECT id FROM autoviz_iteration WHERE is_real")) == 1
        assert len(session.query("SELECT id FROM autoviz_layer")) == layers


@pytest.mark.parametrize("stage", [1, 3])
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
def test_single_inferences_and_training_steps_are_not_split(
    corpus: Path, name: str, stage: int, tmp_path: Path
) -> None:
    with stripped(corpus / name, tmp_path, stage) as session:
        assert session.query("SELECT id FROM autoviz_iteration").empty
        tried = session.query("SELECT * FROM autoviz_iteration_evidence")
    assert set(tried["grade"]) == {"not splittable"}
    assert tried["reason"].str.len().min() > 0


def training_steps(session: Session) -> pd.DataFrame:
    return session.query("SELECT * FROM autoviz_iteration WHERE is_real AND level = 0")


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("many_iterations/param_linear_40steps_rtx2080ti.json.gz", 40),
        ("train/mi300_ddp_resnet18.json.gz", 5),
        ("train/a100_ddp_nccl_meta_rank0of2.json.gz", 3),
        ("train/tb_resnet50_old_kineto.json.gz", 6),
        ("odd/negative_queue_length_a100.json.gz", 5),
    ],
)
def test_training_steps_are_found(corpus: Path, name: str, steps: int, tmp_path: Path) -> None:
    with open_fresh(corpus / name) as session:
        assert len(training_steps(session)) == steps
    for stage in (1, 3):
        with stripped(corpus / name, tmp_path, stage) as session:
            assert len(training_steps(session)) == steps
