from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.dialects import (
    PATTERNS,
    Annotation,
    candidate_prefixes,
    parse_annotation,
    richness,
)

EXAMPLES = [(pattern.name, text) for pattern in PATTERNS for text in pattern.examples]


def read(text: str) -> Annotation:
    annotation = parse_annotation(text)
    assert annotation is not None, text
    return annotation


def counts(text: str) -> tuple[object, ...]:
    """Phase, batch size, context and generation requests, context and generation tokens."""
    a = read(text)
    return (
        a.phase,
        a.batch_size,
        a.context_requests,
        a.generation_requests,
        a.context_tokens,
        a.generation_tokens,
    )


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_each_example_is_read_by_its_own_pattern(name: str, text: str) -> None:
    accepting = [
        pattern.name
        for pattern in PATTERNS
        if text.lower().startswith(pattern.prefixes) and pattern.expression.fullmatch(text)
    ]
    assert accepting == [name]
    assert read(text).text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("execute_new_1_cached_7", ("mixed", 8, 1, 7, None, None)),
        ("execute_new_4_cached_0", ("prefill", 4, 4, 0, None, None)),
        ("execute_new_0_cached_64", ("decode", 64, 0, 64, None, None)),
        ("execute_context_2(6144)_generation_3(3)", ("mixed", 5, 2, 3, 6144, 3)),
        ("execute_context_0(0)_generation_64(64)", ("decode", 64, 0, 64, 0, 64)),
        ("execute_context_0(0)_generation_0(0)", ("idle", 0, 0, 0, 0, 0)),
        ("execute_context_1(888_788544)_generation_0(0)", ("prefill", 1, 1, 0, 888, 0)),
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
            ("decode", 32, 0, 32, 0, 32),
        ),
        (
            "execute_6147_context_2(sq6144sk7144sqsq1sqsk2)_generation_3(sq3sk9sqsq3sqsk9)",
            ("mixed", 5, 2, 3, 6144, 3),
        ),
    ],
)
def test_vllm(text: str, expected: tuple[object, ...]) -> None:
    assert counts(text) == expected
    assert read(text).dialect == "vllm"
    assert read(text).kind == "step"


def test_vllm_speculation_stays_decode_and_says_how_many_drafts() -> None:
    annotation = read("execute_context_0(0)_generation_3(9)")
    assert annotation.phase == "decode"
    assert annotation.speculative_tokens == 2
    assert read("execute_context_0(0)_generation_3(8)").speculative_tokens is None
    assert read("execute_context_0(0)_generation_3(3)").speculative_tokens is None


def test_vllm_sums_are_kept() -> None:
    detail = read("execute_5_context_1(sq3sk7sqsq9sqsk21)_generation_2(sq2sk8sqsq2sqsk8)").detail
    assert detail["context_sqsk"] == 21
    assert detail["generation_sk"] == 8
    assert detail["tokens"] == 5
    assert read("execute_context_1(888_788544)_generation_0(0)").detail["context_sqsq"] == 888**2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step[EXTEND bs=2 toks=14721]", ("prefill", 2, 2, 0, 14721, 0)),
        ("step[DECODE bs=64]", ("decode", 64, 0, 64, 0, 64)),
        ("step[decode bs=64]", ("decode", 64, 0, 64, 0, 64)),
        ("step[MIXED bs=62]", ("mixed", 62, None, None, None, None)),
        ("step[MIXED bs=62 toks=900 c=2 g=60]", ("mixed", 62, 2, 60, None, None)),
        ("step[MIXED bs=62 c_sq=840 g_sq=60 c=2 g=60]", ("mixed", 62, 2, 60, 840, 60)),
        ("step[TARGET_VERIFY bs=8 toks=32]", ("verify", 8, 0, 8, 0, 32)),
        ("step[DRAFT_EXTEND_V2 bs=8]", ("draft", 8, 0, 8, 0, None)),
        ("step[IDLE bs=0]", ("idle", 0, 0, 0, 0, 0)),
        ("step[PREBUILT bs=3]", ("unknown", 3, None, None, None, None)),
        ("step[EXTEND bs=2 toks=9 c_sq=9 c_sk=20 c_sqsq=41 c_sqsk=90]", ("prefill", 2, 2, 0, 9, 0)),
        ("step[EXTEND bs=2 toks=9] c_sq=9 c_sk=20", ("prefill", 2, 2, 0, 9, 0)),
    ],
)
def test_sglang(text: str, expected: tuple[object, ...]) -> None:
    assert counts(text) == expected
    assert read(text).dialect == "sglang"


