"""Canonical operations of names that are no C++: generated kernels and runtime activities.

Code generators write the problem and the tuning into one identifier, each in its own order.
Every grammar below stands beside a real name and what is kept of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfetto_autoviz.steps.ops.tuning import without_tuning

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Grammar:
    """How the names of one generator are read.

    Attributes:
        pattern: matches the beginning of such a name.
        canonical: makes the operation of a match on the whole name.
        example: a real name, and its operation.
    """

    pattern: re.Pattern[str]
    canonical: Callable[[re.Match[str]], str]
    example: tuple[str, str]


def _tokens(text: str, tuning: re.Pattern[str]) -> str:
    """The ``_``-separated tokens of a text that are not tuning."""
    return "_".join(token for token in text.split("_") if token and not tuning.fullmatch(token))


def _memcpy(match: re.Match[str]) -> str:
    """The direction; whether the host's memory is pinned is how, not what, is copied."""
    source, target = match[1] or match[3], match[2] or match[4]
    return f"Memcpy {source[0].upper()}to{target[0].upper()}"


_NCCL_HOW = re.compile(r"RING|TREE|COLLNET\w*|NVLS\w*|PAT|LL|LL128|SIMPLE|\d+|bf16|f16|fp16|half")
_NCCL_TYPES = {"float": "f32", "double": "f64", "int8_t": "i8", "uint8_t": "u8", "int32_t": "i32"}


def _nccl(match: re.Match[str]) -> str:
    """Collective and reduction; algorithm and protocol are tuning."""
    body = re.sub(r"\(.*", "", match[2])
    for old, new in _NCCL_TYPES.items():  # older versions spell types as C does
        body = re.sub(rf"_{old}(?=_|$)", f"_{new}", body)
    return f"{match[1].replace('ncclKernel', 'ncclDevKernel')}_{_tokens(body, _NCCL_HOW)}"


_NVJET_TUNING = re.compile(
    r"sm\d+|\d+x\d+|\d+cta|[vh]|bz|coop[AB]|splitK|stream[kK]|2cta|\d+|cg\d+|sk\w*"
)
_BMM_TUNING = re.compile(
    r"[tsmcu]\d\w*|et\d\w*|cga\d\w*|\d+dp\d+b|r[MN]|[BTN]N|NT|TT|transOut|sch\w*|ldgsts\w*|ldgPlusSts\w*"
    r"|\w*[tT]ma\w*|dyn\w*|sm\d\w*|bN|lds\w*|splitK\w*|spK\w*|pdl|unroll\w*|dsFp8|k\d+|cC\w*"
)


def _trtllm_gemm(match: re.Match[str]) -> str:
    """Element types, then bias, clamp and activation of the epilogue."""
    epilogue = _tokens(match[2], _BMM_TUNING)
    return match[1] + (f":{epilogue}" if epilogue else "")


_FMHA_TUNING = re.compile(
    r"Sm\d+[a-z]?|(?<=[a-z])P\d+|MultiCtasKv(?:Cga)?|VarSeq|Q\d+(?=Kv\d)|Kv\d+|Static|Persistent"
    r"|(?:Swaps|Keeps)(?:Mma)?Ab|(?:2|Two)Cta|Cga"
)


def _trtllm_fmha(match: re.Match[str]) -> str:
    """Element types, head size, cache layout, mask, and context or generation."""
    return _FMHA_TUNING.sub("", match[0]).replace("Kernel_", ":", 1)


_XMMA_TUNING = re.compile(
    r"tilesize\w+|stages?\d+|warpsize\w+|warpgroupsize\w+|g\d+|tensor\d+x\w+|execute|segment|k|off|kernel"
    r"|split|\d*x?|cublas(?:Lt)?|cudnn|infer|train|align\w*|t\d+r\d+s\d+|bound|simple|persistent|ldgsts"
)
_BLAS_TUNING = re.compile(
    r"\d+x\d+\w*|ldg\d+|f2f|stages?|sliced\d+x\d+|interior|small|medium|large|xregs|splitK"
    r"|v\d+|tile\w+|\d+|wmma"
)
_DSL_CLASS = re.compile(r"(?:[A-Z][A-Za-z0-9]*)$")
_MATMUL_OGS = re.compile(r"\d+(?:x\d+){2,4}")
_TRITON_SUFFIX = re.compile(r"(?<!triton_)(?:_0[dc][0-9cde]{2,}$|_01[0-9cde]{3,}$)")  # _0d1d2d3de4


def _dsl(match: re.Match[str]) -> str:
    """The class of a CuTe DSL kernel; behind ``_object_at_`` stand types and alignments."""
    name = _DSL_CLASS.search(match[1])
    return "cute:" + without_tuning(name[0] if name else match[1])


_CIJK_SOLUTION = re.compile(r"_UserArgs|_MT\d|_ISA\d|(?<=PostGSU)\d")


