"""A comparison as relations that enriched traces store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from perfetto_autoviz.comparison.result import Comparison, PairComparison
from perfetto_autoviz.comparison.runs import BuildName
from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import (
    COMPARISON,
    EDIT,
    MATCH,
    OPERATION_CHANGE,
    PAIR_SCORE,
    UNSHARED_OPERATION,
    Relation,
)
from perfetto_autoviz.steps.compare import KEYS, edits_frame

_UNSHARED_NAMES = {"label": "op", "runs": "run_count", "count": "kernel_count"}


def comparison_frames(comparison: Comparison, build: BuildName) -> dict[str, pd.DataFrame]:
    """The frames that are equal on all ranks of a build, by relation name."""
    tables = {
        COMPARISON: _rows(COMPARISON, [_comparison_row(comparison, build)]),
        MATCH: _rows(
            MATCH, (_match_row(number, pair) for number, pair in enumerate(comparison.pairs))
        ),
        PAIR_SCORE: _rows(PAIR_SCORE, _score_rows(comparison)),
        OPERATION_CHANGE: _stacked(OPERATION_CHANGE, map(_operations, comparison.pairs)),
        EDIT: _stacked(EDIT, map(_edits, comparison.pairs)),
        UNSHARED_OPERATION: _table(
            UNSHARED_OPERATION, comparison.unshared.rename(columns=_UNSHARED_NAMES)
        ),
    }
    return {relation.name: frame for relation, frame in tables.items()}


def _comparison_row(comparison: Comparison, build: BuildName) -> dict[str, Any]:
    choices = comparison.choices
    return {
        "build": build,
        "label_a": comparison.info_a.label,
        "label_b": comparison.info_b.label,
        "run_id_a": comparison.info_a.run_id,
        "run_id_b": comparison.info_b.run_id,
        "gpu_a": comparison.info_a.gpu,
        "gpu_b": comparison.info_b.gpu,
        "jaccard_weight": choices.weights.jaccard,
        "levenshtein_weight": choices.weights.levenshtein,
        "threshold": choices.threshold,
        "assignment": choices.assignment,
        "assignments_differ": int(comparison.matching.differs),
        "steady": comparison.steady,
    }


def _match_row(number: int, pair: PairComparison) -> dict[str, Any]:
    timing = pair.timing
    return {
        "id": number,
        "pattern_a": pair.a.name,
        "pattern_b": pair.b.name,
        "basis": pair.match.basis,
        "score": pair.match.score.score,
        "rotation": pair.match.score.rotation,
        "runs_a": timing.a.runs,
        "runs_b": timing.b.runs,
        "left_out_a": timing.a.left_out,
        "left_out_b": timing.b.left_out,
        "mean_a": timing.a.mean,
        "mean_b": timing.b.mean,
        "median_a": pair.medians[0],
        "median_b": pair.medians[1],
        "difference": timing.difference,
        "ratio": timing.ratio,
        "difference_low": timing.low,
        "difference_high": timing.high,
        "verdict": timing.verdict,
        "idle_difference": pair.bar_change("idle"),
        "overlap_difference": pair.bar_change("overlap"),
    }


def _score_rows(comparison: Comparison) -> Iterable[dict[str, Any]]:
    matched = {(pair.a.id, pair.b.id) for pair in comparison.pairs}
    for pair in comparison.scores:
        for key in KEYS:
            score = pair.by[key]
            yield {
                "pattern_a": comparison.a.loops[pair.a].name,
                "pattern_b": comparison.b.loops[pair.b].name,
                "basis": key,
                "jaccard": score.jaccard,
                "levenshtein": score.levenshtein,
                "rotation": score.rotation,
                "score": score.score,
                "matched": int((pair.a, pair.b) in matched),
            }


def _operations(pair: PairComparison) -> pd.DataFrame:
    frame = pair.operations.rename(columns={"label": "op"})
    # True and False as numbers; not judged stays missing.
    return frame.assign(significant=pd.array([*frame["significant"]], dtype="boolean"))


def _edits(pair: PairComparison) -> pd.DataFrame:
    frame = edits_frame(pair.script).rename(columns={"a": "ops_a", "b": "ops_b"})
    return frame.replace({"ops_a": "", "ops_b": "", "positions_a": "", "positions_b": ""}, None)


def _stacked(relation: Relation, frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Tables of all matches, one below the other."""
    numbered = [
        frame.assign(match_id=number, number=range(len(frame)))
        for number, frame in enumerate(frames)
    ]
    if not numbered:
        return relation_frame(relation, {})
    return _table(relation, pd.concat(numbered, ignore_index=True))


def _table(relation: Relation, frame: pd.DataFrame) -> pd.DataFrame:
    return relation_frame(relation, {name: frame[name].to_numpy() for name in relation.types})


def _rows(relation: Relation, rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame([*rows], columns=[*relation.types])
    return _table(relation, frame.astype(object))
