"""What names of kernels and modules say of a capture and of a step: all patterns in one place.

Beside each pattern stand names as profilers record them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Role = Literal["prefill", "decode"]


@dataclass(frozen=True)
class NamePattern:
    """A regular expression, and names that it is for."""

    pattern: re.Pattern[str]
    examples: tuple[str, ...]


def _pattern(expression: str, *examples: str) -> NamePattern:
    return NamePattern(re.compile(expression), examples)


SERVING = (
    # A cache of keys and values, in pages or not, is written and read by nothing but
    # language models that generate.
    _pattern(
        r"(?i)reshape_and_cache|concat_and_cache|kv_?cache|rope_store|cat_and_cache",
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>(int)",
        "concat_and_cache_mla_kernel",
        "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>(StoreKVCacheParams)",
        "void (anonymous namespace)::fused_rope_store_kernel<true, 128l, true>(int)",
        "fused_qk_rope_cat_and_cache_mla_kernel",
    ),
    _pattern(
        r"(?i)paged_?(?:attention|attn|kv)|unified_attention|page_indices|kv_indices|req_to_token",
        "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>(int)",
        "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvCgaVarSeqQ8Kv128"
        "StaticSwapsAbForGen",
        "kernel_unified_attention_2d",
        "_copy_page_indices_kernel",
        "create_flashinfer_kv_indices_triton",
        "write_req_to_token_pool_triton",
    ),
    _pattern(
        r"(?i)masked_multihead_attention|mla_(?:decode|a8w8|a16w16|fwd|stage)|splitkv_mla|flash_mla"
        r"|grouped_kernel_stage1",
        "void masked_multihead_attention_kernel<__half, 128>(Params)",
        "void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64>>(Params)",
        "_fwd_grouped_kernel_stage1",
    ),
    # Kernels that carry the name of a serving framework.
    _pattern(
        r"\bvllm::|\bsgl_(?:hip|kernel)|sgl_hip|tensorrt_llm::|flashinfer|future_token_ids",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16EEvPS3_i",
        "void tensorrt_llm::kernels::quantize_with_block_size<2>(int)",
        "kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnorm",
        "void (anonymous namespace)::resolve_future_token_ids_kernel<long>(long*)",
    ),
)
"""Kernels that only the inference of a language model runs."""

TRAINING = _pattern(
    r"(?i)_bwd|bwd_|backward|adam|sgd|lamb_",
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<64>(int)",
    "void at::native::batch_norm_backward_kernel<float>(int)",
    "void multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>(int)",
)
"""Kernels of a training step, which has no phases of inference."""

LANGUAGE_MODULE = _pattern(
    r"ForCausalLM|DecoderLayer|RotaryEmbedding|LogitsProcessor|ParallelLMHead|RadixAttention",
    "GptOssForCausalLM_0",
    "Qwen2DecoderLayer_11",
    "YaRNScalingRotaryEmbedding_0",
)
"""Classes of nn.Module of language models."""

OTHER_MODULE = _pattern(
    r"Transformer2D|UNet|Autoencoder|Diffusion|DiTBlock|Flux|VisionModel|Timesformer",
    "FluxTransformer2DModel_0",
    "AutoencoderKL_0",
    "TimesformerModel_0",
)
"""Classes of models in which a language model only encodes the prompt."""

ATTENTION_ROLES: dict[Role, tuple[NamePattern, ...]] = {
    "decode": (
        _pattern(
            r"paged_attention_(?:ll4mi|v[12])|(?:^|[_:])pa_(?:decode|fwd|bf16|fp8|ps)",
            "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>(int)",
            "void vllm::paged_attention_v2_kernel<__half, __half, 128>(float*)",
            "pa_decode_kernel",
        ),
        _pattern(
            r"_fwd_(?:grouped_)?kernel_stage[12]|(?:Batch|Single)DecodeWith|flash_decod",
            "_fwd_grouped_kernel_stage1",
            "_fwd_kernel_stage2",
            "void flashinfer::BatchDecodeWithPagedKVCacheKernel<POSENCODING, 2u>(Params)",
        ),
        _pattern(
            r"ForGen(?:eration)?\b|masked_multihead_attention|xqa_kernel|kernel_mha\b",
            "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvCgaVarSeqQ8Kv128"
            "StaticSwapsAbForGen",
            "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP32VarSeqQ8Kv128PersistentSwapsMma"
            "AbForGeneration",
            "void masked_multihead_attention_kernel<__half, 128>(Params)",
        ),
        _pattern(
            r"splitkv_mla|mla_decode|mla_(?:a8w8|a16w16)_qh|mla_dec",
            "void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64>>(Params)",
            "_mla_decode_stage1",
        ),
        # The path with segments is only taken where each request has one new token.
        _pattern(r"unified_attention_3d", "kernel_unified_attention_3d"),
    ),
    "prefill": (
        _pattern(
            r"PrefillWithRagged|SinglePrefillWith|FmhaBatchPrefill|mha_batch_prefill",
            "void flashinfer::BatchPrefillWithRaggedKVCacheKernel<KernelTraits<1>>(Params)",
            "void ck_tile::kentry<2, ck_tile::FmhaBatchPrefillWithPagedKVCacheKernel<int>>(Kargs)",
        ),
        _pattern(
            r"(?:Persistent|Static)Context\b|context_(?:attention|fmha)|fmha_v2\w*_sm|prefix_prefill",
            "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
            "fmha_v2_flash_attention_bf16_64_32_S_qkv_128_causal_tma_ws_sm90_kernel",
            "_context_attention_fwd_kernel",
        ),
        _pattern(
            r"^_fwd_kernel$|fmha_fwd_hd\d+|FmhaFwdKernel",
            "_fwd_kernel",
            "_ZN5aiter35fmha_fwd_hd128_bf16_causal_rtz_groupE",
            "void ck_tile::kentry<2, ck_tile::FmhaFwdKernel<Pipeline, Epilogue>>(Kargs)",
        ),
    ),
}
"""Attention kernels that only one of the two kinds of steps runs."""

PAGED_PREFILL = _pattern(
    r"\bBatchPrefillWithPagedKVCache",
    "void flashinfer::BatchPrefillWithPagedKVCacheKernel<KernelTraits<1>>(Params)",
)
"""Runs decode, too, where several query heads share a head of keys: then on tensor cores, and
no kernel made for decode runs."""

BLOCK_PER_REQUEST = _pattern(
    r"ArgMaxOps|kv_indices|page_indices|alloc_decode|SamplingFrom\w*Prob",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
    "at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >(int)",
    "create_flashinfer_kv_indices_triton",
    "_copy_page_indices_kernel",
    "alloc_decode_kernel",
    "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, float>(float*)",
)
"""Kernels that give each request a row of blocks."""

GATHER = _pattern(
    r"vectorized_gather_kernel|index_?[sS]elect",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)",
    "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(int)",
)
"""Kernels that give each chosen row a row of blocks: behind the layers, one for each request."""

GEMM_TILES = (
    _pattern(
        r"_MT(\d+)x(\d+)x\d+",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN",
    ),
    _pattern(r"^nvjet_\w*?_(\d+)x(\d+)_", "nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT"),
    _pattern(
        r"tilesize(\d+)x(\d+)x\d+",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_kernel",
    ),
    _pattern(
        r"gemm_\w*?(\d+)x(\d+)_\d+x\d",
        "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8",
    ),
)
"""Names of matrix products that state the tile: its two sides are the groups."""

MATRIX_VECTOR = _pattern(
    r"(?i)gemv|wvsplitk|llgemm|skinny|split_?k",
    "void gemvNSP_kernel<__half, 1, 32, 4, 1024>(int)",
    "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 4, 16, 8, 4, 4>(int)",
    "nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN",
)
"""Products of few rows."""


def is_serving(name: str) -> bool:
    """Whether only the inference of a language model runs such a kernel."""
    return any(each.pattern.search(name) for each in SERVING)


def attention_role(name: str) -> Role | None:
    """Which kind of step runs such an attention kernel; None if both do."""
    for role, patterns in ATTENTION_ROLES.items():
        if any(each.pattern.search(name) for each in patterns):
            return role
    return None


def is_paged_prefill(name: str) -> bool:
    """Whether an attention kernel is one of prefill, unless it is decode's, too."""
    return PAGED_PREFILL.pattern.search(name) is not None


def is_block_per_request(name: str) -> bool:
    """Whether a kernel gives each request a row of blocks."""
    return BLOCK_PER_REQUEST.pattern.search(name) is not None


def is_gather(name: str) -> bool:
    """Whether a kernel gives each row that it chooses a row of blocks."""
    return GATHER.pattern.search(name) is not None


def smallest_tile_side(name: str) -> int | None:
    """The shorter side of a matrix product's tile; 1 for products of few rows."""
    if MATRIX_VECTOR.pattern.search(name):
        return 1
    for each in GEMM_TILES:
        found = each.pattern.search(name)
        if found:
            return min(int(found[1]), int(found[2]))
    return None
