"""Reading names: the same tree from every spelling, and the same operation from every tuning."""

from __future__ import annotations

import gzip
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from perfetto_autoviz.steps.ops import classify
from perfetto_autoviz.steps.ops.cxx import parse_cxx
from perfetto_autoviz.steps.ops.flat import GRAMMARS
from perfetto_autoviz.steps.ops.itanium import parse_itanium
from perfetto_autoviz.steps.ops.node import LAMBDA, Node, Part


def spelled(node: Node) -> str:
    """A tree as text, without what compilers spell differently."""
    parts = []
    for part in node.parts:
        if not part.ident:
            continue
        text = part.ident
        if part.ident == LAMBDA:
            text += f"#{part.number}({','.join(map(spelled, part.params))})"
        if part.args:
            text += f"<{', '.join(map(spelled, part.args))}>"
        parts.append(text)
    name = "::".join(parts)
    value = re.sub(r"(\d)(?:ul|u|l)$", r"\1", node.value or "")
    return name.replace("decltype(nullptr)", "nullptr") + (f"={value}" if value else "")


def test_mangled_and_demangled_names_of_a_profile_are_one_tree(corpus: Path) -> None:
    path = corpus / "rocprofv3" / "mi350x_train_50steps_908_results.json.gz"
    tool = orjson.loads(gzip.decompress(path.read_bytes()))["rocprofiler-sdk-tool"]
    pairs = {
        (symbol["kernel_name"], symbol["formatted_kernel_name"])
        for process in tool
        for symbol in process["kernel_symbols"]
        if symbol["kernel_name"].startswith("_Z")
        and not symbol["formatted_kernel_name"].startswith("_Z")
    }
    assert len(pairs) > 4000
    for mangled, demangled in pairs:
        assert spelled(parse_itanium(mangled)) == spelled(parse_cxx(demangled))


def test_mangled_and_nsys_names_are_one_operation(corpus: Path) -> None:
    path = corpus / "nsys" / "dit_2gpu_before_after" / "mfu_2gpu_after.sqlite"
    query = (
        "SELECT DISTINCT m.value, d.value FROM CUPTI_ACTIVITY_KIND_KERNEL k"
        " JOIN StringIds m ON m.id = k.mangledName JOIN StringIds d ON d.id = k.demangledName"
    )
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        pairs = database.execute(query).fetchall()
    assert len(pairs) > 20
    for mangled, demangled in pairs:
        assert classify(mangled) == classify(demangled)


def test_parts_of_a_demangled_name() -> None:
    node = parse_cxx(
        "void at::native::(anonymous namespace)::f<4, std::array<char*, 2ul>, "
        "(at::native::NormType)2, true>(int, float const*)"
    )
    assert [part.ident for part in node.parts] == ["at", "native", "", "f"]
    four, array, norm, flag = node.parts[-1].args
    assert (four.value, flag.value) == ("4", "true")
    assert [part.ident for part in array.parts] == ["std", "array"]
    assert (norm.parts[-1].ident, norm.value) == ("NormType", "2")


def test_lambdas_keep_their_number_and_parameters() -> None:
    text = "g<f(int)::{lambda()#3}::operator()() const::{lambda(float, long)#12}>(int)"
    inner = parse_cxx(text).parts[-1].args[0]
    first, call, second = inner.parts[1:]
    assert (first.ident, first.number, first.params) == (LAMBDA, 3, ())
    assert call.ident == "operator()"
    assert second.number == 12
    assert second.params == (Node((Part("float"),)), Node((Part("long"),)))
    nsys = (
        "g<f(int)::[lambda() (instance 3)]::operator ()() const::[lambda(float, long) "
        "(instance 12)]>"
    )
    assert parse_cxx(nsys).parts[-1].args[0] == inner


def test_a_return_type_is_no_part_of_the_name() -> None:
    text = (
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
        "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)"
    )
    assert [part.ident for part in parse_cxx(text).parts] == ["vllm", "fused_add_rms_norm_kernel"]


def test_functions_as_template_arguments() -> None:
    demangled = parse_cxx("void k<&(op_silu(float)), float>(float const*)")
    assert demangled.parts[-1].args[0].parts == (Part("op_silu"),)
    mangled = parse_itanium(
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_E"
        "S3_S5_EEEEvPS3_PS4_i"
    )
    assert mangled.parts[-1].ident == "act_and_mul_kernel"
    assert [part.ident for part in mangled.parts[-1].args[-1].parts] == ["silu"]


def test_a_cut_off_name_still_has_its_function() -> None:
    full = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1ELb0ELb1ELi1EEEvPT0_"
    for length in range(36, len(full)):
        node = parse_itanium(full[:length])
        assert node.parts[1].ident == "add_rmsnorm_quant_kernel"
    text = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>"
    assert parse_cxx(text[:-4]).parts[-1].ident == "vectorized_elementwise_kernel"


@pytest.mark.parametrize("grammar", GRAMMARS, ids=[g.example[0][:40] for g in GRAMMARS])
def test_each_grammar_reads_its_example(grammar: object) -> None:
    name, op = grammar.example  # type: ignore[attr-defined]
    assert classify(name).op == op
    matching = [other for other in GRAMMARS if other.pattern.match(name)]
    assert matching == [grammar]


