"""The one table that gives kernels their family.

Rules are tried in order and the first that matches decides, so a rule relies on those in front
of it. Each stands beside real names and the operation they have; the tests check that every
example is decided by its own rule. What no rule knows stays ``other``.

A pattern is searched in the lower-case *subject* of a kernel: for a C++ name its scopes and
operation, as ``vllm::act_and_mul_kernel:act_and_mul:silu``; for any other name the name itself.

What the families hold: ``gemm`` matrix products outside of experts, and convolutions;
``attention`` every mixing of tokens, so linear attention and state spaces too, with the parts
it is split into; ``moe`` routing, permutation and products of experts; ``norm``, ``rope``,
``activation`` and ``quantize`` also with what is fused to them; ``communication`` collectives
and what is fused to them; ``memory`` what only moves or sets data, cache writes and their
indices too; ``sampling`` from logits; ``elementwise`` general tensor operations that do not
say what they are for, reductions, softmax, scans and sorts too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Family = Literal[
    "gemm",
    "attention",
    "moe",
    "norm",
    "rope",
    "activation",
    "quantize",
    "communication",
    "memory",
    "sampling",
    "elementwise",
    "other",
]

OTHER: Final = "other"

_LONGEST_SUBJECT = 600
"""What stands further on in a name is tuning of generated kernels, or hostile."""


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        name: what it recognises.
        family: what it decides.
        pattern: searched in the lower-case subject.
        examples: real names, each with its operation.
    """

    name: str
    family: Family
    pattern: re.Pattern[str]
    examples: tuple[tuple[str, str], ...]


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.ASCII)


