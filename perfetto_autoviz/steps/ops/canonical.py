"""From a C++ name to its canonical operation.

Kept are the function and those template arguments that say what it computes: functors, epilogues,
activations, modes. Dropped are numbers and what only carries data or tunes the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from perfetto_autoviz.steps.ops.node import LAMBDA, Node, Part, words
from perfetto_autoviz.steps.ops.scalars import is_scalar, shown_types
from perfetto_autoviz.steps.ops.tuning import without_tuning

_IDENTS = 4096
"""Distinct identifiers remembered; kernels of one capture share a few hundred."""

LONGEST_OP = 120
"""A longer op is cut: no table shows it, and what tells it apart stands in front."""

_OPAQUE = re.compile(
    r"array|Array|tuple|Tuple|pair|integral_constant|index_sequence|sequence|Sequence|C|S"
    r"|Stride|Shape|Layout|\w*Layout\w*|\w*OffsetCalculator|Load\w*Cast\w*|Store\w*Cast\w*"
    r"|\w*Accessor\w*|TensorInfo|Tensor|TensorDescriptor|TensorIterator\w*|\w*Metadata|OpaqueType"
    r"|ArrayRef|\w*Params(?:_?t|Ex|32|64)?|\w*_params|\w*Args(?:Storage)?|Kargs|Arguments?"
    r"|\w*[Pp]olicy\w*|policy_hub|\w*[Cc]onfig\w*|\w*Iterator\w*|\w*iterator\w*|\w*Shape\w*"
    r"|\w*TileState\w*|\w*_state|\w*Scheduler\w*|\w*Swizzle\w*|RowMajor|ColumnMajor|PassThrough"
    r"|null_type|empty_type|identity|void|T|decltype.*|nullptr_t|remove_cv\w*|cublasGemvTensor\w*"
    r"|HIP_vector_type|BlockToCTileMap\w*|ComputePtrOffset\w*|CUDAGeneratorImpl|identity_decomposer|block_id_wrapper|ArchTag|OpClass\w*|MMA_\w*|Copy_Atom|TiledMMA|Underscore"
)
"""Types that carry data, shapes, layouts or tuning, and say nothing of what is computed."""

_TRANSPARENT = re.compile(
    r"gpu_kernel_impl\w*|gpu_index_kernel|type_specialized_broadcast_kernel_launcher|apply"
    r"|ReduceOp|func_wrapper_t|KernelParams|Gridwise\w*|\w*Problem\w*|\w*[Tt]raits\w*|\w*Pipeline\w*"
    r"|Default2DEpilogue|enable_\w+|conditional_t|\w*_and_transform"
)
"""Wrappers: their arguments may say what is computed, they themselves do not."""

_TUNING_ENUM = re.compile(
    r"\w*(?:[Ss]cheduler|[Vv]ersion|[Ss]pecialization|TailNumber|arch|determinism|[Pp]olicy|[Ll]ayout"
    r"|subalgo|Algorithm|DataType_t|Sensitive\w*|LoadMode|SwizzleMode)\w*"
)
"""Enumerations whose value tunes; all other ones select what is computed."""

_TENSOR_SCOPES = frozenset({"at", "at_cuda_detail", "elementwise_kernel_with_index"})
"""Where the integers among template arguments are elements of tensors."""

_GENERIC = words("kernel kernel2 run apply main entry launch execute dispatch combine")
"""Function names that say nothing without the scope they stand in."""

_FLAGS: dict[str, dict[int, str]] = {
    "softmax_warp_forward": {4: "log", 5: "masked"},
    "softmax_warp_backward": {4: "log", 5: "masked"},
    "vectorized_layer_norm_kernel": {2: "rms"},
    "layer_norm_grad_input_kernel": {2: "rms"},
    "layer_norm_grad_input_kernel_vectorized": {2: "rms"},
    "cuComputeGradGammaBeta": {2: "rms"},
    "cuComputePartGradGammaBeta": {2: "rms"},
    "flash_fwd_kernel": {1: "dropout", 2: "causal"},
    "flash_fwd_splitkv_kernel": {1: "causal"},
    "add_rmsnorm_quant_kernel": {4: "add", 5: "quant"},
    "rms_norm_f32": {1: "mul", 2: "add"},
    "CollectiveMainloopFwdSm90": {7: "causal", 8: "local", 9: "softcap"},
}
"""Boolean template arguments, by position, that select what is computed. The sources:
PyTorch (SoftMax.cu, layer_norm_kernel.cu), FlashAttention (flash_fwd_kernel.h and
mainloop_fwd_sm90_tma_gmma_ws.hpp), AITER
(rmsnorm_quant_kernels.cu), llama.cpp (norm.cu). Flags of other functions are dropped."""

_CUTLASS = frozenset({"cutlass", "cute", "cutlass_cudnn_train", "cutlass_cudnn_infer"})
_CUTLASS_KEPT = re.compile(
    r"LinComb\w*|LinearCombination\w*|\w*Bias\w*|\w*(?:SiLu|Silu|G[Ee][Ll][Uu]|R[Ee]L[Uu]|Sigmoid|Sw[Ii]G[Ll][Uu]|Tanh)\w*"
    r"|\w*Mask|\w*Causal\w*|GroupProblemShape|\w*SplitK\w*|multiplies|plus|maximum"
)
"""What is kept of the types inside a CUTLASS kernel, where nearly all is tuning."""

_FEW_OPERANDS = 3
"""Compilers number lambdas of one function per signature; functions that hold several, as group
norm's backward pass does, have ones with many operands, and the count tells them apart."""