ADD = "at::native::CUDAFunctor_add<c10::BFloat16>"
SAME = [
    (
        f"void at::native::vectorized_elementwise_kernel<4, {ADD}, "
        "at::detail::Array<char*, 3> >(int)",
        f"void at::native::vectorized_elementwise_kernel<8, {ADD}, std::array<char*, 3ul> >(int)",
    ),
    (  # two 16-bit types are one model
        f"void at::native::vectorized_elementwise_kernel<4, {ADD}, std::array<char*, 3ul> >(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, "
        "std::array<char*, 3ul> >(int)",
    ),
    (  # the manually unrolled launcher of ROCm
        f"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<{ADD} >"
        "(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
        f"void at::native::elementwise_kernel_manual_unroll<128, 8, "
        f"at::native::gpu_kernel_impl_nocast<{ADD} >(at::TensorIteratorBase&)::"
        "{lambda(int, bool)#2}>(int)",
    ),
    (  # lambdas are numbered by element type, differently in each version
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
        "at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#10}::operator()() "
        "const::{lambda(c10::BFloat16)#1}, at::detail::Array<char*, 2> >(int)",
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
        "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() "
        "const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
    ),
    (
        "nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN",
    ),
    (
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_MI16x16x1_SN_LDSB1_ISA942_WS64",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN_LDSB0_ISA950_WS64",
    ),
    (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL128(ncclDevKernelArgsStorage<4096ul>)",
    ),
    (
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ),
    ("triton_poi_fused_mul_silu_1", "triton_poi_fused_mul_silu_27"),
    (
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_64x256x128x1_swiglu",
    ),
    ("_fwd_kernel_stage2_0d1d2d3de4de", "_fwd_kernel_stage2"),
    ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)"),
    ("Memcpy DtoH (Device -> Pinned)", "[CUDA memcpy Device-to-Host]"),
    ("__amd_rocclr_copyBuffer", "__amd_rocclr_copyBufferAligned.kd"),
    (
        "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvCgaVarSeqQ8Kv128"
        "StaticSwapsAbForGen",
        "fmhaSm100aKernel_QkvBfloat16OBfloat16H128PagedKvCausalP32VarSeqQ16Kv12"
        "8PersistentSwapsAbForGen",
    ),
    (
        "void "
        "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8>(int)",
        "void "
        "cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_relu_bf16_256x128_32x2_tn_align1>(int)",
    ),
]


@pytest.mark.parametrize(("one", "two"), SAME, ids=[one[:50] for one, _ in SAME])
def test_tuning_does_not_change_the_operation(one: str, two: str) -> None:
    assert one != two
    assert classify(one).op == classify(two).op


def vectorized(functor: str) -> str:
    return (
        f"void at::native::vectorized_elementwise_kernel<4, {functor}, "
        "std::array<char*, 2ul> >(int)"
    )


POW = "at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, float>(float)::"
GELU = "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::"
REST = "::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}"
DIFFERENT = [
    (vectorized("at::native::CUDAFunctor_add<float>"), vectorized("at::native::AbsFunctor<float>")),
    (
        vectorized("at::native::CUDAFunctor_add<float>"),
        vectorized("at::native::CUDAFunctorOnSelf_add<float>"),
    ),
    (  # token positions and activations
        vectorized("at::native::CUDAFunctor_add<long>"),
        vectorized("at::native::CUDAFunctor_add<c10::BFloat16>"),
    ),
    (vectorized(POW + "{lambda(float)#1}"), vectorized(POW + "{lambda(float)#2}")),
    (vectorized(GELU + "{lambda()#1}" + REST), vectorized(GELU + "{lambda()#2}" + REST)),
    (
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, "
        "true, false>(int)",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, "
        "false, false>(int)",
    ),
    (
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1ELb0ELb1ELi1EEEvPT0_",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb0ELb0ELb1ELi1EEEvPT0_",
    ),
    (
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
    ),
    (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)",
        "ncclDevKernel_AllReduce_Max_bf16_RING_LL(int)",
    ),
    ("nvjet_tst_64x64_64x16_2x1_v_bz_bias_TNT", "nvjet_tst_64x64_64x16_2x1_v_bz_TNT"),
    ("kernel_unified_attention_2d", "kernel_unified_attention_3d"),
    ("_fwd_grouped_kernel_stage1", "_fwd_kernel_stage2"),
    (
        "void vllm::act_and_mul_kernel<c10::BFloat16, "
        "&vllm::silu_kernel<c10::BFloat16>, true>(int)",
        "void vllm::act_and_mul_kernel<c10::BFloat16, "
        "&vllm::gelu_kernel<c10::BFloat16>, true>(int)",
    ),
    (
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, "
        "(vllm::Fp8KVCacheDataType)1>(int)",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, "
        "(vllm::Fp8KVCacheDataType)0>(int)",
    ),
    ("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)"),
    ("triton__0d1d2d3d4de", "triton__0d1d2de"),
]


@pytest.mark.parametrize(("one", "two"), DIFFERENT, ids=[one[-50:] for one, _ in DIFFERENT])
def test_different_functors_never_share_an_operation(one: str, two: str) -> None:
    assert classify(one).op != classify(two).op


def test_the_operations_of_the_design() -> None:
    add = vectorized("at::native::CUDAFunctor_add<c10::BFloat16>")
    assert classify(add).op == "vectorized_elementwise:CUDAFunctor_add"
    fmha = "void cutlass::device_kernel<cutlass::fmha::FMHA<cutlass::bfloat16_t, 128> >(int)"
    assert classify(fmha).op == "device_kernel:FMHA"
