"""Kernel patterns: the sequences of kernels that repeat, from layers to steps."""

from perfetto_autoviz.steps.patterns.detect import detect_patterns, kernel_places
from perfetto_autoviz.steps.patterns.kernels import RankKernels, Track
from perfetto_autoviz.steps.patterns.result import (
    EXTRA_KERNEL,
    MISSING,
    SWAPPED_KERNEL,
    Exceptions,
    Pattern,
    PatternRuns,
    Patterns,
    Places,
    Positions,
    RunSegments,
    Variants,
)

__all__ = [
    "EXTRA_KERNEL",
    "MISSING",
    "SWAPPED_KERNEL",
    "Exceptions",
    "Pattern",
    "PatternRuns",
    "Patterns",
    "Places",
    "Positions",
    "RankKernels",
    "RunSegments",
    "Track",
    "Variants",
    "detect_patterns",
    "kernel_places",
]