def _cijk(match: re.Match[str]) -> str:
    """The problem: layouts, types, bias, activation, scaling. The solution follows."""
    return _CIJK_SOLUTION.split(match[1], maxsplit=1)[0]


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


GRAMMARS: tuple[Grammar, ...] = (
    Grammar(
        _compile(
            r"(?:\[CUDA memcpy |Memcpy )(\w+?)(?:-to-|to)(\w+)"
            r"|(?:CUDA_)?MEMCPY_KIND_([HDA])TO([HDA])"
        ),
        _memcpy,
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"),
    ),
    Grammar(
        _compile(r"Memset\b|\[CUDA memset\]|CUDA_MEMSET"),
        lambda _: "Memset",
        ("Memset (Device)", "Memset"),
    ),
    Grammar(
        _compile(r"(ncclDevKernel|ncclKernel|ncclSymk?DevKernel|msccl\w*Kernel)_(.*)"),
        _nccl,
        (
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum",
        ),
    ),
    Grammar(
        _compile(r"(?:Custom_)?(Cijk_\w+)"),
        _cijk,
        (
            "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_MI16x16x1_SN_LDSB1_ISA942",
            "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV",
        ),
    ),
    Grammar(
        _compile(r"nvjet_(\w+)"),
        lambda match: "nvjet_" + _tokens(match[1], _NVJET_TUNING),
        ("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", "nvjet_tst_bias_TNT"),
    ),
    Grammar(
        _compile(r"((?:bmm|gemm)_(?:[A-Z]\w*?_)?Fp32)_(t\d\w+)"),
        _trtllm_gemm,
        (
            "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b"
            "_rM_TN_transOut_schedP2x1x2x3_biasM_bN_tma_tmaOpt_clmp_swiGlu_dynBatch_sm100f",
            "bmm_MxE4m3_MxE2m1MxE4m3_Fp32:biasM_clmp_swiGlu",
        ),
    ),
    Grammar(
        _compile(r"fmhaSm\d+[a-z]?Kernel_\w+"),
        _trtllm_fmha,
        (
            "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
            "fmha:QkvE4m3OBfloat16H64PagedKvCausalContext",
        ),
    ),
    Grammar(
        _compile(r"kernel_cutlass_(\w+?)_object_at_\w*"),
        _dsl,
        (
            "kernel_cutlass_kernel_flashinfernormkernelsrmsnormRMSNormKernel_object_at__tensorptrbf16",
            "cute:RMSNormKernel",
        ),
    ),
    Grammar(
        _compile(r"sm\d+_(xmma_\w+)"),
        lambda match: _tokens(match[1], _XMMA_TUNING),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute"
            "_segment_k_off_kernel__5x_cublas",
            "xmma_gemm_bf16bf16_bf16f32_f32_tn_n",
        ),
    ),
    Grammar(
        _compile(
            r"(?:cudnn_infer_|cudnn_train_)?(?:volta|turing|ampere|ada|hopper|blackwell|maxwell|pascal)_"
            r"(\w*(?:gemm|gemv|cudnn|conv|fprop|dgrad|wgrad)\w*)"
        ),
        lambda match: _tokens(without_tuning(match[1]), _BLAS_TUNING),
        ("volta_sgemm_64x32_sliced1x4_tn", "sgemm_tn"),
    ),
    Grammar(
        _compile(r"(igemm_[a-z]+)_gtcx?\d*_(\w+?)_bx\d\w*"),
        lambda match: f"{match[1]}_{match[2]}",
        (
            "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8_ws1x2_wr2x2",
            "igemm_fwd_nhwc_bf16",
        ),
    ),
    Grammar(
        _compile(r"batched_transpose_\w*?(half|byte|dword|float)\b"),
        lambda match: f"batched_transpose_{match[1]}",
        ("batched_transpose_16x64_pack_1x4_ediv_1x2_half", "batched_transpose_half"),
    ),
    Grammar(
        _compile(r"(triton_(?:poi|red|per|tem|mm|for|split_scan)\w*?)_\d+$"),
        lambda match: match[1],
        ("triton_poi_fused_silu_29", "triton_poi_fused_silu"),
    ),
    Grammar(
        _compile(r"(_(?:p_)?matmul_ogs\w*)"),
        lambda match: "_" + _tokens(match[1], _MATMUL_OGS),
        (
            "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
            "_matmul_ogs_NNT_bf16xbf16xmxfp4_swiglu",
        ),
    ),
)


_FUNCTION = re.compile(r"(?:void )?([^<(]*)")  # void f<int>(int)


def flat(name: str) -> str | None:
    """The canonical operation by the grammar of a generator, or None if none applies."""
    for grammar in GRAMMARS:
        match = grammar.pattern.match(name)
        if match is not None:
            return grammar.canonical(match)
    return None


def plain(name: str) -> str:
    """The canonical operation of any other identifier: without tuning and autotune suffix."""
    function = _FUNCTION.match(name)
    name = (function[1].rpartition("::")[2] if function else "") or name
    return without_tuning(_TRITON_SUFFIX.sub("", name))
