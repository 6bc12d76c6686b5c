"""A comparison as one JSON document; times in ns."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from perfetto_autoviz.comparison.folder import KIND
from perfetto_autoviz.comparison.result import Comparison, PairComparison
from perfetto_autoviz.reports.comparison.changes import Change, largest_changes
from perfetto_autoviz.reports.comparison.tables import rank_spread
from perfetto_autoviz.steps.compare import Build, Loop, Match


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values."""
    matching = comparison.matching
    found = {
        "kind": KIND,
        "version": version("perfetto-autoviz"),
        "a": _build(comparison, "a"),
        "b": _build(comparison, "b"),
        "choices": asdict(comparison.choices),
        "steady": comparison.steady,
        "assignments_differ": matching.differs,
        "greedy": _names(comparison, matching.greedy),
        "optimal": _names(comparison, matching.optimal),
        "matches": [_pair(pair) for pair in comparison.pairs],
        "largest_changes": [_change(change) for change in largest_changes(comparison)],
        "unshared_operations": comparison.unshared.to_dict("records"),
    }
    plain: dict[str, Any] = _plain(found)
    return plain


def json_text(plain: object) -> str:
    """The document as text."""
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _build(comparison: Comparison, side: str) -> dict[str, Any]:
    build: Build = getattr(comparison, side)
    alone: Sequence[Loop] = getattr(comparison, f"alone_{side}")
    return {
        **asdict(getattr(comparison, f"info_{side}")),
        "patterns": len(build.loops),
        "without_partner": [loop.name for loop in alone],
    }


def _names(comparison: Comparison, matches: Sequence[Match]) -> list[str]:
    return [
        f"{comparison.a.loops[match.a].name}:{comparison.b.loops[match.b].name}"
        for match in matches
    ]


def _pair(pair: PairComparison) -> dict[str, Any]:
    return {
        "pattern_a": pair.a.name,
        "pattern_b": pair.b.name,
        "basis": pair.match.basis,
        "scores": {key: asdict(score) for key, score in pair.match.pair.by.items()},
        "median_a": pair.medians[0],
        "median_b": pair.medians[1],
        "timing": asdict(pair.timing),
        "waterfall": asdict(pair.waterfall),
        "edits": dict(Counter(edit.kind for edit in pair.script.edits)),
        "significant_operations": int((pair.operations["significant"] == True).sum()),  # noqa: E712
        "slowest_rank": {
            build: dict(zip(("rank", "spread"), found, strict=True)) if found else None
            for build, found in ((b, rank_spread(pair, b)) for b in "AB")
        },
    }


def _change(change: Change) -> dict[str, Any]:
    return {**asdict(change), "total": change.total}


def _plain(value: Any) -> Any:
    """Only what JSON knows: no NaN, no tuples, no numpy scalars."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
