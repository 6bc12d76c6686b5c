"""Each run of a build beside the runs of its pattern's partner in the other build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from perfetto_autoviz.comparison.result import Comparison
from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import PATTERN, PATTERN_RUN, PHASE, RUN_MATCH
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.intervals import containing

BuildName = Literal["A", "B"]

Medians = Mapping[tuple[str, str], float]
"""Median duration in ns of runs by their pattern's name and their phase."""


def run_frame(
    comparison: Comparison, build: BuildName, relations: Frames, others: Medians
) -> pd.DataFrame:
    """One rank's runs beside their partners.

    A run stands beside the partner's runs in steps of the same phase, and beside none if there
    are no such runs: a prefill step takes many times as long as a decode step anyway.

    Args:
        comparison: the comparison.
        build: which of the two the rank belongs to.
        relations: the rank's ``pattern``, ``pattern_run`` and ``phase``.
        others: from `phase_medians` of the other build.
    """
    runs, patterns = relations[PATTERN_RUN.name], _patterns(relations)
    partners = _partners(comparison, build)
    own = pd.DataFrame([partners.get(name, {}) for name in patterns])
    own = own.reindex(columns=["match_id", "partner", "score"])
    phases = _phases(relations)
    median = np.array(
        [others.get(key, np.nan) for key in zip(own["partner"], phases, strict=True)], np.float64
    )
    dur = runs["dur"].to_numpy(np.float64)
    difference = median - dur if build == "A" else dur - median
    before = dur if build == "A" else median
    return relation_frame(
        RUN_MATCH,
        {
            "ts": runs["ts"].to_numpy(),
            "dur": runs["dur"].to_numpy(),
            "run_id": runs["id"].to_numpy(),
            "level": runs["level"].to_numpy(),
            "pattern": patterns,
            **{name: own[name].to_numpy() for name in own.columns},
            "partner_median": median,
            "difference": difference,
            "ratio": difference / np.where(before > 0, before, np.nan),
        },
    )


def phase_medians(ranks: Iterable[Frames]) -> Medians:
    """The usual durations of a build's runs, over all its ranks.

    Args:
        ranks: each rank's ``pattern``, ``pattern_run`` and ``phase``.
    """
    runs = pd.concat(
        [
            pd.DataFrame(
                {
                    "pattern": _patterns(relations),
                    "phase": _phases(relations),
                    "dur": relations[PATTERN_RUN.name]["dur"].to_numpy(np.float64),
                }
            )
            for relations in ranks
        ]
    )
    found = runs.groupby(["pattern", "phase"], as_index=False)["dur"].median()
    keys = zip(found["pattern"], found["phase"], strict=True)
    return dict(zip(keys, found["dur"].tolist(), strict=True))


def _patterns(relations: Frames) -> list[str]:
    """Name of the pattern of each run."""
    patterns = relations[PATTERN.name]
    names = dict(zip(patterns["id"], patterns["name"], strict=True))
    return [str(names[number]) for number in relations[PATTERN_RUN.name]["pattern_id"]]


def _phases(relations: Frames) -> list[str]:
    """Phase of the step in which each run starts, "" if none is known."""
    phases = relations[PHASE.name]
    phases = phases[phases["ts"].notna()].sort_values("ts", kind="stable")
    start = phases["ts"].to_numpy(np.int64)
    end = start + phases["dur"].to_numpy(np.int64)
    step = containing(start, end, relations[PATTERN_RUN.name]["ts"].to_numpy(np.int64))
    names = [*phases["phase"].fillna(""), ""]
    return [str(names[at]) for at in step]


def _partners(comparison: Comparison, build: BuildName) -> dict[str, dict[str, Any]]:
    """By a pattern's name what its runs are shown with."""
    found = {}
    for number, pair in enumerate(comparison.pairs):
        own, other = (pair.a, pair.b) if build == "A" else (pair.b, pair.a)
        found[own.name] = {
            "match_id": number,
            "partner": other.name,
            "score": pair.match.score.score,
        }
    return found
