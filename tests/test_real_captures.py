"""Every real capture: counts from the raw file, and what its description says is in it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from perfetto_autoviz import CaptureError, open_trace
from perfetto_autoviz.session import Session
from tests.live import check_expansions

LLM = "llm_serving"
QWEN_30B = f"{LLM}/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode"
FLUX = tuple(
    f"pairs/xdit_flux_1024px_two_attention_backends/{backend}.json.gz"
    for backend in ("aiter", "sage")
)
VLLM_DECODE = f"{LLM}/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz"
VLLM_PREFILL = f"{LLM}/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz"
QWEN_H100 = "pairs/hf_qwen1.5-0.5b/h100.json.gz"


@dataclass(frozen=True)
class Expected:
    """What a capture holds, by its description.

    Attributes:
        iterations: real outermost iterations.
        inner: iterations inside those.
        phases: phase of each iteration that has one.
        layers: layers per innermost iteration, by number of kernels.
        blocks: layers in each inner iteration.
    """

    iterations: int = 0
    inner: int = 0
    phases: tuple[str, ...] = ()
    layers: tuple[tuple[int, int], ...] = ()
    blocks: int = 0


CAPTURES = {
    # 24 layers of two kinds of attention; the first of them has one kernel less, as the
    # kernel that converts its input is part of the embedding's.
    VLLM_DECODE: Expected(1, phases=("decode",), layers=((16, 1), (17, 11), (18, 12))),
    f"{LLM}/vllm_gptoss20b_mi300x_decode/"
    "graph_capture_rank_0.1773709742341309550.pt.trace.json.gz": Expected(),
    f"{LLM}/sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz": Expected(
        1, phases=("decode",), layers=((15, 36),)
    ),
    f"{LLM}/sglang_qwen3-8b_mi300x_decode/bs_32_rank0.json.gz": Expected(),
    VLLM_PREFILL: Expected(1, phases=("prefill",), layers=((21, 36),)),
    f"{QWEN_30B}/MI300/1782859605.7198358-TP-0-DECODE.trace.json.gz": Expected(
        1, phases=("decode",), layers=((16, 48),)
    ),
    f"{QWEN_30B}/B300/1782799835.6885648-TP-0-DECODE.trace.json.gz": Expected(
        1, phases=("decode",), layers=((14, 48),)
    ),
    "many_iterations/param_linear_40steps_rtx2080ti.json.gz": Expected(40),
    **{
        f"multirank/dlrm_8ranks_v100/worker{rank}_step_12.{stamp}.pt.trace.json": Expected(1)
        for rank, stamp in enumerate(
            (
                1694128201545,
                1694128201556,
                1694128201554,
                1694128201557,
                1694128201547,
                1694128201549,
                1694128201553,
                1694128201553,
            )
        )
    },
    QWEN_H100: Expected(1, phases=("prefill",), layers=((42, 24),)),
    "pairs/hf_qwen1.5-0.5b/mi300.json.gz": Expected(1, phases=("prefill",), layers=((43, 24),)),
    "pairs/hf_timesformer/h100.json.gz": Expected(1, layers=((36, 12),)),
    "pairs/hf_timesformer/mi300.json.gz": Expected(1, layers=((36, 12),)),
    # 19 blocks with two streams of tokens and 38 with one.
    **dict.fromkeys(FLUX, Expected(1, inner=4, blocks=57)),
    "odd/cuda_sync_3streams.json.gz": Expected(),
    "odd/gpu_only_mi210.json.gz": Expected(),
    "odd/integer_above_int64.json.gz": Expected(),
    "odd/kineto_sync_bug_before.json": Expected(),
    "odd/mi250_minitoy.json.gz": Expected(2),
    "odd/negative_queue_length_a100.json.gz": Expected(5),
    "odd/synthetic_overlap_unknown_thread.json": Expected(),
    "odd/torch_compile_triton_mi300.json.gz": Expected(),
    "odd/trace_compare_base.json.gz": Expected(2),
    "odd/trace_compare_test.json.gz": Expected(2),
}

NO_CAPTURES = [
    "odd/aiu_allreduce_tp4_begin_end.json",
    "odd/cpu_only_rank34of300.json.gz",
    "odd/cupti_profiler_ranges.json.gz",
    "odd/lfs_pointer_instead_of_data.tgz",
    "odd/mtia_inference.json.gz",
    "odd/no_rank_no_gpu.json.gz",
]

DEVICE = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}


def raw_events(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    document = orjson.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    events: list[dict[str, Any]] = document["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def busy(ts: np.ndarray, dur: np.ndarray) -> int:
    """Union of intervals: the time in which the number of open ones isn't zero."""
    edges = np.concatenate([ts, ts + dur])
    steps = np.concatenate([np.ones(len(ts), int), -np.ones(len(ts), int)])
    order = np.argsort(edges, kind="stable")
    edges, open_ = edges[order], np.cumsum(steps[order])
    return int(np.diff(edges)[open_[:-1] > 0].sum())


