"""From kernel names to operations and families, with one table of rules."""

from perfetto_autoviz.steps.ops.classification import (
    KernelClass,
    classify,
    classify_names,
    short_label,
)
from perfetto_autoviz.steps.ops.rules import OTHER, RULES, Family, Rule

__all__ = [
    "OTHER",
    "RULES",
    "Family",
    "KernelClass",
    "Rule",
    "classify",
    "classify_names",
    "short_label",
]
