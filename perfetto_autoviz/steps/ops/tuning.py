"""Tuning inside identifiers: tiles, stages, architectures, instruction shapes."""

from __future__ import annotations

import re
from functools import lru_cache

_CAPABILITY = r"[sS][mM]_?(?:70|75|80|86|87|89|90|100|103|110|120|121)[af]?(?![0-9])"
_ARCHITECTURE = re.compile(  # sm90_fp8_gemm, FlashAttnFwdSm90, fmha_sm100a, gfx942
    rf"^{_CAPABILITY}_|_?{_CAPABILITY}|_?gfx\d{{3,4}}[a-z]?(?![0-9])"
)
_INSTRUCTION = re.compile(
    r"(?<![a-z0-9])([hisd])(?:1688|16816|16832|161616|884|8816|8832)(?=gemm|fprop|dgrad|wgrad)"
)
_TOKEN = re.compile(
    r"\d+x\d+(?:x\d+){0,4}"  # 128x64, 16x128x256x1
    r"|align[a-c]?\d+|aligned\d+|ldg\d+|warps\d+|vec\d+|unroll\d+|\d+tg"
    r"|mfma\d+\w*|wmma|sliced\d+x\d+"
)
_SUFFIX = re.compile(  # which variant of one kernel fits alignment, unrolling and memory
    r"_manual_unroll$|_aligned(?:\d+|K)_contig$|_contig$|_vectorized$|_?[aA]ligned\d*$|VecLoad$"
    r"|(?<=SoftMaxForward)(?:Reg|Smem|Gmem|SmemReg)$"
)
_ARCH_NUMBER = re.compile(r"(?<=cutlass)_(?:75|80|86|89|90|100|120)(?=_)")


@lru_cache(maxsize=4096)
def without_tuning(ident: str) -> str:
    """An identifier without its tuning: ``topksoftmax_4x128x8_bf16`` → ``topksoftmax_bf16``."""
    ident = _ARCHITECTURE.sub("", _ARCH_NUMBER.sub("", _SUFFIX.sub("", ident)))
    ident = _INSTRUCTION.sub(r"\1", ident)
    if "_" not in ident:
        return ident
    tokens = ident.split("_")
    kept = [token for token in tokens if not token or not _TOKEN.fullmatch(token)]
    return "_".join(kept) if any(kept) else ident
