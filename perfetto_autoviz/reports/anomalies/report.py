"""Abnormal runs of all ranks, gathered from the relations of open captures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perfetto_autoviz.session import Session


@dataclass(frozen=True)
class Combination:
    """One pattern on one rank by one kind of test.

    Attributes:
        pattern: name of the pattern.
        rank: the rank.
        test: duration or autoencoder.
        runs: its runs.
        judged: those that could be judged.
        flagged: those that are flagged.
        reasons: why others were not judged.
    """

    pattern: str
    rank: int
    test: str
    runs: int
    judged: int
    flagged: int
    reasons: tuple[str, ...]

    @property
    def rate(self) -> float | None:
        """Share of the judged runs that are flagged."""
        return self.flagged / self.judged if self.judged else None


@dataclass(frozen=True)
class AnomalyReport:
    """What was found on all ranks; frames have a leading column ``rank``.

    Attributes:
        runs: the relation ``run_anomaly`` with ``pattern`` and ``number``, by ranking.
        kernels: the relation ``kernel_anomaly``.
        groups: the relation ``anomaly_group`` with ``pattern``.
        late: the relation ``straggler`` with ``pattern``.
        combinations: flag rates by pattern, rank and test.
        ranks: all ranks.
    """

    runs: pd.DataFrame
    kernels: pd.DataFrame
    groups: pd.DataFrame
    late: pd.DataFrame
    combinations: tuple[Combination, ...]
    ranks: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        blamed: dict[int, list[dict[str, Any]]] = {}
        for kernel in _plain(self.kernels):
            blamed.setdefault(kernel["run_anomaly_id"], []).append(kernel)
        anomalies = [{**run, "kernels": blamed.get(run["id"], [])} for run in _plain(self.runs)]
        return {
            "anomalies": anomalies,
            "combinations": [
                {**one.__dict__, "reasons": list(one.reasons), "rate": one.rate}
                for one in self.combinations
            ],
            "groups": _plain(self.groups),
            "stragglers": _plain(self.late),
        }

    def rows(self) -> pd.DataFrame:
        """One row per abnormal run with the first activity to blame."""
        first = self.kernels[self.kernels["ranking"] == 1]
        blamed = first[["run_anomaly_id", "position", "op", "kind", "excess", "share"]]
        named = {name: f"blamed_{name}" for name in blamed if name != "run_anomaly_id"}
        merged = self.runs.merge(
            blamed.rename(columns={**named, "run_anomaly_id": "id"}), on="id", how="left"
        )
        return merged.drop(columns=["id", "pattern_id", "group_id"])


def anomaly_report(sessions: Sequence[Session]) -> AnomalyReport:
    """Gathers what the relations of the open captures of one run say."""
    first = sessions[0]
    patterns = first.relation("pattern")[["id", "name"]]
    patterns = patterns.rename(columns={"id": "pattern_id", "name": "pattern"})
    runs = _stacked(sessions, "run_anomaly").merge(patterns, on="pattern_id")
    numbers = _stacked(sessions, "pattern_run")[["id", "number"]].rename(columns={"id": "run_id"})
    runs = runs.merge(numbers, on="run_id").sort_values("ranking", ignore_index=True)
    groups = _stacked(sessions, "anomaly_group").merge(patterns, on="pattern_id")
    groups = groups.sort_values("id", ignore_index=True)
    return AnomalyReport(
        runs=runs,
        kernels=_stacked(sessions, "kernel_anomaly"),
        groups=groups,
        late=first.relation("straggler").merge(patterns, on="pattern_id"),
        combinations=tuple(_combinations(groups)),
        ranks=tuple(session.rank or 0 for session in sessions),
    )


def _stacked(sessions: Sequence[Session], relation: str) -> pd.DataFrame:
    frames = []
    for session in sessions:
        frame = session.relation(relation).copy()
        frame.insert(0, "rank", session.rank or 0)
        frames.append(frame)
    return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


def _combinations(groups: pd.DataFrame) -> list[Combination]:
    found = []
    for (pattern, rank, test), own in groups.groupby(["pattern", "rank", "test"], sort=False):
        found.append(
            Combination(
                pattern=str(pattern),
                rank=int(str(rank)),
                test=str(test),
                runs=int(own["run_count"].sum()),
                judged=int(own["judged_count"].sum()),
                flagged=int(own["flagged_count"].sum()),
                reasons=tuple(dict.fromkeys(own["reason"].dropna())),
            )
        )
    return sorted(found, key=lambda one: (one.test != "duration", one.pattern, one.rank))


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain values, NULL as None."""
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]