_VARIANTS: dict[tuple[str, int], str] = {
    ("GeluCUDAKernelImpl", 1): "tanh",
    ("GeluBackwardCUDAKernelImpl", 1): "tanh",
}
"""Where the outermost lambda of a function tells what is computed. In all other ones it
numbers element types, which differs between versions of PyTorch."""


@dataclass(frozen=True)
class Canonical:
    """A canonical operation.

    Attributes:
        op: the canonical operation.
        subject: what rules look at: the scopes of the function and all that the op shows.
    """

    op: str
    subject: str


@dataclass
class _Budget:
    """Arguments that may still be looked at.

    Mangled names repeat a type by reference, so that a short hostile one can stand for
    billions of arguments; the largest name of our captures has 399.
    """

    left: int = 4000

    def spent(self) -> bool:
        self.left -= 1
        return self.left < 0


@dataclass
class _Seen:
    """What a walk over template arguments found."""

    labels: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    budget: _Budget = field(default_factory=_Budget)

    def within(self) -> _Seen:
        """For what is inside one type: its labels are its own, all else is shared."""
        return _Seen([], self.scalars, self.budget)


def named_parts(node: Node) -> list[Part]:
    """The parts of a name that say something: neither anonymous namespaces nor lambdas."""
    return [part for part in node.parts if part.ident and part.ident != LAMBDA]


def canonical(node: Node) -> Canonical:
    """The canonical operation of a function.

    Args:
        node: the function; it has at least one of `named_parts`.
    """
    named = named_parts(node)
    function = named[-1]
    seen = _Seen()
    labels = _flags(function)
    if named[0].ident in _CUTLASS:
        labels += _cutlass(function, seen)
    else:
        for arg in function.args:
            _walk(arg, seen)
    labels += seen.labels
    base = _base(named)
    shown = list(dict.fromkeys(labels))
    op = base + (":" + ",".join(shown) if shown else "")
    types = shown_types(seen.scalars, integers=named[0].ident in _TENSOR_SCOPES)
    if types:
        op += f"<{','.join(types)}>"
    scopes = "::".join(part.ident for part in named)
    return Canonical(op[:LONGEST_OP], f"{scopes}:{op}")


def _base(named: list[Part]) -> str:
    base = without_tuning(named[-1].ident)
    if base.lower() in _GENERIC and len(named) > 1:
        return f"{without_tuning(named[-2].ident)}::{base}"
    return trimmed(base)


_ENDINGS = re.compile(r"_kernel_cuda$|_kernel_impl$|CUDAKernelImpl$|_cuda_kernel$|_kernel$")


