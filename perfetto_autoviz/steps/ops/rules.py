"""The one table that gives kernels their family.

Rules are tried in order and the first that matches decides, so a rule relies on those in front
of it. Each stands beside real names and the operation they have; the tests check that every
example is decided by its own rule. What no rule knows stays ``other``.

Words and patterns are searched in the lower-case *subject* of a kernel: for a C++ name its
scopes and operation (``vllm::act_and_mul_kernel:act_and_mul:silu``), else the name itself.

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
from functools import lru_cache
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


_ARROW = " => "


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        name: what it recognises.
        family: what it decides.
        words: any of them in the lower-case subject decides; most rules need no more, and a
            plain search costs a tenth of a pattern's.
        pattern: or this, searched in it.
        examples: real names, each with its operation; long parameter lists are shortened.
    """

    name: str
    family: Family
    words: tuple[str, ...]
    pattern: re.Pattern[str] | None
    examples: tuple[tuple[str, str], ...]

    def decides(self, subject: str) -> bool:
        """Whether the rule applies to a subject, given in lower case."""
        for word in self.words:  # any() takes twice as long, and this runs for every name
            if word in subject:
                return True
        return self.pattern is not None and self.pattern.search(subject) is not None


def _rule(
    name: str, family: Family, *examples: str, words: str = "", patterns: tuple[str, ...] = ()
) -> Rule:
    """Makes a rule; each example reads ``name => operation``."""
    split = [example.rpartition(_ARROW) for example in examples]
    pattern = re.compile("|".join(patterns), re.ASCII) if patterns else None
    known = tuple((kernel, op) for kernel, _, op in split)
    return Rule(name, family, tuple(words.split()), pattern, known)


