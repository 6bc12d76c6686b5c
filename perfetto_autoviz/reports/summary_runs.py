"""What a summary says of patterns and of their abnormal runs: plain values, ready for JSON."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

_DURATION = "duration"


@dataclass(frozen=True)
class PatternGroup:
    """A pattern on this rank.

    Attributes:
        name: its name.
        level: 0 for an outermost loop.
        kernels: device activities of a typical run.
        runs: its runs on this rank.
    """

    name: str
    level: int
    kernels: int
    runs: int


@dataclass(frozen=True)
class AbnormalRuns:
    """How many runs of patterns on this rank are abnormal.

    Attributes:
        runs: runs of all patterns.
        judged: those that could be judged, by test.
        flagged: those that any test flags.
        worst: the one with the largest excess in words; None if none is flagged.
    """

    runs: int
    judged: dict[str, int]
    flagged: int
    worst: str | None


def pattern_groups(patterns: pd.DataFrame, runs: pd.DataFrame) -> tuple[PatternGroup, ...]:
    """The patterns that run on this rank, in their order.

    Args:
        patterns: the relation ``pattern``.
        runs: the relation ``pattern_run`` of this rank.
    """
    count = runs["pattern_id"].value_counts()
    return tuple(
        PatternGroup(
            str(row["name"]), int(row["level"]), int(row["kernel_count"]), int(count[row["id"]])
        )
        for row in patterns.to_dict("records")
        if row["id"] in count.index
    )


def abnormal_runs(
    groups: pd.DataFrame, anomalies: pd.DataFrame, runs: pd.DataFrame, patterns: pd.DataFrame
) -> AbnormalRuns:
    """Counts the abnormal runs of this rank; arguments are relations by their names."""
    return AbnormalRuns(
        runs=int(groups.loc[groups["test"] == _DURATION, "run_count"].sum()),
        judged={
            str(test): int(count)
            for test, count in groups.groupby("test")["judged_count"].sum().items()
        },
        flagged=len(anomalies),
        worst=_worst(anomalies, runs, patterns),
    )


def _worst(anomalies: pd.DataFrame, runs: pd.DataFrame, patterns: pd.DataFrame) -> str | None:
    if anomalies.empty:
        return None
    first = anomalies.iloc[int(anomalies["ranking"].to_numpy(np.int64).argmin())]
    name = patterns.loc[patterns["id"] == first["pattern_id"], "name"].iloc[0]
    number = runs.loc[runs["id"] == first["run_id"], "number"].iloc[0]
    return f"{name} #{number}, {first['explanation']}"