RULES: tuple[Rule, ...] = (
    Rule(
        "runtime copy or fill",
        "memory",
        _any(
            r"^memcpy ",
            r"^memset\b",
            r"^\[cuda mem",
            r"memcpy_kind",
            r"^__amd_rocclr_(?:copy|fill|stream)",
            r"^memory_copy_",
        ),
        (
            (
                "Memcpy HtoD (Pinned -> Device)",
                "Memcpy HtoD",
            ),
            (
                "Memset (Device)",
                "Memset",
            ),
            (
                "__amd_rocclr_copyBuffer",
                "__amd_rocclr_copyBuffer",
            ),
            (
                "__amd_rocclr_fillBufferAligned",
                "__amd_rocclr_fillBuffer",
            ),
            (
                "[CUDA memcpy Device-to-Host]",
                "Memcpy DtoH",
            ),
        ),
    ),
    Rule(
        "library gemm",
        "gemm",
        _any(
            r"^(?:custom_)?cijk_",
            r"^nvjet_",
            r"^sm\d+_xmma_gemm",
            r"^(?:volta|turing|ampere|hopper|maxwell)_\w*gemm",
        ),
        (
            (
                (
                    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_MI16x16x1_SN_LDSB"
                    "1_AFC1_ISA942_IU1"
                ),
                "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV",
            ),
            (
                "Cijk_SB_BiasB_HAS_ScaleAlphaVec_PostGSU2_VW2.kd",
                "Cijk_SB_BiasB_HAS_ScaleAlphaVec_PostGSU",
            ),
            (
                "nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN",
                "nvjet_tst_TNN",
            ),
            (
                "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT",
                "nvjet_tst_bias_TNT",
            ),
            (
                (
                    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1"
                    "x1x1_execute_segment_k_off_kernel__5x_cublas"
                ),
                "xmma_gemm_bf16bf16_bf16f32_f32_tn_n",
            ),
            (
                "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
                "bf16_sgemm_bf16_tn",
            ),
        ),
    ),
    Rule(
        "compiled template",
        "gemm",
        _any(
            r"^triton_(?:tem|mm)_\w*(?:mm|addmm|bmm)",
        ),
        (
            (
                "triton_tem_fused_addmm_3",
                "triton_tem_fused_addmm",
            ),
        ),
    ),
    Rule(
        "compiled norm",
        "norm",
        _any(
            r"^triton_(?:red|per|poi)_\w*(?:rsqrt|_norm(?:_|$)|rms_norm)",
        ),
        (
            (
                "triton_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view_18",
                "triton_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view",
            ),
            (
                "triton_per_fused__to_copy_add_mean_mul_pow_rsqrt_0",
                "triton_per_fused__to_copy_add_mean_mul_pow_rsqrt",
            ),
        ),
    ),
    Rule(
        "compiled rotary embedding",
        "rope",
        _any(
            r"^triton_(?:red|per|poi)_\w*_cos_\w*sin(?:_|$)",
            r"^triton_(?:red|per|poi)_\w*(?:rotary|rope)",
        ),
        (
            (
                (
                    "triton_poi_fused__to_copy_arange_cat_clone_cos_div_expand_mul_pow_reciproc"
                    "al_select_sin_split_unsqueeze_view_10"
                ),
                (
                    "triton_poi_fused__to_copy_arange_cat_clone_cos_div_expand_mul_pow_reciproc"
                    "al_select_sin_split_unsqueeze_view"
                ),
            ),
        ),
    ),
    Rule(
        "compiled quantization",
        "quantize",
        _any(
            r"^triton_(?:red|per|poi)_\w*(?:quant|float8|fp8|_amax_\w*clamp)",
        ),
        (
            (
                "triton_per_fused__scaled_fp8_quant_0",
                "triton_per_fused__scaled_fp8_quant",
            ),
        ),
    ),
    Rule(
        "compiled activation",
        "activation",
        _any(
            r"^triton_(?:red|per|poi)_\w*(?:silu|gelu|relu|swiglu)(?:_|$)",
        ),
        (
            (
                "triton_poi_fused_mul_silu_1",
                "triton_poi_fused_mul_silu",
            ),
            (
                "triton_poi_fused_addmm_gelu_view_17",
                "triton_poi_fused_addmm_gelu_view",
            ),
        ),
    ),
    Rule(
        "compiled elementwise",
        "elementwise",
        _any(
            r"^triton_(?:red|per|poi|for|split_scan)_",
        ),
        (
            (
                "triton_poi_fused_constant_pad_nd_moe_forward_0",
                "triton_poi_fused_constant_pad_nd_moe_forward",
            ),
            (
                "triton_poi_fused__to_copy_1",
                "triton_poi_fused__to_copy",
            ),
            (
                "triton_poi_fused_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub_0",
                "triton_poi_fused_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub",
            ),
        ),
    ),
    Rule(
        "collective library",
        "communication",
        _any(
            r"nccl\w*kernel",
            r"rccl",
            r"mscc?l",
            r"onerankreduce",
            r"nvshmem",
            r"rocshmem",
        ),
        (
            (
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_AllReduce_Sum",
            ),
            (
                "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_AllGather",
            ),
            (
                ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
                "ncclDevKernel_AllReduce_Sum_f32",
            ),
            (
                "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)",
                "ncclDevKernel_SendRecv",
            ),
            (
                "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_Generic",
            ),
            (
                "ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)",
                "ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum",
            ),
        ),
    ),
    Rule(
        "all-reduce and its fusions",
        "communication",
        _any(
            r"all_?reduce",
            r"cross_device_reduce",
            r"multimem",
            r"lamport",
            r"quick_?reduce",
            r"(?:one|two)_?shot",
            r"allreduce_fusion",
            r"^reduce_scatter_first_dim|^reduce_scatter_cross",
        ),
        (
            (
                (
                    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>("
                    "c10::BFloat16*, unsigned long, unsigned int**, unsigned long, unsigned lon"
                    "g)"
                ),
                "multimem_all_reduce",
            ),
            (
                (
                    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, v"
                    "llm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"
                ),
                "cross_device_reduce_1stage",
            ),
            (
                (
                    "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8, false>(aiter::Ra"
                    "nkData*, aiter::RankSignals, aiter::Signal*, __hip_bfloat16*, int, int)"
                ),
                "cross_device_reduce_2stage",
            ),
            (
                (
                    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_"
                    "lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __"
                    "nv_bfloat16, 8, true, true>(flashinfer::trtllm_allreduce_fusion::AllReduce"
                    "FusionParams<__nv_bfloat16>)"
                ),
                "allreduce_fusion_kernel_oneshot_lamport:AllReduceFusionPattern=1",
            ),
            (
                (
                    "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_syn"
                    "c<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)1, __nv_bfloat"
                    "16, 4, false>(tensorrt_llm::kernels::ar_fusion::AllReduceFusionParams, int"
                    ")"
                ),
                "allreduce_fusion_kernel_twoshot_sync:AllReduceFusionPattern=1",
            ),
            (
                (
                    "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwosho"
                    "t<__half, quickreduce::CodecQ4<__half, 8>, false>, __half>(__half const*, "
                    "__half*, unsigned int, unsigned int, int, unsigned char**, unsigned int, u"
                    "nsigned int)"
                ),
                "allreduce_prototype_twoshot:AllReduceTwoshot<CodecQ4>",
            ),
        ),
    ),
    Rule(
        "gather, scatter and exchange between ranks",
        "communication",
        _any(
            r"all_?gather",
            r"reduce_?scatter",
            r"all_?to_?all|alltoall",
            r"deep_ep::",
            r"(?:intranode|internode|low_latency)\w*::\w*(?:dispatch|combine|barrier|notify)",
            r"mori\w*::",
            r"epdispatch|epcombine",
            r"moe_?a2a",
            r"pplx",
        ),
        (
            (
                (
                    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, int*,"
                    " long*, float*, int*, int*, int4 const*, float const*, long const*, float "
                    "const*, bool const*, int const*, int, int, int, int, int, int, int, int, v"
                    "oid**, int, int, int)"
                ),
                "intranode::dispatch",
            ),
            (
                (
                    "void deep_ep::internode_ll::combine<true, 7168, 9, 3>(void*, void*, int*, "
                    "void*, void const*, long const*, float const*, int const*, long const*, lo"
                    "ng*, int*, int, int*, int, int, int, int, int, int, int, int, int, bool)"
                ),
                "internode_ll::combine",
            ),
            (
                (
                    "void aiter::allgather_vec<__hip_bfloat16, 8>(aiter::RankData*, aiter::Rank"
                    "Signals, aiter::Signal*, __hip_bfloat16*, int, int)"
                ),
                "allgather_vec",
            ),
            (
                (
                    "void tensorrt_llm::kernels::mnnvl_moe_alltoall::moeA2ADispatchKernel<tenso"
                    "rrt_llm::kernels::WarpPolicy, 8>(int)"
                ),
                "moeA2ADispatchKernel",
            ),
        ),
    ),
    Rule(
        "rotary embedding with cache write",
        "rope",
        _any(
            r"rope\w*(?:cache|store|concat|cat)",
            r"(?:cache|cat)\w*rope",
            r"rotary\w*(?:kv_?cache|and_cache)",
            r"cache\w*rotary",
        ),
        (
            (
                "_fused_qk_rope_reshape_and_cache_kernel",
                "_fused_qk_rope_reshape_and_cache_kernel",
            ),
            (
                (
                    "void (anonymous namespace)::fused_rope_store_kernel<true, 128l, true, __nv"
                    "_bfloat16, long, 16u>((anonymous namespace)::FusedRopeStoreParams)"
                ),
                "fused_rope_store",
            ),
            (
                "fused_qk_rope_cat_and_cache_mla_kernel",
                "fused_qk_rope_cat_and_cache_mla_kernel",
            ),
        ),
    ),
    Rule(
        "norm with rotary embedding",
        "norm",
        _any(
            r"(?:qk|q_k)_?(?:rms)?_?norm\w*rope",
            r"norm\w*rope",
        ),
        (
            (
                (
                    "void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(__nv_bfloat16"
                    "*, int, int, int, float, __nv_bfloat16 const*, __nv_bfloat16 const*, float"
                    ", int const*, int)"
                ),
                "fusedQKNormRopeKernel",
            ),
        ),
    ),
    Rule(
        "cache write",
        "memory",
        _any(
            r"reshape_and_cache",
            r"concat_and_cache",
            r"store_?kv_?cache",
            r"store_cache",
            r"set_(?:mla_)?kv_?buffer",
            r"append_?paged_?kv",
            r"indexer_k_quant_and_cache|k_quant_and_cache",
            r"copy_blocks|swap_blocks",
            r"gather\w*_cache",
            r"write_req_to_token|alloc_(?:decode|extend)",
            r"kv_indices|page_indices|req_to_token",
            r"cp_gather",
        ),
        (
            (
                (
                    "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (v"
                    "llm::Fp8KVCacheDataType)1>(__nv_bfloat16 const*, __nv_bfloat16 const*)"
                ),
                "reshape_and_cache_flash:Fp8KVCacheDataType=1",
            ),
            (
                (
                    "void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, __nv_bfloat16, (vllm"
                    "::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*)"
                ),
                "concat_and_cache_mla",
            ),
            (
                "create_flashinfer_kv_indices_triton",
                "create_flashinfer_kv_indices_triton",
            ),
            (
                "alloc_decode_kernel",
                "alloc_decode_kernel",
            ),
            (
                "_copy_page_indices_kernel",
                "_copy_page_indices_kernel",
            ),
            (
                "set_mla_kv_buffer_kernel",
                "set_mla_kv_buffer_kernel",
            ),
            (
                (
                    "void flashinfer::AppendPagedKVCacheKernel<128u, 8u, __nv_bfloat16, int>(fl"
                    "ashinfer::paged_kv_t<__nv_bfloat16, int>, __nv_bfloat16*, __nv_bfloat16*)"
                ),
                "AppendPagedKVCacheKernel",
            ),
        ),
    ),
    Rule(
        "flash attention",
        "attention",
        _any(
            r"flash_?(?:fwd|bwd|attn|attention|infer_?attn|mla)",
            r"flashattn",
            r"fmha",
            r"sage_(?:fwd|attn)|qk_int8_sv|qk_int_sv",
            r"splitkv_mla|mla_(?:combine|metadata)|get_mla_metadata",
            r"smxx_get_mla",
        ),
        (
            (
                (
                    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, ("
                    "int)64, (int)4, (bool)0, (bool)0, cutlass::bfloat16_t, Flash_kernel_traits"
                    "<(int)128, (int)128, (int)64, (int)4, cutlass::bfloat16_t>>, (bool)0, (boo"
                    "l)0, (bool)0, (bool)0, (bool)1, (bool)1, (bool)0, (bool)0>(flash::Flash_fw"
                    "d_params)"
                ),
                "flash_fwd",
            ),
            (
                (
                    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_trait"
                    "s<64, 128, 128, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash"
                    "_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false"
                    ", false, true, true, false, false>(pytorch_flash::Flash_fwd_params)"
                ),
                "flash_fwd:causal",
            ),
            (
                (
                    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFw"
                    "dSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<"
                    "1>, cute::C<1> >, cute::tuple<cute::C<128>, cute::C<176>, cute::C<128> >, "
                    "128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, false, false, "
                    "true, true, false, false, true, true, false, false, true, false>, flash::C"
                    "ollectiveEpilogueFwd<cute::tuple<cute::C<128>, cute::C<128>, cute::C<176> "
                    ">, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::bfloat16_t, "
                    "cutlass::arch::Sm90, 256, true, true, false, false>, flash::VarlenDynamicP"
                    "ersistentTileScheduler<128, 256, 128, false, true, true> > > >(flash::enab"
                    "le_sm90_or_later<int>::Params)"
                ),
                "device_kernel:FlashAttnFwd,causal",
            ),
            (
                (
                    "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvCgaVar"
                    "SeqQ8Kv128StaticSwapsAbForGen"
                ),
                "fmha:QkvBfloat16OBfloat16H128PagedKvCausalForGen",
            ),
            (
                (
                    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausalP16VarSeq"
                    "Q128Kv128PersistentContext"
                ),
                "fmha:QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausalContext",
            ),
            (
                "aiter::fmha_fwd_hd128_bf16_rtz",
                "fmha_fwd_hd128_bf16_rtz",
            ),
            (
                "sage_fwd",
                "sage_fwd",
            ),
            (
                (
                    "void cutlass::device_kernel<cutlass::fmha::kernel::FMHA<cutlass::bfloat16_"
                    "t, cute::tuple<cute::C<128>, cute::C<64> > > >(cutlass::fmha::kernel::FMHA"
                    "<int>::Params)"
                ),
                "device_kernel:FMHA",
            ),
            (
                (
                    "void flash_attn_tile<128, 128, 32, 1, false>(char const*, char const*, cha"
                    "r const*)"
                ),
                "flash_attn_tile",
            ),
        ),
    ),
    Rule(
        "paged attention",
        "attention",
        _any(
            r"paged_?attention",
            r"(?:decode|prefill)with(?:paged|ragged)kv",
            r"singleprefillwith|singledecodewith",
            r"pagedattention",
            r"paged_attn",
            r"unified_attention",
            r"pa_(?:fwd|decode|bf16|fp8|noquant)",
            r"merge_?attn_?states?|variablelengthmergestates|mergestates?kernel",
            r"persistentvariablelength",
        ),
        (
            (
                (
                    "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bflo"
                    "at16, (vllm::Fp8KVCacheDataType)0, 1, 128, 256, false, 8, 1, ck_tile::Comp"
                    "osedAttention<0u, false> >(__hip_bfloat16 const*, __hip_bfloat16 const*)"
                ),
                "paged_attention_ll4mi_QKV:ComposedAttention",
            ),
            (
                (
                    "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 1"
                    "28, 128, 256, 3, false>(__hip_bfloat16*, float const*)"
                ),
                "paged_attention_ll4mi_reduce",
            ),
            (
                "kernel_unified_attention_2d",
                "kernel_unified_attention_2d",
            ),
            (
                "kernel_unified_attention_3d",
                "kernel_unified_attention_3d",
            ),
            (
                (
                    "void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, "
                    "16, 128, (vllm::Fp8KVCacheDataType)0, false, 512>(float*, float*)"
                ),
                "paged_attention_v2",
            ),
            (
                (
                    "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTrai"
                    "ts<(flashinfer::MaskMode)1, 128u, 2u, 1u, 8u, 8u, 4u, 1u, (flashinfer::Pos"
                    "EncodingMode)0, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, int, f"
                    "lashinfer::DefaultAttention<false, false, false, false> >, flashinfer::Bat"
                    "chPrefillPagedParams<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, int> >(f"
                    "lashinfer::BatchPrefillPagedParams<__nv_bfloat16, __nv_bfloat16, __nv_bflo"
                    "at16, int>)"
                ),
                "BatchPrefillWithPagedKVCacheKernel:MaskMode=1,DefaultAttention",
            ),
            (
                (
                    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodin"
                    "gMode)0, 2u, 4u, 8u, 16u, 1u, 8u, flashinfer::DefaultAttention<false, fals"
                    "e, false, false>, flashinfer::BatchDecodeParams<__nv_bfloat16, __nv_bfloat"
                    "16, __nv_bfloat16, int> >(flashinfer::BatchDecodeParams<int>)"
                ),
                "BatchDecodeWithPagedKVCacheKernel:DefaultAttention",
            ),
            (
                (
                    "void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u"
                    ", __nv_bfloat16, __nv_bfloat16, int>(__nv_bfloat16*, float*, int*)"
                ),
                "PersistentVariableLengthMergeStatesKernel",
            ),
        ),
    ),
    Rule(
        "triton attention",
        "attention",
        _any(
            r"^_?reduce_segments$",
            r"^_fwd_(?:grouped_)?kernel(?:_stage[12])?$",
            r"^_fwd_kernel_stage2$",
            r"^_attn_fwd",
            r"_fwd_attention|attention_fwd",
            r"^_?context_attention",
            r"^_bwd_(?:kernel_)?dkdv",
        ),
        (
            (
                "reduce_segments",
                "reduce_segments",
            ),
            (
                "_fwd_grouped_kernel_stage1",
                "_fwd_grouped_kernel_stage1",
            ),
            (
                "_fwd_kernel_stage2",
                "_fwd_kernel_stage2",
            ),
            (
                "_fwd_kernel",
                "_fwd_kernel",
            ),
            (
                "_attn_fwd",
                "_attn_fwd",
            ),
        ),
    ),
    Rule(
        "latent and sparse attention",
        "attention",
        _any(
            r"(?:^|[_:])mla(?:_|::|<|$)",
            r"mla(?:decode|prefill|kernel)|mla\w*(?:stage\d|reduce)",
            r"mqa_logits",
            r"topk_transform",
            r"sparse_?attn|sparse_?attention|indexer_(?:kernel|logits)|lightning_indexer",
        ),
        (
            (
                "_ZN5aiter43mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_psE",
                "mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_psE",
            ),
            (
                (
                    "void deep_gemm::sm90_fp8_paged_mqa_logits<1u, 64u, 128u, 64u, 3u, 3u, 256u"
                    ", 128u, 512u>(unsigned int, unsigned long)"
                ),
                "fp8_paged_mqa_logits",
            ),
            (
                "kn_mla_reduce_v1_ps",
                "kn_mla_reduce_v1_ps",
            ),
        ),
    ),
    Rule(
        "linear attention and state space",
        "attention",
        _any(
            r"chunk_(?:gated_)?delta_rule|gated_delta",
            r"fused_recurrent",
            r"chunk_(?:fwd|scan|state|local_cumsum|cumsum|kda|gla|scaled_dot)",
            r"_state_passing",
            r"selective_s(?:can|tate)",
            r"causal_conv1d|ssm_conv|ssm_scan",
            r"_bmm_chunk_fwd",
            r"recompute_w_u_fwd|merge_\d+x\d+_to_\d+x\d+|solve_tril",
            r"lightning_attn|linear_attn",
            r"fused_gdn_gating",
            r"mamba",
        ),
        (
            (
                "_chunk_scan_fwd_kernel",
                "_chunk_scan_fwd_kernel",
            ),
            (
                "_causal_conv1d_update_kernel",
                "_causal_conv1d_update_kernel",
            ),
            (
                "fused_recurrent_gated_delta_rule_fwd_kernel",
                "fused_recurrent_gated_delta_rule_fwd_kernel",
            ),
            (
                "chunk_gated_delta_rule_fwd_kernel_h_blockdim64",
                "chunk_gated_delta_rule_fwd_kernel_h_blockdim64",
            ),
            (
                "selective_scan_fwd_kernel",
                "selective_scan_fwd_kernel",
            ),
            (
                "fused_gdn_gating_kernel",
                "fused_gdn_gating_kernel",
            ),
        ),
    ),
    Rule(
        "expert products",
        "moe",
        _any(
            r"moe_gemm|moegemm|gemm_moe|moe_wna16|moe_mm|marlin_moe",
            r"fused_moe_kernel|^_?fused_moe|invoke_fused_moe|fmoe",
            r"matmul_ogs",
            r"^bmm_\w*_dynb",
            r"grouped_?gemm|groupedgemm|group_gemm|groupproblemshape",
            r"gemmtype=[1-9]",
            r"moe_(?:stage|ck|flatmm|sum)|ck_moe|moe\w*flatmm|moe_mxgemm",
            r"expert\w*gemm|gemm\w*expert",
        ),
        (
            (
                (
                    "void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<ck::tensor_layout::gemm::RowM"
                    "ajor, ck::tensor_layout::gemm::ColumnMajor, ck::Tuple<ck::tensor_layout::g"
                    "emm::RowMajor>, ck::tensor_layout::gemm::RowMajor, unsigned short, unsigne"
                    "d short, float, float, ck::Tuple<float, float, float>, unsigned short, ck:"
                    ":tensor_operation::element_wise::PassThrough, ck::tensor_operation::elemen"
                    "t_wise::PassThrough, TypeCastExpertWeight, (ck::tensor_operation::device::"
                    "GemmSpecialization)0, 256, 32, 64>, true, (ck::InMemoryDataOperationEnum)1"
                    ", 2, (ck::TailNumber)1>(int)"
                ),
                "kernel_moe_gemm:TypeCastExpertWeight,InMemoryDataOperation=1",
            ),
            (
                "fused_moe_kernel",
                "fused_moe_kernel",
            ),
            (
                "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
                "_matmul_ogs_NNT_bf16xbf16xmxfp4_swiglu",
            ),
            (
                "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
                "_matmul_ogs_NNT_bf16xbf16xmxfp4",
            ),
            (
                (
                    "bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x8x128u2_s6_et128x8_m128x8x16_c1x1x"
                    "1_16dp256b_rM_BN_transOut_schPd2x1x2x3_bN_ldgsts_ldgstsSf_rgTma_clmp_swiGl"
                    "u_dynB_sm100f"
                ),
                "bmm_Bfloat16_Bfloat16Bfloat16_Fp32:clmp_swiGlu",
            ),
            (
                (
                    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 8u, 64u, 128u, 1"
                    "28u, 128u, 128u, 128u, 5u, 0u, 128u, 256u, 1u, false, 132u, (deep_gemm::Ge"
                    "mmType)2>(float*, int*)"
                ),
                "fp8_gemm_1d2d_impl:GemmType=2",
            ),
            (
                "_ZN5aiter46fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x512E",
                "fmoe_bf16_pertokenFp8_g1u1_vs_silu_32x512E",
            ),
            (
                (
                    "void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFlo"
                    "at16 const*, int)"
                ),
                "moe_sum",
            ),
        ),
    ),
    Rule(
        "expert routing",
        "moe",
        _any(
            r"moe::",
            r"(?:^|_|::)moe_",
            r"moesorting|moerouting|moesoftmax",
            r"topk_?softmax|topk_?sigmoid|topk_?softplus|topkgating|grouped_?topk|topk_?gating",
            r"routing(?:indices|renorm|custom|_compute|_memset|_data|main|init)|_combined_routing|router_|_routing_",
            r"^_topk_forward|^_topk_backward",
            r"_sum_bitmatrix_rows|bitmatrix",
            r"finalize_matmul_scatter|finalizemoe|expandinputrows|finalizekernel",
            r"expert_?(?:tokens|ids|offsets|count|sort|map|permut)|(?:sort|permute|count)\w*experts?",
            r"ep_(?:scatter|gather)",
            r"(?:un)?permute_(?:tokens|copy|kernel)|token_permut",
            r"biased_topk|fused_gate|biased_grouped|route_?kernel",
            r"shared_expert",
            r"moe(?:align|permute|unpermute|sum|topk)",
        ),
        (
            (
                (
                    "void moe::dev::routing::routingCustom::routingIndicesDynBlockKernel<moe::d"
                    "ev::routing::routingCustom::KernelParams<__nv_bfloat16, __nv_bfloat16, 128"
                    ", 8, moe::dev::routing::TopKExpertSelect<moe::dev::routing::NoOpPreprocess"
                    ", moe::dev::routing::SoftmaxPostprocess> > >(int)"
                ),
                (
                    "routingIndicesDynBlockKernel:TopKExpertSelect<NoOpPreprocess,SoftmaxPostpr"
                    "ocess>"
                ),
            ),
            (
                (
                    "void moe::dev::finalize::finalizeKernel<moe::dev::finalize::KernelParams<c"
                    "utlass::bfloat16_t, cutlass::bfloat16_t, 4, true> >(moe::dev::finalize::Ke"
                    "rnelParams<cutlass::bfloat16_t, cutlass::bfloat16_t, 4, true>)"
                ),
                "finalizeKernel",
            ),
            (
                (
                    "void ck_tile::kentry<2, ck_tile::MoeSortingKernel<ck_tile::MoeSortingProbl"
                    "emEx<int, float, 2, true, false, false, true, 0> >, ck_tile::MoeSortingKer"
                    "nel<ck_tile::MoeSortingProblemEx<int, float, 2, true, false, false, true, "
                    "0> >::Kargs>(int)"
                ),
                "kentry:MoeSortingKernel<float>",
            ),
            (
                "aiter::topksoftmax_4x128x8_bf16",
                "topksoftmax_bf16",
            ),
            (
                "_combined_routing_compute",
                "_combined_routing_compute",
            ),
            (
                "_combined_routing_memset",
                "_combined_routing_memset",
            ),
            (
                "_topk_forward",
                "_topk_forward",
            ),
            (
                "_sum_bitmatrix_rows",
                "_sum_bitmatrix_rows",
            ),
            (
                "_finalize_matmul_scatter_bf16",
                "_finalize_matmul_scatter_bf16",
            ),
            (
                (
                    "void vllm::moe::topkGatingSoftmax<8, 128, 4, 16, int>(float const*, bool c"
                    "onst*, float*, int, int*, int*, int, int, int)"
                ),
                "topkGatingSoftmax",
            ),
            (
                (
                    "void vllm::moe::moe_align_block_size_kernel<int>(int const*, int*, int*, i"
                    "nt*, int, int, int, int, unsigned long, int*)"
                ),
                "moe_align_block_size",
            ),
            (
                (
                    "void moe_fused_gate_kernel<cutlass::bfloat16_t, 8, 32, 1, 8, 6, 256>(void*"
                    ", void*, float*, int*, long, long, long, long, double)"
                ),
                "moe_fused_gate",
            ),
            (
                "_fwd_kernel_ep_scatter_1",
                "_fwd_kernel_ep_scatter_1",
            ),
        ),
    ),
    Rule(
        "convolution",
        "gemm",
        _any(
            r"igemm|implicit_gemm|implicitgemm",
            r"conv(?!ert|_?state|1d_update)",
            r"cudnn",
            r"winograd",
            r"fprop|dgrad|wgrad",
            r"im2d?2?col|im2col|col2im",
            r"computeoffsets|computeboffsets",
        ),
        (
            (
                (
                    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8_ws1x2_wr2x2_ta1x8"
                    "x2x1_1x4x1x64_tb1x8x4x1_1x4x1x64"
                ),
                "igemm_fwd_nhwc_bf16",
            ),
            (
                "volta_scudnn_128x64_relu_interior_nn_v1",
                "scudnn_relu_nn",
            ),
            (
                (
                    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, "
                    "true, true>(int, int, int, float const*)"
                ),
                "implicit_convolve_sgemm<float>",
            ),
        ),
    ),
    Rule(
        "gemm",
        "gemm",
        _any(
            r"gemm(?!a)",
            r"gemv",
            r"matmul",
            r"mul_mat_(?:q|vec|f)|^mul_mat",
            r"scaled_mm|_mm_kernel|(?:^|_)(?:w\d+a\d+|a\d+w\d+)",
            r"marlin|machete|wvsplitk|llmm1|skinny",
            r"splitkreduce|splitk_reduce|reducesplitk|split_k_reduce",
            r"cublas",
            r"dot_kernel|reduce_1block",
            r"dequant\w*_?mm|awq_gemm|gptq_(?:gemm|marlin)",
            r"bitsandbytes|kgemm",
            r"(?:^|[_:])(?:hgemm|sgemm|bgemm|qgemm)",
            r"router_?gemm",
        ),
        (
            (
                (
                    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_"
                    "80_simt_sgemm_128x32_8x5_nn_align1::Params)"
                ),
                "cutlass::Kernel2:cutlass_simt_sgemm_nn",
            ),
            (
                (
                    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, floa"
                    "t, __nv_bfloat16, false, float, __nv_bfloat16, __nv_bfloat16, true, false,"
                    " false, false>(cublasLt::cublasSplitKParams<float>, float const*)"
                ),
                "splitKreduce",
            ),
            (
                (
                    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __n"
                    "v_bfloat16, __nv_bfloat16, __nv_bfloat16, float, false, true, true, false,"
                    " 7, false, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<__nv_bfl"
                    "oat16 const>, float> >(int)"
                ),
                "gemvx::kernel",
            ),
            (
                (
                    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tup"
                    "le<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::"
                    "gemm::MainloopSm90TmaGmmaWarpSpecialized<7, cute::tuple<cute::C<2>, cute::"
                    "C<1>, cute::C<1> >, cutlass::gemm::KernelTmaWarpSpecializedCooperative>, c"
                    "ute::tuple<cute::C<128>, cute::C<128>, cute::C<64> >, cutlass::float_e4m3_"
                    "t, cute::tuple<long, cute::C<1>, long>, cutlass::float_e4m3_t, cute::tuple"
                    "<long, cute::C<1>, long> >, cutlass::epilogue::collective::CollectiveEpilo"
                    "gue<cutlass::epilogue::Sm90TmaWarpSpecialized<4, 2, 16, true, false>, cute"
                    "::tuple<cute::C<128>, cute::C<128> >, cutlass::bfloat16_t, cutlass::epilog"
                    "ue::fusion::FusionCallbacks<cutlass::epilogue::fusion::LinCombPerRowBiasEl"
                    "tAct<cutlass::epilogue::thread::SiLu, cutlass::bfloat16_t, float> > >, voi"
                    "d, void> >(int)"
                ),
                "device_kernel:GemmUniversal,LinCombPerRowBiasEltAct,SiLu<fp8_e4m3>",
            ),
            (
                (
                    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tup"
                    "le<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<int>, cut"
                    "lass::epilogue::collective::CollectiveEpilogue<int>, void, void> >(int)"
                ),
                "device_kernel:GemmUniversal",
            ),
            (
                (
                    "void marlin::Marlin<1125899906843648l, 1125899907892224l, 1125899906910724"
                    "l, 1125899907892224l, 128, 1, 8, 8, false, 4, 8, false>(int4 const*, int4 "
                    "const*)"
                ),
                "Marlin",
            ),
            (
                "_w8a8_block_fp8_matmul",
                "_w8a8_block_fp8_matmul",
            ),
            (
                (
                    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 1u, 64u, 128u, 1"
                    "28u, 128u, 128u, 128u, 5u, 0u, 128u, 256u, 1u, false, 132u, (deep_gemm::Ge"
                    "mmType)0>(float*, int*)"
                ),
                "fp8_gemm_1d2d_impl",
            ),
            (
                (
                    "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>(int, int, __hip_"
                    "bfloat16 const*)"
                ),
                "wvSplitK_hf_sml_",
            ),
            (
                ("void mul_mat_q<(ggml_type)12, 128, false>(char const*, int const*, int const*)"),
                "mul_mat_q:ggml_type=12",
            ),
            (
                (
                    "void vllm::awq::gemm_forward_4bit_cuda_m16nXk32<128>(int, int, __half*, in"
                    "t*, __half*, int*, int, int, int, __half*)"
                ),
                "gemm_forward_4bit_cuda_m16nXk32",
            ),
            (
                "_gemm_a8w8_blockscale_kernel",
                "_gemm_a8w8_blockscale_kernel",
            ),
            (
                "gemmSN_NN_kernel",
                "gemmSN_NN_kernel",
            ),
        ),
    ),
    Rule(
        "norm",
        "norm",
        _any(
            r"(?:rms|layer|group|batch|l2|qk|instance|add|ada)_?norm",
            r"norm2d|norm(?:fwd|bwd|kernel)|_norm_|_norm(?::|<|$)",
            r"gammabeta|rowwisemoments|fusedparamscuda|internalgradients",
            r"batchnorm|(?:^|_)bn_(?:fw|bw)",
            r"batch_norm",
            r"layernorm",
        ),
        (
            (
                (
                    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, voi"
                    "d>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*,"
                    " long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)"
                ),
                "fused_add_rms_norm",
            ),
            (
                (
                    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1ELb0ELb1ELi1EEE"
                    "vPT0_PT_PfS4_S4_S4_diiiiiiib"
                ),
                "add_rmsnorm_quant:add",
            ),
            (
                (
                    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEv"
                    "PT0_PT_PfS4_S4_S4_diiiiiiib"
                ),
                "add_rmsnorm_quant",
            ),
            (
                (
                    "kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNor"
                    "mKernel_object_at__tensorptrbf16gmemalign128o204820481_tensorptrbf16gmemal"
                    "ign_0"
                ),
                "cute:FusedAddRMSNormKernel",
            ),
            (
                (
                    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float"
                    ", float, false>(int, float, float const*, float const*, float const*, floa"
                    "t*, float*, float*)"
                ),
                "vectorized_layer_norm<float>",
            ),
            (
                (
                    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float"
                    ", float, true>(int, float, float const*, float const*, float const*, float"
                    "*, float*, float*)"
                ),
                "vectorized_layer_norm:rms<float>",
            ),
            (
                (
                    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassI"
                    "NS_27Rmsnorm2dFwdPipelineProblemIDF16bDF16bfDF16bDF16bDF16bffNS_19Generic2"
                    "dBlockShapeINS_8sequenceIJLi1ELi3072EEEENS5_IJLi1ELi128EEEENS5_IJLi1ELi8EE"
                    "EEEENS_18Rmsnorm2dFwdTraitsILb1ELb0ELb0ELb0ELNS_21Rmsnorm2dFusedAddEnumE1E"
                    "LNS_23Rmsnorm2dFusedQuantEnumE0ELNS_22Rmsnorm2dSensitiveEnumE0EEEEENS_33Rm"
                    "snorm2dFwdPipelineDefaultPolicyEEENS_17Default2DEpilogueINS_24Default2DEpi"
                    "logueProblemIfDF16bLb0ELb1ELb0EEEvEEEEJNSM_5KargsEEEEvDpT1_"
                ),
                "kentry:Rmsnorm2dFwd<Rmsnorm2dFusedAdd=1>",
            ),
            (
                (
                    "void (anonymous namespace)::fused_qknorm_warp<128l, true, __nv_bfloat16>(("
                    "anonymous namespace)::QKNormParams)"
                ),
                "fused_qknorm_warp",
            ),
            (
                (
                    "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __"
                    "nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, fl"
                    "oat, float)"
                ),
                "RMSNormKernel",
            ),
            (
                "_rms_norm_kernel",
                "_rms_norm_kernel",
            ),
            (
                "MIOpenBatchNormFwdTrainSpatial",
                "MIOpenBatchNormFwdTrainSpatial",
            ),
        ),
    ),
    Rule(
        "rotary embedding",
        "rope",
        _any(
            r"rotary",
            r"(?:^|[_:])m?rope(?:_|::|:|<|$)",
            r"rope(?:kernel|quantize|_kernel)|applyrope|kn_entry_\w*(?:sbhd|thd)",
            r"bothrope|cos_?sin_?cache",
        ),
        (
            (
                (
                    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::"
                    "BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, in"
                    "t, int, int)"
                ),
                "rotary_embedding",
            ),
            (
                (
                    "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<false, 128u, 8u"
                    ", 16u, __nv_bfloat16, long>(__nv_bfloat16*, __nv_bfloat16*)"
                ),
                "BatchQKApplyRotaryPosIdsCosSinCacheKernel",
            ),
            (
                "_triton_mrope_forward",
                "_triton_mrope_forward",
            ),
            (
                "void rope_neox<true, true, float, float>(float const*, float*)",
                "rope_neox<float>",
            ),
        ),
    ),
    Rule(
        "activation",
        "activation",
        _any(
            r"(?:silu|gelu|swiglu|geglu|swigluoai|relu2?)_?(?:and|_and)?_?mul",
            r"act_and_mul|doactivation|dogatedactivation|activationkernel|gated_?act|gated_op",
            r"(?:^|[_:<,])(?:silu|gelu\w*|swiglu\w*|relu\d?|sigmoid|tanh|threshold|hardtanh|leaky_relu|elu|mish|softplus|log_sigmoid\w*)(?:_|:|<|,|>|#|$)",
            r"launch_(?:log_sigmoid|gelu|silu)",
            r"threshold_kernel",
            r"op_(?:silu|gelu|sigmoid|softplus|relu)",
        ),
        (
            (
                (
                    "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_ke"
                    "rnel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFl"
                    "oat16 const*, int)"
                ),
                "act_and_mul:silu",
            ),
            (
                (
                    "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(silu(floa"
                    "t const&))>(__nv_bfloat16*, __nv_bfloat16 const*, int)"
                ),
                "act_and_mul:silu",
            ),
            (
                (
                    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous n"
                    "amespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()("
                    ") const::{lambda()#6}::operator()() const::{lambda(c10::BFloat16)#1}, std:"
                    ":array<char*, 2ul> >(int)"
                ),
                "vectorized_elementwise:silu",
            ),
            (
                (
                    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKern"
                    "elImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}::opera"
                    "tor()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}"
                    ", std::array<char*, 2ul> >(int)"
                ),
                "vectorized_elementwise:Gelu_tanh",
            ),
            (
                (
                    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKern"
                    "elImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::opera"
                    "tor()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}"
                    ", std::array<char*, 2ul> >(int)"
                ),
                "vectorized_elementwise:Gelu",
            ),
            (
                "_silu_and_mul_kernel",
                "_silu_and_mul_kernel",
            ),
            (
                (
                    "void unary_gated_op_kernel<&(op_silu(float)), float>(float const*, float c"
                    "onst*, float*, long, long, long, long)"
                ),
                "unary_gated_op:op_silu<float>",
            ),
        ),
    ),
    Rule(
        "quantization",
        "quantize",
        _any(
            r"quant",
            r"cvt_fp\w*_to_fp\d|cvt_\w*fp4",
            r"(?:to|cast)_?(?:fp8|fp4|float8)",
            r"downcast|upcast",
        ),
        (
            (
                (
                    "void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3"
                    "fn>(c10::Float8_e4m3fn*, c10::BFloat16 const*, float const*, int, long, lo"
                    "ng)"
                ),
                "scaled_fp8_quant_kernel_strided<fp8_e4m3fn>",
            ),
            (
                (
                    "void tensorrt_llm::kernels::quantize_with_block_size<(tensorrt_llm::BlockS"
                    "caleQuantizationType)2, __nv_bfloat16, 32, true>(int, int, int, int, __nv_"
                    "bfloat16 const*, float const*, unsigned int*, unsigned int*, flashinfer::Q"
                    "uantizationSFLayout)"
                ),
                "quantize_with_block_size:BlockScaleQuantizationType=2",
            ),
            (
                (
                    "void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, "
                    "false, false, float>(void const*, void*, float*, int, int, int, float, flo"
                    "at, float)"
                ),
                "per_token_group_quant_8bit<fp8_e4m3fn>",
            ),
            (
                ("void quantize_mmq_q8_1<(mmq_q8_1_ds_layout)1>(float const*, int const*, void*)"),
                "quantize_mmq_q8_1",
            ),
            (
                "_per_token_group_quant_8bit",
                "_per_token_group_quant_8bit",
            ),
            (
                "sage_quant_kernel",
                "sage_quant_kernel",
            ),
            (
                (
                    "void vllm::cvt_fp16_to_fp4<__nv_bfloat16, false>(int, int, __nv_bfloat16 c"
                    "onst*, float const*, unsigned int*, unsigned int*)"
                ),
                "cvt_fp16_to_fp4",
            ),
        ),
    ),
    Rule(
        "sampling",
        "sampling",
        _any(
            r"sampl(?:e|ing)",
            r"top_?[kp]_?(?:renorm|mask|top_?[kp]|filter)|topk_?topp|top_k_top_p",
            r"argmax",
            r"multinomial",
            r"gumbel|distribution_\w*:exponential",
            r"penalt|bad_words|logits_process|logit_bias|min_p|temperature",
            r"rejection|speculative|greedy_sample|verify_tree|build_tree|tree_spec",
            r"logsoftmax_topk|logprob",
        ),
        (
            (
                (
                    "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, (cub::Blo"
                    "ckScanAlgorithm)1, (cub::BlockReduceAlgorithm)2, 4u, true, float, int>(flo"
                    "at*, int*)"
                ),
                "TopKTopPSamplingFromProbKernel<float>",
            ),
            (
                (
                    "void flashinfer::sampling::TopKRenormProbKernel<1024u, (cub::BlockReduceAl"
                    "gorithm)2, 4u, float, int>(float*, float*, int*, unsigned int, unsigned in"
                    "t)"
                ),
                "TopKRenormProbKernel<float>",
            ),
            (
                (
                    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::nat"
                    "ive::ArgMaxOps<float>, unsigned int, long, 4, 4> >(at::native::ReduceOp<fl"
                    "oat, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)"
                ),
                "reduce_kernel:ArgMaxOps<float>",
            ),
            (
                (
                    "void vllm::apply_repetition_penalties_kernel<float>(float*, bool const*, b"
                    "ool const*, float const*, int, int, int)"
                ),
                "apply_repetition_penalties<float>",
            ),
            (
                "rejection_random_sample_kernel",
                "rejection_random_sample_kernel",
            ),
            (
                "_topk_topp_kernel",
                "_topk_topp_kernel",
            ),
            (
                (
                    "void at::native::(anonymous namespace)::distribution_elementwise_grid_stri"
                    "de_kernel<float, 4, at::native::templates::cuda::exponential_kernel<at::CU"
                    "DAGeneratorImpl*>(at::TensorIteratorBase&, double, at::CUDAGeneratorImpl*)"
                    "::{lambda()#1}::operator()() const::{lambda()#2}::operator()() const::{lam"
                    "bda(float)#1}>(long)"
                ),
                "distribution_elementwise_grid_stride:exponential<float>",
            ),
        ),
    ),
    Rule(
        "copy, gather and layout",
        "memory",
        _any(
            r"(?:^|[_:<,])(?:direct_|bfloat16_|float16_|bfloat16tofloat32_|float16tofloat32_|float8_\w*?)copy",
            r"copy_device_to_device",
            r"catarray",
            r"fillfunctor|(?:^|[_:])fill_",
            r"index_?select|index_elementwise|index_put|index_copy|index_fill|indexing_backward",
            r"vectorized_gather|scatter_gather|_scatter_gather_elementwise|embedding|get_rows|set_rows",
            r"transpose|permute_2d|nchwtonhwc|nhwctonchw|nchw2nhwc|nhwc2nchw",
            r"subtensorop|concat|(?:^|_)cpy_|cast_?tensor",
            r"resolve_future_token|roll_cuda|(?:^|_)copy_(?:page|kernel)",
            r"functor,copy|copyfunctor|,copy<|batched_?memcpy|memcpy|memset",
        ),
        (
            (
                (
                    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_no"
                    "cast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda"
                    "()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10:"
                    ":BFloat16)#1}>(at::TensorIteratorBase&, at::native::direct_copy_kernel_cud"
                    "a(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12"
                    "}::operator()() const::{lambda(c10::BFloat16)#1} const&)::{lambda(int)#1}>"
                    "(int)"
                ),
                "elementwise_kernel:direct_copy",
            ),
            (
                (
                    "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_cop"
                    "y_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char"
                    "*, 2ul> >(int)"
                ),
                "vectorized_elementwise:bfloat16_copy<float>",
            ),
            (
                (
                    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<"
                    "long>, std::array<char*, 1ul> >(int, at::native::FillFunctor<long>, std::a"
                    "rray<char*, 1ul>)"
                ),
                "vectorized_elementwise:FillFunctor<long>",
            ),
            (
                (
                    "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_cont"
                    "ig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64,"
                    " 64>(int)"
                ),
                "CatArrayBatchedCopy",
            ),
            (
                (
                    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat1"
                    "6, long, unsigned int, 2, 2, -2, true>(int)"
                ),
                "indexSelectLargeIndex",
            ),
            (
                "batched_transpose_32x32_half",
                "batched_transpose_half",
            ),
            (
                "SubTensorOpWithScalar1d",
                "SubTensorOpWithScalar1d",
            ),
            (
                (
                    "void (anonymous namespace)::resolve_future_token_ids_kernel<long>(long*, l"
                    "ong const*, unsigned long)"
                ),
                "resolve_future_token_ids",
            ),
        ),
    ),
    Rule(
        "tensor operation",
        "elementwise",
        _any(
            r"elementwise",
            r"multi_tensor_apply",
            r"(?:^|:)reduce_kernel",
            r"softmax",
            r"cub::|rocprim::|thrust::|hipcub::",
            r"sort|gathertopk|topk|scan",
            r"arange|dropout|distribution_|triu_tril|tril_triu|cumsum|where_|lpnorm_cleanup",
            r"k_bin_bcast|scale_f32|unary_op|clamp_position|upsample",
            r"tensor_kernel_scan|nonzero|compute_position|binary_op|pointwise",
        ),
        (
            (
                (
                    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_"
                    "add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_"
                    "add<c10::BFloat16>, std::array<char*, 3ul>)"
                ),
                "vectorized_elementwise:CUDAFunctor_add",
            ),
            (
                (
                    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorO"
                    "nSelf_add<long>, std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSe"
                    "lf_add<long>, std::array<char*, 2ul>)"
                ),
                "vectorized_elementwise:CUDAFunctorOnSelf_add<long>",
            ),
            (
                (
                    "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_"
                    "kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16,"
                    " c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(at::Ten"
                    "sorIteratorBase&, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
                    "c10::BFloat16, at::native::binary_internal::MulFunctor<float> > const&)::{"
                    "lambda(int, bool)#1}>(int)"
                ),
                "elementwise_kernel:BinaryFunctor<MulFunctor>",
            ),
            (
                (
                    "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous n"
                    "amespace)::pow_tensor_scalar_kernel_impl<c10::BFloat16, c10::BFloat16>(at:"
                    ":TensorIteratorBase&, c10::BFloat16)::{lambda(c10::BFloat16)#2}, std::arra"
                    "y<char*, 2ul> >(int)"
                ),
                "vectorized_elementwise:pow_tensor_scalar#2",
            ),
            (
                (
                    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::nat"
                    "ive::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >(at:"
                    ":native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, "
                    "unsigned int, float, 4, 4>)"
                ),
                "reduce_kernel:MeanOps<float>",
            ),
            (
                (
                    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, "
                    "true, false>(float*, float const*, int, int, int, bool const*, int, bool)"
                ),
                "softmax_warp_forward:log<float>",
            ),
            (
                (
                    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::nati"
                    "ve::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous n"
                    "amespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, flo"
                    "at>(int)"
                ),
                "multi_tensor_apply:BinaryOpListAlphaFunctor,plus<float>",
            ),
            (
                (
                    "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int*, in"
                    "t*, cub::ScanTileState<int, true>, cub::Sum, cub::NullType, int>(int*, int"
                    "*, cub::ScanTileState<int, true>, int, cub::Sum, cub::NullType, int)"
                ),
                "DeviceScanKernel:Sum",
            ),
            (
                (
                    "void rocprim::ROCPRIM_400200_NS::detail::trampoline_kernel<rocprim::ROCPRI"
                    "M_400200_NS::detail::wrapped_scan_config<rocprim::ROCPRIM_400200_NS::defau"
                    "lt_config, long>, (rocprim::ROCPRIM_400200_NS::detail::target_arch)942, ro"
                    "cprim::ROCPRIM_400200_NS::detail::scan_impl<(rocprim::ROCPRIM_400200_NS::d"
                    "etail::lookback_scan_determinism)0, false, false, rocprim::ROCPRIM_400200_"
                    "NS::default_config, long const*, long*, long, std::plus<long>, long>(void*"
                    ")::{lambda(auto:1, auto:2)#1}, rocprim::ROCPRIM_400200_NS::detail::default"
                    "_config_selector>(int)"
                ),
                "trampoline_kernel:scan_impl<plus>",
            ),
        ),
    ),
)


def family_of(subject: str) -> tuple[Family, str]:
    """The family of a subject, and the name of the rule that decided it.

    Returns:
        ``("other", "")`` if no rule applies.
    """
    lowered = subject[:_LONGEST_SUBJECT].lower()
    for rule in RULES:
        if rule.pattern.search(lowered):
            return rule.family, rule.name
    return OTHER, ""
