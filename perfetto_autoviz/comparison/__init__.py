"""Two builds of captures compared, from files to a folder of results."""

from perfetto_autoviz.comparison.result import BuildInfo, Choices, Comparison, PairComparison
from perfetto_autoviz.comparison.run import compare_builds

__all__ = [
    "BuildInfo",
    "Choices",
    "Comparison",
    "PairComparison",
    "compare_builds",
]
