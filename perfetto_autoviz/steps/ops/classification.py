"""Kernel names, classified: what a kernel computes, and of which family it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pandas as pd

from perfetto_autoviz.steps.ops.canonical import LONGEST_OP, Canonical, canonical, named_parts
from perfetto_autoviz.steps.ops.cxx import parse_cxx
from perfetto_autoviz.steps.ops.flat import flat, plain
from perfetto_autoviz.steps.ops.itanium import is_mangled, parse_itanium
from perfetto_autoviz.steps.ops.node import NameTooDeepError, Node
from perfetto_autoviz.steps.ops.rules import Family, family_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_CACHED_NAMES = 65_536
"""Distinct names kept; a capture has some hundreds, a big one some thousands."""

_LONGEST_NAME = 16_384
"""What a longer name says further on is not read."""

_CODE_OBJECT = ".kd"
"""What AMD's code objects append to the name of a kernel."""

_LABEL_WIDTH = 28


@dataclass(frozen=True)
class KernelClass:
    """What a kernel name means.

    Attributes:
        op: the canonical operation.
        family: the coarse class; ``other`` where no rule applies.
        rule: name of the rule that decided the family, empty where none did.
    """

    op: str
    family: Family
    rule: str


@lru_cache(maxsize=_CACHED_NAMES)
def classify(name: str) -> KernelClass:
    """Classifies one name of a device activity.

    Args:
        name: the name as recorded: demangled, mangled or generated.

    Returns:
        Its operation and family. Any text has an operation; an empty one has ``?``.
    """
    found = canonical_of(name[:_LONGEST_NAME])
    family, rule = family_of(found.subject)
    return KernelClass(found.op, family, rule)


def canonical_of(name: str) -> Canonical:
    """The canonical operation of a name, and what rules look at."""
    name = name.strip().removesuffix(_CODE_OBJECT)
    if not name:
        return Canonical("?", "")
    op = flat(name)
    if op is not None:
        return Canonical(op[:LONGEST_OP], name)
    node = _parsed(name)
    if node is not None and named_parts(node):
        return canonical(node)
    op = plain(name)
    return Canonical(op[:LONGEST_OP], name)


_CXX = re.compile(r"[<(]|::")


def _parsed(name: str) -> Node | None:
    """The name as C++, or None if it is none or nests too deep to be read."""
    try:
        if is_mangled(name):
            return parse_itanium(name)
        return parse_cxx(name) if _CXX.search(name) else None
    except NameTooDeepError:
        return None


def classify_names(names: Sequence[str]) -> pd.DataFrame:
    """Classifies names.

    Args:
        names: names of device activities.

    Returns:
        The distinct names in order of their first occurrence, with columns ``name``,
        ``op`` and ``family``.
    """
    distinct = list(dict.fromkeys(names))
    classes = [classify(name) for name in distinct]
    return pd.DataFrame(
        {
            "name": pd.Series(distinct, dtype=object),
            "op": pd.Series([found.op for found in classes], dtype=object),
            "family": pd.Series([found.family for found in classes], dtype=object),
        }
    )


def short_label(op: str) -> str:
    """An operation in at most 28 characters, for tables.

    The function in front and the end, which tells similar operations apart, are kept.
    """
    label = re.sub(r"^(?:vectorized_|unrolled_)?elementwise(?:_kernel)?:", "elementwise:", op)
    if len(label) <= _LABEL_WIDTH:
        return label
    tail = _LABEL_WIDTH // 2 - 2
    return f"{label[: _LABEL_WIDTH - tail - 1]}…{label[-tail:]}"