@pytest.mark.parametrize("name", CAPTURES)
def test_real_capture(corpus: Path, name: str) -> None:
    expected = CAPTURES[name]
    with open_trace(corpus / name) as session:
        assert isinstance(session, Session)
        check_activities(session, corpus / name)
        check_busy_time(session)
        check_structure(session, expected)
        check_expansions(session)
        if name in ALSO:
            ALSO[name](session)


def check_activities(session: Session, path: Path) -> None:
    events = [event for event in raw_events(path) if event.get("cat") in DEVICE]
    kernels = session.query("SELECT * FROM autoviz_kernel")
    wanted = sorted(
        (
            DEVICE[e["cat"]],
            e["name"],
            e.get("args", {}).get("stream", e["tid"]),
            e.get("args", {}).get("device", e["pid"]),
        )
        for e in events
    )
    found = kernels[["kind", "name", "stream", "device"]].itertuples(index=False, name=None)
    assert sorted(found) == wanted
    summed = sum(float(event["dur"]) for event in events)
    # The engine rounds each duration down to whole ns.
    assert kernels["dur"].sum() == pytest.approx(summed * 1000, abs=2 * len(events))
    key = kernels[["ts", "dur", "pid", "tid", "correlation", "name"]]
    assert not key.duplicated().any()
    idle = kernels["idle_before"].dropna()
    assert (idle >= 0).all()
    assert len(kernels) - len(idle) == len(kernels.groupby(["device", "stream"]))


def check_busy_time(session: Session) -> None:
    kernels = session.query("SELECT * FROM autoviz_kernel")
    for row in session.query("SELECT * FROM autoviz_stream_busy").itertuples():
        mine = kernels[(kernels["device"] == row.device) & (kernels["stream"] == row.stream)]
        ts, dur = mine["ts"].to_numpy(), mine["dur"].to_numpy()
        assert row.busy_dur == busy(ts, dur)
        assert row.sum_dur == dur.sum()
        assert row.busy_dur + row.idle_dur == row.wall_dur == (ts + dur).max() - ts.min()
    members = session.query(
        "SELECT member.iteration_id, kernel.* FROM autoviz_iteration_kernel AS member"
        " JOIN autoviz_kernel AS kernel USING (seq)"
    )
    times = session.query("SELECT * FROM autoviz_iteration_time").set_index("iteration_id")
    for number, mine in members.groupby("iteration_id"):
        compute = mine[
            (mine["kind"] == "kernel")
            & (mine["family"] != "communication")
            & ~mine["name"].str.startswith("__amd_rocclr")
        ]
        quiet = mine[(mine["family"] != "communication")]
        every = busy(mine["ts"].to_numpy(), mine["dur"].to_numpy())
        row = times.loc[number]
        assert row["busy_dur"] == every
        assert row["compute_busy_dur"] == busy(compute["ts"].to_numpy(), compute["dur"].to_numpy())
        other = busy(quiet["ts"].to_numpy(), quiet["dur"].to_numpy())
        assert row["exposed_communication_dur"] == every - other


