"""Each pattern of names finds its examples; what is no language model has none."""

from __future__ import annotations

import pandas as pd
import pytest

from perfetto_autoviz.steps.phases import names
from perfetto_autoviz.steps.phases.language import is_language_model
from perfetto_autoviz.steps.phases.names import NamePattern, attention_role, smallest_tile_side

PATTERNS = [
    *names.SERVING,
    *names.GEMM_TILES,
    *(pattern for patterns in names.ATTENTION_ROLES.values() for pattern in patterns),
    names.TRAINING,
    names.LANGUAGE_MODULE,
    names.OTHER_MODULE,
    names.MATRIX_VECTOR,
    names.BLOCK_PER_REQUEST,
    names.GATHER,
    names.PAGED_PREFILL,
]


@pytest.mark.parametrize("each", PATTERNS, ids=lambda each: each.examples[0][:40])
def test_a_pattern_finds_its_examples(each: NamePattern) -> None:
    for name in each.examples:
        assert each.pattern.search(name)


def test_kernels_of_attention_have_one_role() -> None:
    for role, patterns in names.ATTENTION_ROLES.items():
        for pattern in patterns:
            assert {attention_role(name) for name in pattern.examples} == {role}
    assert attention_role("kernel_unified_attention_2d") is None
    assert attention_role("attn_fwd") is None
    assert attention_role(names.PAGED_PREFILL.examples[0]) is None


def test_tiles() -> None:
    sides = [
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN", 32),
        ("nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN", 128),
        ("nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN", 1),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", 128),
        ("triton_poi_fused_0", None),
    ]
    assert [smallest_tile_side(name) for name, _ in sides] == [side for _, side in sides]


@pytest.mark.parametrize(
    ("dialects", "kernels", "modules", "is_language"),
    [
        (["vllm"], [], [], True),
        ([], ["void vllm::reshape_and_cache_flash_kernel<__half>(int)"], [], True),
        (["torch_profiler"], ["attn_fwd"], ["Qwen2DecoderLayer_0"], True),
        # An image model whose prompt a language model encodes; a training step; others.
        (["diffusion"], ["attn_fwd"], ["FluxTransformer2DModel_0", "Qwen2DecoderLayer_0"], False),
        ([], ["flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel"], ["LlamaDecoderLayer_0"], False),
        ([], ["attn_fwd"], ["BertLayer_0", "BertSelfAttention_0"], False),
        ([], ["cudnn_convolve", "batch_norm"], ["ResNet_0"], False),
        ([], [], [], False),
    ],
)
def test_language_models(
    dialects: list[str], kernels: list[str], modules: list[str], is_language: bool
) -> None:
    calls = pd.DataFrame({"name": modules})
    assert is_language_model(dialects, kernels, lambda: calls) is is_language