def test_sglang_verify_counts_the_drafts_of_a_request() -> None:
    assert read("step[TARGET_VERIFY bs=8 toks=32]").speculative_tokens == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prefill[bs=2 tok=14721 ctx=[7803, 6918]]", ("prefill", 2, 2, 0, 14721, 0)),
        ("decode[bs=64 tok=64 d=64]", ("decode", 64, 0, 64, 0, 64)),
        ("decode[bs=117/128 tok=117 p=2 d=115 spec=3 tbo=1]", ("mixed", 117, 2, 115, None, None)),
        ("eager_decode[bs=300 tok=300 ctx=[1, 2, 3]...+297]", ("decode", 300, 0, 300, 0, 300)),
        ("decode[bs=9 tok=72 p=1 d=8 c_sq=64 g_sq=8]", ("mixed", 9, 1, 8, 64, 8)),
        ("dummy_decode[bs=1 tok=1 d=1]", ("dummy", 1, 0, 1, 0, 1)),
        ("dummy_eager_decode[bs=1 tok=1 ctx=1]", ("dummy", 1, 0, 1, 0, 1)),
        ("dummy_prefill[bs=1 tok=8192 ctx=8192]", ("dummy", 1, 1, 0, 8192, 0)),
        ("draft[1/3 bs=32]", ("draft", 32, 0, 32, None, None)),
        ("dspark[bs=32 T=4]", ("draft", 32, 0, 32, None, None)),
        ("propose_eagle[0/3 tok=128 bs=32]", ("draft", 32, 0, 32, None, 128)),
    ],
)
def test_atom(text: str, expected: tuple[object, ...]) -> None:
    assert counts(text) == expected
    assert read(text).dialect == "atom"
    assert (read(text).kind == "dummy") == text.startswith("dummy_")


def test_atom_tells_the_real_batch_from_the_graph() -> None:
    padded = read("decode[bs=117/128 tok=117 d=117]")
    assert (padded.batch_size, padded.graph_batch_size) == (117, 128)
    exact = read("decode[bs=64 tok=64 d=64]")
    assert (exact.batch_size, exact.graph_batch_size) == (64, 64)
    assert read("eager_decode[bs=64 tok=64 ctx=8]").graph_batch_size is None
    assert read("decode[bs=8 tok=32 d=8 spec=3]").speculative_tokens == 3


def test_atom_context_lengths() -> None:
    assert read("prefill[bs=2 tok=9 ctx=[7803, 6918]]").detail["ctx"] == (7803, 6918)
    assert read("prefill[bs=1 tok=9 ctx=7803]").detail["ctx"] == (7803,)
    many = read("prefill[bs=6 tok=9 ctx=[1, 2, 3]...+3]").detail
    assert (many["ctx"], many["ctx_left_out"]) == ((1, 2, 3), 3)


def test_atom_draft_pass() -> None:
    assert read("draft[1/3 bs=32]").detail == {"drafter": "draft", "pass": 1, "passes": 3}


@pytest.mark.parametrize(
    ("text", "expected", "number"),
    [
        ("[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs", ("mixed", 8, 3, 5), 12),
        ("[Executor] _forward_step: 3 ctx reqs, 0 gen reqs", ("prefill", 3, 3, 0), None),
        ("_forward_step 7: 0 ctx reqs, 5 gen reqs", ("decode", 5, 0, 5), 7),
        ("_forward_step 7: 0 ctx reqs, 0 gen reqs", ("idle", 0, 0, 0), 7),
        (
            "[Executor] _forward_step 1: 2 ctx reqs, 90 ctx tokens, 1 gen reqs",
            ("mixed", 3, 2, 1),
            1,
        ),
    ],
)
def test_tensorrt_llm(text: str, expected: tuple[object, ...], number: int | None) -> None:
    assert counts(text)[:4] == expected
    assert read(text).dialect == "tensorrt_llm"
    assert read(text).step_number == number


def test_profiler_step_says_no_phase() -> None:
    annotation = read("ProfilerStep#134")
    assert (annotation.dialect, annotation.kind) == ("torch_profiler", "step")
    assert (annotation.phase, annotation.step_number) == (None, 134)


