"""What was found as stored relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import (
    ANOMALY_GROUP,
    KERNEL_ANOMALY,
    RUN_ANOMALY,
    STRAGGLER,
    Relation,
)
from perfetto_autoviz.steps.anomalies.culprits import Culprit
from perfetto_autoviz.steps.anomalies.findings import Anomaly, Findings, Judged
from perfetto_autoviz.steps.anomalies.kernels import ACTIVITY
from perfetto_autoviz.steps.anomalies.limits import CONFIDENCE, LEAST_RUNS, SIGMAS
from perfetto_autoviz.steps.anomalies.model import Model
from perfetto_autoviz.steps.anomalies.stragglers import Lateness
from perfetto_autoviz.steps.anomalies.words import microseconds, of_culprit, of_run
from perfetto_autoviz.steps.keys import DurableKeys
from perfetto_autoviz.steps.step import Frames


@dataclass(frozen=True)
class _Numbered:
    """An anomaly with its number and its place over all ranks."""

    number: int
    place: int
    rank: int
    anomaly: Anomaly


def anomaly_frames(
    found: Findings, late: Mapping[int, Lateness], ranks: Mapping[int, Frames]
) -> dict[int, dict[str, pd.DataFrame]]:
    """The frames of all relations by rank.

    Args:
        found: what was found.
        late: by pattern how late the ranks are.
        ranks: the frames of ``_autoviz_activity`` by rank.
    """
    excess = np.array([abs(anomaly.excess) for anomaly in found.anomalies], np.int64)
    place = np.empty(len(excess), np.int64)
    place[np.argsort(-excess, kind="stable")] = np.arange(1, len(excess) + 1)
    numbered = [
        _Numbered(number, int(at), int(found.runs.table.rank[anomaly.run]), anomaly)
        for number, (at, anomaly) in enumerate(zip(place, found.anomalies, strict=True))
    ]
    groups, stragglers = _group_rows(found), _straggler_rows(late)
    kernels = _kernel_rows(found, numbered, ranks)
    return {
        rank: {
            ANOMALY_GROUP.name: _frame(ANOMALY_GROUP, [r for r, at in groups if at == rank]),
            RUN_ANOMALY.name: _frame(
                RUN_ANOMALY, [_run_row(found, one) for one in numbered if one.rank == rank]
            ),
            KERNEL_ANOMALY.name: _frame(KERNEL_ANOMALY, [r for r, at in kernels if at == rank]),
            STRAGGLER.name: _frame(STRAGGLER, stragglers),
        }
        for rank in ranks
    }


def _frame(relation: Relation, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    columns = {name: [row.get(name) for row in rows] for name in relation.types}
    return relation_frame(relation, columns if rows else {})


def _run_row(found: Findings, one: _Numbered) -> dict[str, Any]:
    anomaly, table = one.anomaly, found.runs.table
    pattern, group = int(table.pattern[anomaly.run]), int(found.groups.of[anomaly.run])
    dur = int(table.dur[anomaly.run])
    return {
        "ts": int(table.ts[anomaly.run]),
        "dur": dur,
        "id": one.number,
        "run_id": anomaly.run,
        "pattern_id": pattern,
        "level": found.runs.levels[pattern],
        "group_id": group,
        "test": anomaly.tests[0],
        "tests": ",".join(anomaly.tests),
        "side": "slow" if anomaly.excess >= 0 else "fast",
        "score": anomaly.score,
        "threshold": anomaly.threshold,
        "channel": anomaly.channel,
        "excess": anomaly.excess,
        "ranking": one.place,
        "explanation": of_run(
            _what(anomaly),
            dur,
            dur - anomaly.excess,
            found.groups.label(group),
            _odd(found, anomaly.run),
            anomaly.culprits,
        ),
    }


def _what(anomaly: Anomaly) -> str:
    """What the test found, e.g. ``2.4 σ slow``."""
    test = anomaly.tests[0]
    if test == "duration":
        return f"{anomaly.score:.1f} σ {'slow' if anomaly.excess >= 0 else 'fast'}"
    if test == "drift":
        return f"all kernels {100 * anomaly.slower:+.1f} %"
    if test == "sequence":
        return "unusual order"
    return f"a kernel {anomaly.score:.1f} spreads from normal"


def _odd(found: Findings, run: int) -> str:
    """What deviates from the pattern, e.g. ``16 missing``; empty if nothing unusual does."""
    if not found.deviates[run]:
        return ""
    table = found.runs.table
    counts = {"missing": table.missing, "extra": table.extra, "swapped": table.swapped}
    return ", ".join(f"{count[run]} {kind}" for kind, count in counts.items() if count[run])


def _kernel_rows(
    found: Findings, numbered: Sequence[_Numbered], ranks: Mapping[int, Frames]
) -> list[tuple[dict[str, Any], int]]:
    keys = {rank: DurableKeys.of(ranks[rank][ACTIVITY]) for rank in {one.rank for one in numbered}}
    rows: list[tuple[dict[str, Any], int]] = []
    for one in numbered:
        for ranking, culprit in enumerate(one.anomaly.culprits, 1):
            row = {
                "id": len(rows),
                "run_anomaly_id": one.number,
                "run_id": one.anomaly.run,
                "ranking": ranking,
                "test": one.anomaly.tests[0],
                "threshold": None if culprit.score is None else one.anomaly.threshold,
                **_culprit_row(culprit),
                **_key(found, culprit.kernel, keys[one.rank]),
            }
            rows.append((row, one.rank))
    return rows


def _culprit_row(culprit: Culprit) -> dict[str, Any]:
    return {
        "position": culprit.position if culprit.position >= 0 else None,
        "op": culprit.op,
        "kind": culprit.kind,
        "channel": culprit.channel,
        "score": culprit.score,
        "excess": culprit.excess,
        "share": culprit.share,
        "normal": culprit.normal,
        "spread": culprit.spread,
        "explanation": of_culprit(culprit),
    }


def _key(found: Findings, kernel: int, keys: DurableKeys) -> dict[str, int | None]:
    """Time and durable key of an activity; nothing of a missing one."""
    if kernel < 0:
        return {}
    seq = int(found.runs.kernels.seq[kernel])
    names = ("ts", "dur", "pid", "tid", "correlation")
    values = [int(column[seq]) for column in keys.columns]
    key: dict[str, int | None] = {
        name: None if value == -1 and name not in ("ts", "dur") else value
        for name, value in zip(names, values, strict=True)
    }
    return {**key, "tie": int(keys.tie[seq])}


def _group_rows(found: Findings) -> list[tuple[dict[str, Any], int]]:
    """One row per group for its durations, one more where the autoencoder ran."""
    flagged = np.bincount(found.groups.of, found.baseline.side != 0, len(found.groups))
    rows = [
        ({"test": "duration", **_by_duration(found, group, int(flagged[group]))}, group)
        for group in range(len(found.groups))
    ]
    for judged in found.judged.values():
        of = found.groups.of[judged.runs.matrix.run]
        rows += [
            ({"test": "autoencoder", **_by_autoencoder(judged, of == group)}, group)
            for group in np.unique(of).tolist()
        ]
    return [
        ({"id": number, **_group_row(found, group), **row}, int(found.groups.rank[group]))
        for number, (row, group) in enumerate(rows)
    ]


def _group_row(found: Findings, group: int) -> dict[str, Any]:
    groups = found.groups
    sized = groups.least[group] >= 0
    unit = "tokens" if groups.tokens[group] else "requests"
    return {
        "group_id": group,
        "pattern_id": int(groups.pattern[group]),
        "name": groups.label(group),
        "phase": groups.phase[group] or None,
        "size_unit": unit if sized else None,
        "least_size": int(groups.least[group]) if sized else None,
        "most_size": int(groups.most[group]) if sized else None,
        "layer_kind": groups.layer_kind[group] or None,
        "run_count": int(groups.count[group]),
    }


def _by_duration(found: Findings, group: int, flagged: int) -> dict[str, Any]:
    normal, count = found.baseline, int(found.groups.count[group])
    mean, std = float(normal.mean[group]), float(normal.std[group])
    if not normal.judged[group]:
        return {
            "judged_count": 0,
            "flagged_count": 0,
            "reason": f"{count} runs, {LEAST_RUNS} are needed",
        }
    return {
        "judged_count": count,
        "flagged_count": flagged,
        "mean_dur": mean,
        "std_dur": std,
        "threshold": f"below {microseconds(max(mean - SIGMAS * std, 0))} or above"
        f" {microseconds(mean + SIGMAS * std)} µs",
    }


def _by_autoencoder(judged: Judged, own: np.ndarray) -> dict[str, Any]:
    if judged.model is None or judged.verdict is None:
        return {"judged_count": 0, "flagged_count": 0, "reason": "too few runs to train on"}
    known = judged.verdict.judged & own
    cells = sorted({str(cell) for cell in judged.runs.cell[own]})
    reasons = [judged.verdict.reason[cell] for cell in cells if cell in judged.verdict.reason]
    if not reasons and known.sum() < own.sum():
        reasons = ["runs without enough others in their step, or in steps of the same size"]
    return {
        "judged_count": int(known.sum()),
        "flagged_count": int((judged.verdict.flagged & own).sum()),
        "reason": "; ".join(reasons) or None,
        "threshold": "; ".join(_threshold(judged.model, cell) for cell in cells) or None,
    }


def _threshold(model: Model, cell: str) -> str:
    threshold = model.cells[cell].threshold if cell in model.cells else None
    if threshold is None:
        return f"{cell}: none"
    beside = f" beside {threshold.abnormal} that stand out" if threshold.abnormal else ""
    return (
        f"{cell}: at most {100 * threshold.rate:.1f} % of normal runs"
        f" (with {100 * CONFIDENCE:.0f} % confidence, from {threshold.runs} held-out runs{beside})"
    )


def _straggler_rows(late: Mapping[int, Lateness]) -> list[dict[str, Any]]:
    rows = []
    for pattern, one in late.items():
        for at, run in zip(*np.nonzero(one.straggles), strict=True):
            rows.append(
                {
                    "pattern_id": pattern,
                    "number": int(one.number[run]),
                    "late_rank": int(one.ranks[at]),
                    "late": round(float(one.late[at, run])),
                    "usual": round(float(one.usual[at, run])),
                    "work": round(float(one.work[at, run])),
                    "wait": round(float(one.wait[at, run])),
                }
            )
    return sorted(rows, key=lambda row: (row["pattern_id"], row["number"]))
