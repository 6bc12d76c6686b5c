"""Classification of real captures, judged by the names in their raw files."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

import orjson
import pytest

from perfetto_autoviz.steps.ops import classify, classify_names

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
SERVING = "llm_serving/**/*.json.gz"
CAPTURES = (
    SERVING,
    "pairs/**/*.json.gz",
    "multirank/*/worker0*.json",
    "odd/gpu_only_mi210.json.gz",
    "train/mi300_normalization_layers_a.json.gz",
)


@lru_cache(maxsize=1)
def activities(root: Path) -> dict[str, list[tuple[str, float]]]:
    """Name and duration of every device activity, per capture."""
    found = {}
    for pattern in CAPTURES:
        for path in sorted(root.glob(pattern)):
            data = path.read_bytes()
            events = orjson.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
            found[str(path.relative_to(root))] = [
                (event["name"], float(event.get("dur", 0)))
                for event in events["traceEvents"]
                if event.get("cat") in DEVICE
            ]
    return found


def test_nothing_of_the_serving_captures_is_other(corpus: Path) -> None:
    checked = 0
    for capture, rows in activities(corpus).items():
        if capture.startswith("llm_serving"):
            other = sum(time for name, time in rows if classify(name).family == "other")
            assert other < 0.01 * sum(time for _, time in rows), capture
            checked += 1
    assert checked == 7


EXPECTED = {  # kernels per family, counted by hand in the lists of names
    "vllm_gptoss20b_mi300x_decode/graph_execution": {
        "attention": 36,  # 12 2d, 12 3d, 12 reductions
        "communication": 0,
        "gemm": 73,  # qkv, output and router of 24 layers, and the head
        "norm": 49,
        "rope": 24,
        "quantize": 0,
        "moe": 24 * 7,
    },
    "sglang_Qwen3-8B_decode": {
        "attention": 72,
        "gemm": 145,  # four of 36 layers, and the head
        "rope": 36,
        "activation": 36,
        "norm": 145,
        "moe": 0,
        "sampling": 1,
    },
    "TP-0-DECODE.trace.json.gz@B300": {
        "attention": 48,
        "moe": 4 * 48,
        "communication": 0,
        "rope": 48,
    },
    "vllm_gptoss120b_b200_tp8_prefill": {
        "communication": 74,  # 73 multimem all-reduces and one all-gather
        "attention": 36,
        "quantize": 72,
        "rope": 36,
        "norm": 73,
    },
}


@pytest.mark.parametrize("capture", EXPECTED)
def test_families_of_serving_captures(corpus: Path, capture: str) -> None:
    part, _, folder = capture.partition("@")
    [rows] = [
        rows for name, rows in activities(corpus).items() if part in name and f"{folder}/" in name
    ]
    counts: dict[str, int] = defaultdict(int)
    for name, _ in rows:
        counts[classify(name).family] += 1
    assert {family: counts[family] for family in EXPECTED[capture]} == EXPECTED[capture]


# What two names of one operation may differ in, besides numbers and flags.
TUNING = re.compile(
    r"void |\.kd$|\((?:int|bool|unsigned (?:int|long))\)|\b-?\d+[ul]*\b|\btrue\b|\bfalse\b"
    r"|c10::BFloat16|c10::Half|__nv_bfloat16|__half|_nocast|_manual_unroll|_contig|_vectorized"
    r"|_aligned16|Aligned|#\d+|\((?:Pinned|Pageable|Host|Unknown|Device)[^)]*\)|, bool(?=\))"
)
GENERATED = re.compile(r"Cijk_|nvjet_|igemm_|batched_transpose_|triton_|volta_|_Z|sm\d+_xmma")


def without_parameters(name: str) -> str:
    """A name up to the parameter list that ends it."""
    if not name.endswith(")") or name.startswith("Mem"):
        return name
    level = 0
    for at in range(len(name) - 1, -1, -1):
        level += (name[at] == ")") - (name[at] == "(")
        if level == 0:
            return name[:at]
    return name


def test_names_of_one_operation_differ_only_in_tuning(corpus: Path) -> None:
    for capture, rows in activities(corpus).items():
        groups: dict[str, set[str]] = defaultdict(set)
        for name in {name for name, _ in rows}:
            if not GENERATED.match(name) and "cutlass" not in name:
                groups[classify(name).op].add(TUNING.sub("", without_parameters(name)))
        shared = {op: names for op, names in groups.items() if len(names) > 1}
        assert not shared, capture


def test_the_functors_of_flux_stay_distinct(corpus: Path) -> None:
    [rows] = [rows for name, rows in activities(corpus).items() if name.endswith("sage.json.gz")]
    names = {name for name, _ in rows if "native::vectorized_elementwise_kernel<" in name}
    widths = {re.sub(r"_kernel<\d+, ", "_kernel<", name) for name in names}
    assert (len(names), len(widths)) == (31, 30)  # one functor runs in two vector widths
    assert len({classify(name).op for name in names}) == 30


def test_two_vendors_share_operations(corpus: Path) -> None:
    captures = activities(corpus)
    ops = [
        {classify(name).op for name, _ in captures[f"pairs/hf_qwen1.5-0.5b/{gpu}.json.gz"]}
        for gpu in ("h100", "mi300")
    ]
    assert "vectorized_elementwise:CUDAFunctor_add" in ops[0] & ops[1]
    assert len(ops[0] & ops[1]) > 20


def test_classify_names_gives_each_name_once(corpus: Path) -> None:
    [rows] = [r for n, r in activities(corpus).items() if "gptoss20b" in n and "execution" in n]
    names = [name for name, _ in rows]
    frame = classify_names(names)
    assert list(frame.columns) == ["name", "op", "family"]
    assert frame["name"].tolist() == list(dict.fromkeys(names))
    assert set(frame.loc[frame["name"] == "reduce_segments", "family"]) == {"attention"}
