"""Kernel names by what the kernels do, from measured captures.

``names.json`` holds for each role, e.g. ``attention``, a list of libraries, each a list of the
names that one library's kernels of that role have; they differ in tile sizes and the like. The
names are those of Qwen3-30B-A3B on MI300X and B300, gpt-oss on MI300X and B200, FLUX with two
attention backends, and Qwen1.5 on H100 and MI300.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from perfetto_autoviz.synth.model import KernelClass, Slot

Libraries = Sequence[Sequence[str]]

ROLE_CLASSES: Mapping[str, KernelClass] = {
    "moe_gemm_gated": "moe_gemm",
    "moe_gemm": "moe_gemm",
    "moe_finalize": "moe_routing",
    "moe_topk": "moe_routing",
    "moe_sort": "moe_routing",
    "moe_offsets": "moe_routing",
    "attention": "attention",
    "attention_reduce": "reduce",
    "splitk_reduce": "reduce",
    "gemm": "gemm",
    "add_norm": "norm",
    "norm": "norm",
    "mean": "reduce",
    "maximum": "reduce",
    "all_reduce": "communication",
}
"""The class that decides noise and scaling; ``elementwise`` where none is given."""


def role_class(role: str) -> KernelClass:
    """The class of a role's kernels."""
    return ROLE_CLASSES.get(role, "elementwise")


def role_of(slot: Slot) -> str | None:
    """What a kernel does, or None if its name is not among those known."""
    known = _roles().get(slot.name)
    return "all_reduce" if known is None and slot.cls == "communication" else known


@cache
def libraries(role: str) -> Libraries:
    """The names of a role by library."""
    found: Libraries = _table()[role]
    return found


def library_of(name: str) -> Sequence[str]:
    """The names of the same role and library, itself included; only itself if unknown."""
    role = _roles().get(name)
    if role is None:
        return (name,)
    return next(names for names in libraries(role) if name in names)


@cache
def _table() -> dict[str, list[list[str]]]:
    text = files("perfetto_autoviz.synth").joinpath("names.json").read_text("utf-8")
    table: dict[str, list[list[str]]] = json.loads(text)
    return table


@cache
def _roles() -> dict[str, str]:
    return {
        name: role
        for role, by_library in _table().items()
        for names in by_library
        for name in names
    }
