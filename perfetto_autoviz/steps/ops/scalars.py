"""Element types of kernels, and how an ``op`` shows them.

The 16-bit floats are the types that a model runs in, and a build may change one for the other
without changing the work: an op does not show them. Other element types are shown, for an add of
token positions (``long``) is not the add of activations.
"""

from __future__ import annotations

import re
from functools import lru_cache

from perfetto_autoviz.steps.ops.node import words

_MODEL_FLOATS = words(
    "BFloat16 Half __nv_bfloat16 __nv_bfloat162 __hip_bfloat16 hip_bfloat16 nv_bfloat16 bfloat16_t"
    " bfloat16 bf16_t bf16 __bf16 __half __half2 half half_t _Float16 fp16_t half2"
) | {"unsigned short"}  # what Composable Kernel and vLLM call bfloat16
_FLOATS = {
    "float": "float",
    "double": "double",
    "float2": "float",
    "float4": "float",
    "tf32": "tf32",
    "tfloat32_t": "tf32",
    "complex": "complex",
}
_INTEGERS = words(
    "bool char short int long int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t"
    " __int128"
)
_SMALL_FLOAT = re.compile(  # Float8_e4m3fn, __nv_fp8_e4m3, float_e2m1_t, __hip_fp8_e4m3_fnuz
    r"_*(?:nv_|hip_)?(?:float8|float4|float6|fp8|fp4|fp6|float)x?\d?_?(e\dm\d(?:fn|fnuz|b11)?)\w*|fp8_t|bf8_t",
    re.IGNORECASE,
)

_WIDTH = re.compile(r"\d+B")


@lru_cache(maxsize=4096)
def is_scalar(ident: str) -> bool:
    """Whether an identifier names an element type."""
    return (
        ident in _MODEL_FLOATS
        or ident in _FLOATS
        or _integer(ident) is not None
        or _SMALL_FLOAT.fullmatch(ident) is not None
    )


def shown_types(idents: list[str], *, integers: bool) -> list[str]:
    """What an op shows of the element types of a kernel, in their order.

    Args:
        idents: the types, as they occur in the template arguments.
        integers: whether integers are elements; of most kernels they are only indices.

    Returns:
        Small floats always; besides, nothing if a 16-bit float is among the types (others
        are then accumulators or indices), else the first float, else the first integer.
    """
    small = list(dict.fromkeys(_small(ident) for ident in idents if _SMALL_FLOAT.fullmatch(ident)))
    if small or any(ident in _MODEL_FLOATS for ident in idents):
        return small
    widths = [ident for ident in idents if _WIDTH.fullmatch(ident)]
    if widths:  # a type of which only its size matters
        return [] if widths[0] == "2B" else widths[:1]
    floats = [_FLOATS[ident] for ident in idents if ident in _FLOATS]
    if floats or not integers:
        return floats[:1]
    return [kind for ident in idents if (kind := _integer(ident)) is not None][:1]


def _small(ident: str) -> str:
    match = _SMALL_FLOAT.fullmatch(ident)
    if match is None or not match[1]:
        return ident.lower().removesuffix("_t")
    layout = match[1].lower()
    bits = 1 + sum(int(digit) for digit in layout[1:4:2])  # sign, exponent, mantissa
    return f"fp{bits}_{layout}"


def _integer(ident: str) -> str | None:
    """``unsigned long`` and ``long`` are one type here; so are all spellings of 64 bits."""
    words = ident.split(" ")
    if words[-1] in _INTEGERS or words[-1] in ("unsigned", "signed"):
        return words[-1] if words[-1] in _INTEGERS else "int"
    return None