def check_structure(session: Session, expected: Expected) -> None:
    iterations = session.query("SELECT * FROM autoviz_iteration")
    real = iterations[iterations["is_real"] == 1]
    assert (real["level"] == 0).sum() == expected.iterations
    assert (real["level"] == 1).sum() == expected.inner
    phases = session.query("SELECT phase FROM autoviz_phase")["phase"]
    assert tuple(phases) == expected.phases
    layers = session.query(
        "SELECT kernel_count, count() AS n FROM autoviz_layer GROUP BY 1 ORDER BY 1"
    )
    if expected.layers or not expected.inner:
        assert tuple(layers.itertuples(index=False, name=None)) == expected.layers
    if expected.blocks:
        each = session.query(
            "SELECT iteration_id, count() AS n FROM autoviz_layer GROUP BY iteration_id"
        )
        assert each["n"].tolist() == [expected.blocks] * expected.inner


@pytest.mark.parametrize("name", NO_CAPTURES)
def test_no_gpu_capture_is_refused_in_one_line(corpus: Path, name: str) -> None:
    with pytest.raises(CaptureError) as refused:
        open_trace(corpus / name)
    assert "\n" not in str(refused.value)
    assert name.split("/")[-1] in str(refused.value)


def check_that_a_step_lies_elsewhere_on_the_device(session: Session) -> None:
    row = session.query("SELECT * FROM autoviz_iteration").iloc[0]
    # 2.4 ms on the host, 10.7 ms on the device; one graph launch owns 421 kernels.
    assert row["host_dur"] == pytest.approx(2_408_598, abs=1)
    assert row["dur"] == pytest.approx(10_743_181, abs=2)
    assert row["kernel_count"] == 425


def check_that_work_of_an_earlier_step_stays_outside(session: Session) -> None:
    """The first 436 kernels have no launch: they belong to the step before."""
    outside = session.query(
        "SELECT count() AS n, max(ts + dur) AS last FROM autoviz_kernel"
        " WHERE kind = 'kernel' AND seq NOT IN (SELECT seq FROM autoviz_iteration_kernel)"
    ).iloc[0]
    first = session.query("SELECT ts FROM autoviz_iteration")["ts"].iloc[0]
    assert outside["n"] == 436
    assert outside["last"] <= first


def check_that_the_capture_row_names_what_was_recorded(session: Session) -> None:
    row = session.metadata
    assert (row["rank"], row["world_size"], row["framework"]) == (0, 8, "vllm")
    assert (row["gpu_name"], row["runtime"]) == ("NVIDIA B200", "cuda 12.9")
    assert row["collective_library"] == "nccl 2.27.5"
    assert row["kernel_count"] == 768
    assert row["warning"] is None


def check_that_four_denoise_steps_of_a_generation_are_four_runs(session: Session) -> None:
    """Each step casts its output by another kernel; of 57 layers 19 are of the first kind."""
    patterns, runs = session.relation("pattern"), session.relation("pattern_run")
    steps, blocks = patterns[patterns["level"] == 0].iloc[0], patterns[patterns["level"] == 1]
    assert (steps["name"], steps["length"], steps["run_count"]) == ("P1", 35, 4)
    assert sorted(blocks[blocks["parent_id"] == steps["id"]]["run_count"]) == [4 * 19, 4 * 38]
    mine = runs[runs["pattern_id"] == steps["id"]]
    # The output's cast is one kernel in the first and the third step, others in the two others.
    assert (mine["missing"].sum(), mine["extra"].sum()) == (0, 0)
    assert sorted(mine["swapped"]) == [0, 0, 1, 1]


ALSO = {
    **dict.fromkeys(FLUX, check_that_four_denoise_steps_of_a_generation_are_four_runs),
    VLLM_DECODE: check_that_a_step_lies_elsewhere_on_the_device,
    VLLM_PREFILL: check_that_the_capture_row_names_what_was_recorded,
    QWEN_H100: check_that_work_of_an_earlier_step_stays_outside,
}
"""What else is known of a capture."""
