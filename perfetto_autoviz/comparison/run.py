"""The comparison itself: two builds in, all that changed out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfetto_autoviz.comparison.result import BuildInfo, Choices, Comparison, PairComparison
from perfetto_autoviz.steps.compare import (
    Build,
    Match,
    RunSamples,
    Timing,
    build_waterfall,
    compare_operations,
    compare_ranks,
    compare_timing,
    kernels_of_one_build,
    match_edits,
    match_loops,
    sample_runs,
    score_pairs,
)


def compare_builds(
    a: Build,
    b: Build,
    info_a: BuildInfo,
    info_b: BuildInfo,
    choices: Choices | None = None,
) -> Comparison:
    """Matches the patterns of two builds, and says what changed in each pair.

    Args:
        a: the one build.
        b: the other.
        info_a: what else is known of A.
        info_b: of B.
        choices: see `Choices`.

    Raises:
        UsageError: a chosen pair is malformed, names no pattern, or one that has a partner.
    """
    choices = choices or Choices()
    scores = score_pairs(a, b, choices.weights)
    matching = match_loops(a, b, scores, threshold=choices.threshold, manual=choices.pairs)
    matches = matching.optimal if choices.assignment == "optimal" else matching.greedy
    return Comparison(
        a=a,
        b=b,
        info_a=info_a,
        info_b=info_b,
        choices=choices,
        scores=tuple(scores),
        matching=matching,
        pairs=tuple(_compare_pair(a, b, match, matches) for match in matches),
        unshared=kernels_of_one_build(a, b),
    )


def _compare_pair(a: Build, b: Build, match: Match, matches: Sequence[Match]) -> PairComparison:
    one, other = a.loops[match.a], b.loops[match.b]
    runs_a, runs_b = sample_runs(a, one), sample_runs(b, other)
    return PairComparison(
        match=match,
        a=one,
        b=other,
        runs_a=runs_a,
        runs_b=runs_b,
        timing=compare_timing(runs_a, runs_b),
        rank_timing=_rank_timing(runs_a, runs_b),
        operations=compare_operations(runs_a, runs_b),
        waterfall=build_waterfall(runs_a, runs_b),
        script=match_edits(a, b, match, matches),
        ranks=compare_ranks(runs_a, runs_b),
    )


def _rank_timing(a: RunSamples, b: RunSamples) -> dict[int, Timing]:
    return {
        int(rank): compare_timing(a.select(a.rank == rank), b.select(b.rank == rank))
        for rank in np.intersect1d(a.rank, b.rank)
    }