RULES: tuple[Rule, ...] = (
    _rule(
        "runtime copy or fill",
        "memory",
        "Memset (Device) => Memset",
        "__amd_rocclr_copyBuffer => __amd_rocclr_copyBuffer",
        words="memcpy_kind",
        patterns=(
            r"^memcpy |^memset\b|^\[cuda mem|^__amd_rocclr_(?:copy|fill|stream)",
            r"^memory_copy_|^copy(?:host|device)to(?:host|device)",
        ),
    ),
    _rule(
        "library gemm",
        "gemm",
        (
            "Cijk_SB_BiasB_HAS_ScaleAlphaVec_PostGSU2_VW2.kd => Cijk_SB_BiasB_HAS_ScaleAlphaVec"
            "_PostGSU"
        ),
        "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT => nvjet_tst_bias_TNT",
        patterns=(
            r"^(?:custom_)?cijk_|^nvjet_|^sm\d+_xmma_gemm",
            r"^(?:volta|turing|ampere|hopper|maxwell)_\w*gemm",
        ),
    ),
    _rule(
        "compiled template",
        "gemm",
        "triton_tem_fused_addmm_3 => triton_tem_fused_addmm",
        patterns=(r"^triton_(?:tem|mm)_\w*(?:mm|addmm|bmm)",),
    ),
    _rule(
        "compiled norm",
        "norm",
        (
            "triton_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view_18 => triton"
            "_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view"
        ),
        (
            "triton_per_fused__to_copy_add_mean_mul_pow_rsqrt_0 => triton_per_fused__to_copy_ad"
            "d_mean_mul_pow_rsqrt"
        ),
        patterns=(r"^triton_(?:red|per|poi)_\w*(?:rsqrt|_norm(?:_|$)|rms_norm)",),
    ),
    _rule(
        "compiled rotary embedding",
        "rope",
        (
            "triton_poi_fused__to_copy_arange_cat_clone_cos_div_expand_mul_pow_reciprocal_selec"
            "t_sin_split_unsqueeze_view_10 => triton_poi_fused__to_copy_arange_cat_clone_cos_di"
            "v_expand_mul_pow_reciprocal_select_sin_split_unsqueeze_view"
        ),
        patterns=(
            r"^triton_(?:red|per|poi)_\w*_cos_\w*sin(?:_|$)",
            r"^triton_(?:red|per|poi)_\w*(?:rotary|rope)",
        ),
    ),
    _rule(
        "compiled quantization",
        "quantize",
        "triton_per_fused__scaled_fp8_quant_0 => triton_per_fused__scaled_fp8_quant",
        patterns=(r"^triton_(?:red|per|poi)_\w*(?:quant|float8|fp8|_amax_\w*clamp)",),
    ),
    _rule(
        "compiled activation",
        "activation",
        "triton_poi_fused_mul_silu_1 => triton_poi_fused_mul_silu",
        "triton_poi_fused_addmm_gelu_view_17 => triton_poi_fused_addmm_gelu_view",
        patterns=(r"^triton_(?:red|per|poi)_\w*(?:silu|gelu|relu|swiglu)(?:_|$)",),
    ),
    _rule(
        "compiled elementwise",
        "elementwise",
        "triton_poi_fused__to_copy_1 => triton_poi_fused__to_copy",
        "triton__0d1d2d34d => triton__0d1d2d34d",
        patterns=(r"^triton_(?:red|per|poi|for|split_scan)_|^triton__\d",),
    ),
    _rule(
        "collective library",
        "communication",
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>) => ncclDevKernel_Generic",
        (
            "ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs) => ncclSymDevKerne"
            "l_AllReduce_RSxLD_AGxST_sum"
        ),
        words="rccl onerankreduce nvshmem rocshmem",
        patterns=(r"nccl\w*kernel|mscc?l",),
    ),
    _rule(
        "all-reduce and its fusions",
        "communication",
        (
            "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::Ran"
            "kSignals, vllm::Signal*, __nv_bfloat16*, int, int) => cross_device_reduce_1stage"
        ),
        (
            "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8, false>(aiter::RankData*,"
            " aiter::RankSignals, aiter::Signal*, __hip_bfloat16*, int, int) => cross_device_re"
            "duce_2stage"
        ),
        words="cross_device_reduce multimem lamport local_device_load_rmsnorm allreduce_fusion",
        patterns=(
            r"all_?reduce|quick_?reduce|(?:one|two)_?shot|^reduce_scatter_first_dim",
            r"^reduce_scatter_cross",
        ),
    ),
    _rule(
        "gather, scatter and exchange between ranks",
        "communication",
        (
            "void aiter::allgather_vec<__hip_bfloat16, 8>(aiter::RankData*, aiter::RankSignals,"
            " aiter::Signal*, __hip_bfloat16*, int, int) => allgather_vec"
        ),
        (
            "void tensorrt_llm::kernels::mnnvl_moe_alltoall::moeA2ADispatchKernel<tensorrt_llm:"
            ":kernels::WarpPolicy, 8>(int) => moeA2ADispatchKernel"
        ),
        words="alltoall deep_ep:: epdispatch epcombine pplx",
        patterns=(
            r"all_?gather|reduce_?scatter|all_?to_?all",
            r"(?:intranode|internode|low_latency)\w*::\w*(?:dispatch|combine|barrier|notify)",
            r"mori\w*::|moe_?a2a",
        ),
    ),
    _rule(
        "rotary embedding with cache write",
        "rope",
        "_fused_qk_rope_reshape_and_cache_kernel => _fused_qk_rope_reshape_and_cache_kernel",
        "fused_qk_rope_cat_and_cache_mla_kernel => fused_qk_rope_cat_and_cache_mla_kernel",
        patterns=(
            r"rope\w*(?:cache|store|concat|cat)|(?:cache|cat)\w*rope",
            r"rotary\w*(?:kv_?cache|and_cache)|cache\w*rotary",
        ),
    ),
    _rule(
        "norm with rotary embedding",
        "norm",
        (
            "void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(__nv_bfloat16*, int, "
            "int, int, float, __nv_bfloat16 const*, __nv_bfloat16 const*, float, int const*, in"
            "t) => fusedQKNormRopeKernel"
        ),
        patterns=(r"(?:qk|q_k)_?(?:rms)?_?norm\w*rope|norm\w*rope",),
    ),
    _rule(
        "cache write",
        "memory",
        "alloc_decode_kernel => alloc_decode_kernel",
        "set_mla_kv_buffer_kernel => set_mla_kv_buffer_kernel",
        words=(
            "reshape_and_cache concat_and_cache concat_mla slot_mapping transfer_kv "
            "transfer_kernel_impl transfer_item store_cache k_quant_and_cache copy_blocks "
            "swap_blocks kv_indices page_indices req_to_token cp_gather"
        ),
        patterns=(
            r"store_?kv_?cache|set_(?:mla_)?kv_?buffer|append_?paged_?kv|gather\w*_cache",
            r"alloc_(?:decode|extend)",
        ),
    ),
    _rule(
        "flash attention",
        "attention",
        "aiter::fmha_fwd_hd128_bf16_rtz => fmha_fwd_hd128_bf16_rtz",
        "sage_fwd => sage_fwd",
        words=(
            "flashattn sdpa fmha qk_int8_sv qk_int_sv splitkv_mla get_mla_metadata smxx_get_mla"
        ),
        patterns=(
            r"flash_?(?:fwd|bwd|attn|attention|infer_?attn|mla)|sage_(?:fwd|attn)",
            r"mla_(?:combine|metadata)",
        ),
    ),
    _rule(
        "paged attention",
        "attention",
        "kernel_unified_attention_2d => kernel_unified_attention_2d",
        "kernel_unified_attention_3d => kernel_unified_attention_3d",
        words=(
            "singleprefillwith singledecodewith pagedattention paged_attn unified_attention "
            "withkvcache multihead_attention kernel_mha flash_decode "
            "variablelengthmergestates persistentvariablelength"
        ),
        patterns=(
            r"paged_?attention|(?:decode|prefill)with(?:paged|ragged)kv|merge_states?_",
            r"(?:^|[_:])pa_(?:fwd|decode|bf16|fp8|noquant)|merge_?attn_?states?",
            r"mergestates?kernel",
        ),
    ),
    _rule(
        "triton attention",
        "attention",
        "_fwd_kernel => _fwd_kernel",
        "_attn_fwd => _attn_fwd",
        words="_fwd_attention attention_fwd",
        patterns=(
            r"^_?reduce_segments$|^_fwd_(?:grouped_)?kernel(?:_stage[12])?$",
            r"^_fwd_kernel_stage2$|(?:^|_)attn_(?:fwd|bwd)|^bwd_kernel_(?:fuse|dk_dv|dq)",
            r"^_?context_attention|^_bwd_(?:kernel_)?dkdv",
        ),
    ),
    _rule(
        "latent and sparse attention",
        "attention",
        (
            "_ZN5aiter42mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_psE => mla_a16w16_qh16_m16x4_n1"
            "6x1_coex0_mask1_ps"
        ),
        "kn_mla_reduce_v1_ps => kn_mla_reduce_v1_ps",
        words="mqa_logits topk_transform lightning_indexer",
        patterns=(
            r"(?:^|[_:])mla(?:_|::|<|$)|mla(?:decode|prefill|kernel)",
            r"mla\w*(?:stage\d|reduce)|sparse_?attn|sparse_?attention",
            r"indexer_(?:kernel|logits)",
        ),
    ),
    _rule(
        "linear attention and state space",
        "attention",
        "_chunk_scan_fwd_kernel => _chunk_scan_fwd_kernel",
        "fused_gdn_gating_kernel => fused_gdn_gating_kernel",
        words=(
            "delta_rule gated_delta fused_recurrent _state_passing causal_conv1d ssm_conv "
            "ssm_scan _bmm_chunk_fwd recompute_w_u_fwd solve_tril lightning_attn linear_attn "
            "fused_gdn_gating mamba"
        ),
        patterns=(
            r"chunk_(?:fwd|scan|state|local_cumsum|cumsum|kda|gla|scaled_dot)",
            r"selective_s(?:can|tate)|merge_\d+x\d+_to_\d+x\d+",
        ),
    ),
    _rule(
        "expert products",
        "moe",
        "fused_moe_kernel => fused_moe_kernel",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1 => _matmul_ogs_NNT_bf16xbf16xmxfp4",
        words=(
            "moe_gemm moegemm gemm_moe moe_wna16 moe_mm marlin_moe fused_moe_kernel "
            "invoke_fused_moe fmoe matmul_ogs groupedgemm group_gemm groupproblemshape "
            "ck_moe moe_mxgemm"
        ),
        patterns=(
            r"^_?fused_moe|^bmm_\w*_dynb|grouped_?gemm|gemmtype=[1-9]",
            r"moe_(?:stage|ck|flatmm|sum)|moe\w*flatmm|expert\w*gemm|gemm\w*expert",
        ),
    ),
    _rule(
        "expert routing",
        "moe",
        "_topk_forward => _topk_forward",
        "_sum_bitmatrix_rows => _sum_bitmatrix_rows",
        words=(
            "moe:: moesorting moerouting moesoftmax topkgating _combined_routing _routing_ "
            "bitmatrix expt_data src2dst seg_indptr finalize_matmul_scatter finalizemoe "
            "expandinputrows finalizekernel token_permut biased_topk fused_gate "
            "biased_grouped shared_expert"
        ),
        patterns=(
            r"(?:^|_|::)moe_|topk_?softmax|topk_?sigmoid|topk_?softplus|grouped_?topk",
            r"topk_?gating",
            r"routing(?:indices|renorm|custom|_compute|_memset|_data|main|init)",
            r"router_(?!gemm)|^_topk_forward|^_topk_backward|(?:pre|post)_reorder",
            r"deepep_(?:permute|post|run|compute)",
            r"expert_?(?:tokens|ids|offsets|count|sort|map|permut)",
            r"(?:sort|permute|count)\w*experts?|ep_(?:scatter|gather)",
            r"(?:un)?permute_(?:tokens|copy|kernel)|route_?kernel",
            r"moe(?:align|permute|unpermute|sum|topk)",
        ),
    ),
    _rule(
        "gated activation",
        "activation",
        "_silu_and_mul_kernel => _silu_and_mul_kernel",
        "_silu_mul_fp8_quant_deep_gemm => _silu_mul_fp8_quant_deep_gemm",
        words="act_and_mul",
        patterns=(r"(?:silu|gelu|swiglu|swigluoai)_(?:and_)?mul",),
    ),
    _rule(
        "batch norm",
        "norm",
        "MIOpenBatchNormFwdTrainSpatial => MIOpenBatchNormFwdTrainSpatial",
        (
            "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnnTensorStruct,"
            " float const*) => bn_fw_tr_1C11_singleread<float>"
        ),
        patterns=(r"batch_?norm|(?:^|[_:])bn_(?:fw|bw)",),
    ),
    _rule(
        "layout change of convolutions",
        "memory",
        (
            "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, fl"
            "oat, false, true, (cudnnKernelDataType_t)0>(cudnn::engines_precompiled::nchw2nhwc_"
            "params_t<float>, __nv_bfloat16 const*, __nv_bfloat16*) => nchwToNhwcKernel"
        ),
        words="nchwtonhwc nhwctonchw nchw2nhwc nhwc2nchw",
    ),
    _rule(
        "convolution",
        "gemm",
        (
            "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8_ws1x2_wr2x2_ta1x8x2x1_1x4"
            "x1x64_tb1x8x4x1_1x4x1x64 => igemm_fwd_nhwc_bf16"
        ),
        "volta_scudnn_128x64_relu_interior_nn_v1 => scudnn_relu_nn",
        words=(
            "igemm implicit_gemm implicitgemm cudnn winograd fprop dgrad wgrad im2col col2im "
            "computeoffsets computeboffsets"
        ),
        patterns=(r"conv(?!ert|_?state|1d_update)|im2d?2?col",),
    ),
    _rule(
        "gemm",
        "gemm",
        "_w8a8_block_fp8_matmul => _w8a8_block_fp8_matmul",
        "gemmSN_NN_kernel => gemmSN_NN_kernel",
        words=(
            "gemv flatmm matmul scaled_mm _mm_kernel marlin machete wvsplitk llmm1 skinny "
            "splitkreduce splitk_reduce reducesplitk split_k_reduce cublas dot_kernel "
            "reduce_1block awq_gemm bitsandbytes kgemm"
        ),
        patterns=(
            r"(?<!fb)gemm(?!a[_rq])|mul_mat_(?:q|vec|f)|^mul_mat",
            r"(?:^|_)(?:w\d+a\d+|a\d+w\d+)|dequant\w*_?mm|gptq_(?:gemm|marlin)",
            r"(?:^|[_:])(?:hgemm|sgemm|bgemm|qgemm)|router_?gemm",
        ),
    ),
    _rule(
        "norm",
        "norm",
        (
            "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_P"
            "fS4_S4_S4_diiiiiiib => add_rmsnorm_quant"
        ),
        "_rms_norm_kernel => _rms_norm_kernel",
        words=(
            "norm2d _norm_ gammabeta rowwisemoments fusedparamscuda internalgradients layernorm"
        ),
        patterns=(
            r"(?:rms|layer|group|batch|l2|qk|instance|add|ada)_?norm",
            r"norm(?:fwd|bwd|kernel)|_norm(?::|<|$)",
        ),
    ),
    _rule(
        "rotary embedding",
        "rope",
        "_triton_mrope_forward => _triton_mrope_forward",
        "void rope_neox<true, true, float, float>(float const*, float*) => rope_neox<float>",
        words="rotary applyrope bothrope",
        patterns=(
            r"(?:^|[_:])m?rope(?:_|::|:|<|$)|rope(?:kernel|quantize|_kernel)",
            r"kn_entry_\w*(?:sbhd|thd)|cos_?sin_?cache",
        ),
    ),
    _rule(
        "activation",
        "activation",
        (
            "void unary_gated_op_kernel<&(op_silu(float)), float>(float const*, float const*, f"
            "loat*, long, long, long, long) => unary_gated_op:op_silu<float>"
        ),
        (
            "void tensorrt_llm::kernels::cutlass_kernels::doActivationKernel<__nv_bfloat16>(__n"
            "v_bfloat16*, __nv_bfloat16 const*) => doActivationKernel"
        ),
        words="doactivation dogatedactivation activationkernel gated_op",
        patterns=(
            r"gated_?act",
            r"(?:^|[_:<,])(?:silu|gelu\w*|swiglu\w*|relu\d?|sigmoid|tanh|threshold|hardtanh|leaky_relu|elu|mish|softplus|launch_log_sigmoid\w*)(?:_|:|<|,|>|#|$)",
            r"op_(?:silu|gelu|sigmoid|softplus|relu)",
        ),
    ),
    _rule(
        "quantization",
        "quantize",
        "_per_token_group_quant_8bit => _per_token_group_quant_8bit",
        "sage_quant_kernel => sage_quant_kernel",
        words="quant segmented_max_reduction downcast upcast",
        patterns=(r"cvt_fp\w*_to_fp\d|cvt_\w*fp4|(?:to|cast)_?(?:fp8|fp4|float8)",),
    ),
    _rule(
        "sampling",
        "sampling",
        "rejection_random_sample_kernel => rejection_random_sample_kernel",
        "_topk_topp_kernel => _topk_topp_kernel",
        words=(
            "top_k_top_p multinomial gumbel penalt bad_words logits_process logit_bias "
            "temperature rejection speculative greedy_sample verify_tree build_tree "
            "tree_spec logsoftmax_topk logprob"
        ),
        patterns=(
            r"(?<!up)(?<!down)sampl(?:e|ing)|top_?[kp]_?(?:renorm|mask|top_?[kp]|filter)",
            r"topk_?topp|argmax(?!ops<int)|distribution_\w*:exponential",
            r"(?:^|_)min_p(?:_|$)",
        ),
    ),
    _rule(
        "copy, gather and layout",
        "memory",
        "batched_transpose_32x32_half => batched_transpose_half",
        "SubTensorOpWithScalar1d => SubTensorOpWithScalar1d",
        words=(
            "copy_device_to_device catarray fillfunctor index_elementwise index_put "
            "index_copy index_fill indexing_backward vectorized_gather scatter_gather "
            "embedding get_rows set_rows transpose permute_2d subtensorop concat "
            "resolve_future_token roll_cuda functor,copy copyfunctor ,copy< memcpy memset"
        ),
        patterns=(
            r"(?:^|[_:<,])(?:direct_|bfloat16_|float16_|bfloat16tofloat32_|float16tofloat32_|float8_\w*?)copy",
            r"(?:^|[_:])fill_|index_?select|(?:^|_)cpy_|cast_?tensor",
            r"(?:^|_)copy_(?:page|kernel)|batched_?memcpy",
        ),
    ),
    _rule(
        "tensor operation",
        "elementwise",
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_ad"
            "d<long>, std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<long>, st"
            "d::array<char*, 2ul>) => vectorized_elementwise:CUDAFunctorOnSelf_add<long>"
        ),
        (
            "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, fa"
            "lse>(float*, float const*, int, int, int, bool const*, int, bool) => softmax_warp_"
            "forward:log<float>"
        ),
        (
            "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, fl"
            "oat const*, long, long, long, int) => max_pool_forward_nchw<float>"
        ),
        words=(
            "elementwise multi_tensor_apply softmax cub:: rocprim:: thrust:: sort topk scan "
            "arange dropout distribution_ triu_tril tril_triu cumsum where_ lpnorm_cleanup "
            "k_bin_bcast scale_f32 unary_op clamp_position upsample nonzero compute_position "
            "binary_op pointwise"
        ),
        patterns=(r"(?:^|:)reduce_kernel|(?:max|avg|average)_?pool",),
    ),
)


@lru_cache(maxsize=16_384)
def family_of(subject: str) -> tuple[Family, str]:
    """The family of a subject, and the name of the rule that decided it.

    Returns:
        ``("other", "")`` if no rule applies.
    """
    lowered = subject[:_LONGEST_SUBJECT].lower()
    for rule in RULES:
        if rule.decides(lowered):
            return rule.family, rule.name
    return OTHER, ""
