"""Every rule decides its own examples, and many more real names have the family they should."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from perfetto_autoviz.steps.ops import OTHER, RULES, Family, Rule, classify

NAMES = Path(__file__).with_name("kernel_names.tsv")

EXAMPLES = [(rule, name, op) for rule in RULES for name, op in rule.examples]
MORE = [tuple(line.split("\t")) for line in NAMES.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("rule", "name", "op"), EXAMPLES, ids=[n[:60] for _, n, _ in EXAMPLES])
def test_each_example_is_decided_by_its_own_rule(rule: Rule, name: str, op: str) -> None:
    found = classify(name)
    assert (found.op, found.family, found.rule) == (op, rule.family, rule.name)


@pytest.mark.parametrize(("name", "op", "family", "rule"), MORE, ids=[m[0][:60] for m in MORE])
def test_more_real_names(name: str, op: str, family: str, rule: str) -> None:
    found = classify(name)
    assert (found.op, found.family, found.rule) == (op, family, rule)


def test_every_rule_is_complete() -> None:
    families = set(get_args(Family))
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    for rule in RULES:
        assert rule.examples, rule.name
        assert rule.family in families - {OTHER}
        assert rule.words or rule.pattern, rule.name
        assert all(word == word.lower() for word in rule.words)
    assert {rule.family for rule in RULES} == families - {OTHER}


def test_no_word_of_a_rule_hides_another() -> None:
    for rule in RULES:
        for word in rule.words:
            longer = [w for w in rule.words if w != word and word in w]
            assert not longer, f"{rule.name}: {longer} are covered by {word}"


PITFALLS = [
    ("_combined_routing_compute", "moe"),  # not communication, though it combines
    ("void vllm::reshape_and_cache_kernel<unsigned short>(int)", "memory"),
    ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "moe"),  # no quantization
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x512_ISA942", "gemm"),
    ("reduce_segments", "attention"),  # the second half of split attention
    ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)", "gemm"),
    ("aiter::topksoftmax_4x128x8_bf16", "moe"),
    ("void flashinfer::sampling::TopKSamplingFromProbKernel<1024u>(int)", "sampling"),
    (
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport"
        "<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8>(int)",
        "communication",
    ),
    ("void trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16>(int)", "communication"),
    ("void cub::DeviceReduceKernel<int>(int)", "elementwise"),  # not a collective
    ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int)", "memory"),  # no product
    ("_gemma_rmsnorm_kernel", "norm"),  # no product either
    ("void flashinfer::norm::GemmaRMSNormKernel<8u, __nv_bfloat16>(int)", "norm"),
    ("dsv3_router_gemm_kernel", "gemm"),
    ("triton_poi_fused_constant_pad_nd_moe_forward_0", "elementwise"),  # only beside an expert
    ("triton_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view_18", "norm"),
    (
        "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<c10::BFloat16, "
        "&at::native::nearest_neighbor_compute_source_index>(int)",
        "elementwise",  # no sampling
    ),
    ("fused_sigmoid_gating_delta_rule_update_kernel", "attention"),
    ("sage_quant_kernel", "quantize"),
    ("_silu_mul_fp8_quant_deep_gemm", "activation"),
    ("__amd_rocclr_copyBuffer", "memory"),
]


@pytest.mark.parametrize(("name", "family"), PITFALLS, ids=[n[:50] for n, _ in PITFALLS])
def test_pitfalls(name: str, family: str) -> None:
    assert classify(name).family == family


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "my_kernel",
        "kernel",
        "void kernel<int>(int*)",
        "addition_kernel(float*, float const*, float const*, int, int)",
        "par_ranged1d_kernel",
        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel<float>(int)",
    ],
)
def test_the_unknown_stays_other(name: str) -> None:
    found = classify(name)
    assert (found.family, found.rule) == (OTHER, "")
    assert found.op


def test_patterns_do_not_capture() -> None:
    for rule in RULES:
        if rule.pattern is not None:
            assert rule.pattern.groups == 0
            assert not rule.pattern.flags & re.IGNORECASE
