"""A comparison as tables for other programs: times in ns, missing values empty."""

from __future__ import annotations

import math

import pandas as pd

from perfetto_autoviz.comparison.result import Comparison, PairComparison
from perfetto_autoviz.comparison.stored import comparison_frames
from perfetto_autoviz.relations import MATCH
from perfetto_autoviz.steps.compare import Timing, edits_frame, pairs_frame


def matches_table(comparison: Comparison) -> pd.DataFrame:
    """One row per pair of partners: all scores, and how the time changed."""
    found = comparison_frames(comparison, "A")[MATCH.name].drop(columns="id")
    return found.merge(_scores(comparison), on=["pattern_a", "pattern_b"], how="left", sort=False)


def pairs_table(comparison: Comparison) -> pd.DataFrame:
    """One row per pair of patterns, the most alike first, and who takes it for partners."""
    frame = _scores(comparison)
    for name in ("greedy", "optimal"):
        taken = {
            (comparison.a.loops[match.a].name, comparison.b.loops[match.b].name)
            for match in getattr(comparison.matching, name)
        }
        frame[name] = [
            int(ab in taken) for ab in zip(frame["pattern_a"], frame["pattern_b"], strict=True)
        ]
    return frame


def _scores(comparison: Comparison) -> pd.DataFrame:
    frame = pairs_frame(comparison.a, comparison.b, comparison.scores)
    return frame.rename(columns={"a": "pattern_a", "b": "pattern_b"})


def operations_table(pair: PairComparison) -> pd.DataFrame:
    """One row per operation, the largest change first."""
    return pair.operations.rename(columns={"label": "op"})


def edits_table(pair: PairComparison) -> pd.DataFrame:
    """The edit script."""
    return edits_frame(pair.script).rename(columns={"a": "ops_a", "b": "ops_b"})


def timing_table(pair: PairComparison) -> pd.DataFrame:
    """Times of the runs: of each build over all ranks, and of each rank.

    Rows of B hold the difference to A: the median's, its interval, and what that says.
    """
    rows = _timing_rows(pair.timing, None, pair.medians)
    for rank, timing in pair.rank_timing.items():
        rows += _timing_rows(timing, rank, (timing.a.median, timing.b.median))
    frame = pd.DataFrame(rows).astype({"rank": "Int64"})
    ranks = pair.ranks[["build", "rank", "std", "behind", "slowest"]].astype({"rank": "Int64"})
    known = set(zip(frame["build"], frame["rank"], strict=True))
    alone = [row for row in _alone(pair) if (row["build"], row["rank"]) not in known]
    whole = pd.concat([frame, pd.DataFrame(alone, columns=frame.columns)]) if alone else frame
    return whole.merge(ranks, on=["build", "rank"], how="left", sort=False)


def _timing_rows(
    timing: Timing, rank: int | None, medians: tuple[float, float]
) -> list[dict[str, object]]:
    change = {
        "difference": timing.difference,
        "ratio": timing.ratio,
        "difference_low": timing.low,
        "difference_high": timing.high,
        "verdict": timing.verdict,
    }
    return [
        {
            "build": build,
            "rank": rank,
            "runs": side.runs,
            "left_out": side.left_out,
            "mean": side.mean,
            "median": median,
            "quarter": side.low,
            "three_quarters": side.high,
            **(change if build == "B" else dict.fromkeys(change)),
        }
        for build, side, median in zip("AB", (timing.a, timing.b), medians, strict=True)
    ]


def _alone(pair: PairComparison) -> list[dict[str, object]]:
    """Ranks that only one of the builds has."""
    return [
        {"build": row["build"], "rank": row["rank"], "runs": row["runs"], "mean": row["mean"],
         "median": row["median"]}
        for row in pair.ranks.to_dict("records")
    ]  # fmt: skip


def rank_spread(pair: PairComparison, build: str) -> tuple[int, float] | None:
    """The slowest rank of a build and how far apart its ranks are; None if it has one."""
    mine = pair.ranks[pair.ranks["build"] == build]
    slowest = mine[mine["slowest"]]
    if slowest.empty:
        return None
    spread = float(slowest["spread"].iloc[0])
    return (int(slowest["rank"].iloc[0]), spread) if math.isfinite(spread) else None