def test_diffusion_generation() -> None:
    annotation = read("execute_diffusion_1_1024x768")
    assert (annotation.kind, annotation.batch_size) == ("generation", 1)
    assert annotation.detail == {"width": 1024, "height": 768}


@pytest.mark.parametrize(
    ("text", "dialect", "size", "detail"),
    [
        ("capture_32_FULL", "vllm", 32, {"mode": "FULL"}),
        ("capture_8_draft_FULL", "vllm", 8, {"mode": "FULL", "draft": 1}),
        ("capture_32_DECODE", "sglang", 32, {"mode": "DECODE"}),
        ("capture_graph_bs_128", "atom", 128, {}),
    ],
)
def test_captures(text: str, dialect: str, size: int, detail: dict[str, object]) -> None:
    annotation = read(text)
    assert annotation.kind == "capture"
    assert annotation.dialect == dialect
    assert annotation.graph_batch_size == size
    assert annotation.batch_size is None
    assert annotation.detail == detail


@pytest.mark.parametrize(
    "text",
    [
        "",
        "## Call CompiledFxGraph f4ii27ddivzklxr54hd45chngp247rp2ytmjxpq3f55wet4szuh7 ##",
        "nccl:all_reduce",
        "nccl:_all_gather_base",
        "Optimizer.step#SGD.step",
        "Optimizer.zero_grad#SGD.zero_grad",
        "DistributedDataParallel.forward",
        "## forward ##",
        "model_inference",
        "vllm/v1/worker/gpu_model_runner.py(2345): execute_model",
        "nn.Module: LlamaDecoderLayer_0",
        "execute_model",
        "execute_new_1_cached_",
        "prefill",
        "decode[]",
        "draft[1/3]",
        "step[",
        "step[DECODE bs=64",
        "ProfilerStep#",
        "ProfilerStep",
        "capture_graph",
        "capture_32_",
        "scheduler.run_batch",
        "_forward_step",
        "execute_context_" + "9" * 5000 + "(1)_generation_0(0)",
    ],
)
def test_what_is_no_step(text: str) -> None:
    assert parse_annotation(text) is None


def test_richness_prefers_counts() -> None:
    detailed = read(
        "execute_16_context_0(sq0sk0sqsq0sqsk0)_generation_16(sq16sk8193sqsq16sqsk8193)"
    )
    native = read("step[DECODE bs=16]")
    profiler = read("ProfilerStep#1")
    assert richness(detailed) > richness(native) > richness(profiler)


ALPHABET = st.sampled_from(list("abdeginprstuxcfhESTDMIX[]()=_ :#0123456789/,.\n\0٣"))
NEAR = st.builds(
    lambda prefix, rest, upper: (prefix.upper() if upper else prefix) + rest,
    st.sampled_from(candidate_prefixes),
    st.text(ALPHABET, max_size=60),
    st.booleans(),
)


@given(st.one_of(NEAR, st.text(max_size=60), st.sampled_from([text for _, text in EXAMPLES])))
def test_accepted_texts_begin_with_a_candidate_prefix(text: str) -> None:
    for variant in (text, text.upper(), text.swapcase()):
        annotation = parse_annotation(variant)
        if annotation is not None:
            assert variant.lower().startswith(candidate_prefixes)
            assert annotation.text == variant


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**9),
    st.integers(0, 10**6),
    st.integers(0, 10**9),
)
def test_vllm_numbers_come_back(c: int, ct: int, g: int, gt: int) -> None:
    annotation = read(f"execute_context_{c}({ct})_generation_{g}({gt})")
    assert annotation.context_requests == c
    assert annotation.context_tokens == ct
    assert annotation.generation_requests == g
    assert annotation.generation_tokens == gt
    assert annotation.batch_size == c + g


@pytest.mark.parametrize(
    "text",
    [
        "step[DECODE" + " a=1" * 2500,
        "execute_1_context_1(" + "sq1" * 3300,
        "decode[bs=1" + " ctx=[" * 1600,
        "draft[1/3 " + "bs=" * 3300,
        "step[" + "A" * 10_000,
    ],
)
def test_hostile_texts_are_quick(text: str) -> None:
    start = time.perf_counter()
    for _ in range(20):
        parse_annotation(text[:4090])
        parse_annotation(text)
    assert time.perf_counter() - start < 0.5
