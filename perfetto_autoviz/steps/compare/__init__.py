"""Two builds compared: which loop is which, and what changed in each."""

from perfetto_autoviz.steps.compare.assignment import Match, Matching, match_loops
from perfetto_autoviz.steps.compare.build import KEYS, Build, Element, Key, Loop, read_build
from perfetto_autoviz.steps.compare.costs import Item
from perfetto_autoviz.steps.compare.differences import compare_ranks, kernels_of_one_build
from perfetto_autoviz.steps.compare.edits import (
    Edit,
    EditScript,
    apply_edits,
    edit_script,
    edits_frame,
    match_edits,
)
from perfetto_autoviz.steps.compare.limits import THRESHOLD, Weights
from perfetto_autoviz.steps.compare.operations import compare_operations
from perfetto_autoviz.steps.compare.samples import RunSamples, sample_runs
from perfetto_autoviz.steps.compare.scores import (
    PairScore,
    Score,
    pairs_frame,
    score_pairs,
    score_sequences,
)
from perfetto_autoviz.steps.compare.timing import Spread, Timing, compare_timing
from perfetto_autoviz.steps.compare.waterfall import Bar, Waterfall, build_waterfall

__all__ = [
    "KEYS",
    "THRESHOLD",
    "Bar",
    "Build",
    "Edit",
    "EditScript",
    "Element",
    "Item",
    "Key",
    "Loop",
    "Match",
    "Matching",
    "PairScore",
    "RunSamples",
    "Score",
    "Spread",
    "Timing",
    "Waterfall",
    "Weights",
    "apply_edits",
    "build_waterfall",
    "compare_operations",
    "compare_ranks",
    "compare_timing",
    "edit_script",
    "edits_frame",
    "kernels_of_one_build",
    "match_edits",
    "match_loops",
    "pairs_frame",
    "read_build",
    "sample_runs",
    "score_pairs",
    "score_sequences",
]