def trimmed(ident: str) -> str:
    """Without ``_kernel``, unless a single word would remain: ``device_kernel``."""
    short = _ENDINGS.sub("", ident)
    return short if "_" in short.strip("_") or short.lower() != short else ident


def _flags(function: Part) -> list[str]:
    flags = _FLAGS.get(function.ident, {})
    return [
        name
        for position, name in flags.items()
        if position < len(function.args) and function.args[position].value in ("true", "1")
    ]


def _cutlass(function: Part, seen: _Seen) -> list[str]:
    """The kernel type of a CUTLASS launcher, and what its epilogue and mask are."""
    kinds = [arg for arg in function.args if arg.value is None and arg.parts]
    if not kinds:
        return []
    kind = kinds[0].parts[-1]
    while kind.ident.startswith("enable_") and kind.args and kind.args[0].parts:
        kind = kind.args[0].parts[-1]
    kept: list[str] = []
    _cutlass_kept(kind, kept, seen)
    return [without_tuning(kind.ident), *kept]


def _cutlass_kept(part: Part, kept: list[str], seen: _Seen) -> None:
    kept.extend(_flags(part))
    for arg in part.args:
        if arg.value is not None or not arg.parts or seen.budget.spent():
            continue
        last = arg.parts[-1]
        if is_scalar(last.ident):
            seen.scalars.append(last.ident)
        elif _CUTLASS_KEPT.fullmatch(last.ident):
            kept.append(without_tuning(last.ident))
        _cutlass_kept(last, kept, seen)


def _walk(node: Node, seen: _Seen) -> None:
    """Collects what one template argument says."""
    if seen.budget.spent():
        return
    if node.value is not None:
        label = _enum_label(node)
        if label:
            seen.labels.append(label)
        return
    label = _label(node, seen)
    if label:
        seen.labels.append(label)


def _enum_label(node: Node) -> str:
    """``NormType=2``; the value 0 is the default of every enumeration and not shown."""
    if not node.parts or node.value == "0":
        return ""
    name = node.parts[-1].ident
    if not name or _TUNING_ENUM.fullmatch(name):
        return ""
    return f"{name.removesuffix('Enum')}={node.value}"


def _label(node: Node, seen: _Seen) -> str:
    """A type's identifier with what its own arguments say; empty if it says nothing."""
    named = [part for part in node.parts if part.ident not in (LAMBDA, "operator()", "")]
    if not named:
        return ""
    last = named[-1]
    if last.ident == "OpaqueType":
        seen.scalars.extend(f"{arg.value.rstrip('ul')}B" for arg in last.args if arg.value)
    if is_scalar(last.ident):
        seen.scalars.append(last.ident)
        return ""
    transparent = any(_is_transparent(part.ident) for part in named)
    if not transparent and any(_is_opaque(part.ident) for part in named[-2:]):
        return ""
    inner = seen.within()
    for arg in last.args:
        _walk(arg, inner)
    for param in node.parts[-1].params:
        _walk(param, seen.within())
    if transparent:
        seen.labels.extend(inner.labels)
        return ""
    ident = _ENDINGS.sub("", without_tuning(last.ident)) + _variant(node, last)
    return ident + (f"<{','.join(dict.fromkeys(inner.labels))}>" if inner.labels else "")


@lru_cache(maxsize=_IDENTS)
def _is_transparent(ident: str) -> bool:
    return _TRANSPARENT.fullmatch(ident) is not None


@lru_cache(maxsize=_IDENTS)
def _is_opaque(ident: str) -> bool:
    return _OPAQUE.fullmatch(ident) is not None


def _variant(node: Node, function: Part) -> str:
    """Which of a function's lambdas it is, where that selects what is computed."""
    lambdas = [part for part in node.parts if part.ident == LAMBDA]
    if not lambdas:
        return ""
    name = _VARIANTS.get((function.ident, lambdas[0].number))
    if name:
        return f"_{name}"
    leaf = lambdas[-1]
    many = f"/{len(leaf.params)}" if len(leaf.params) > _FEW_OPERANDS else ""
    return many + (f"#{leaf.number}" if leaf.number > 1 else "")
