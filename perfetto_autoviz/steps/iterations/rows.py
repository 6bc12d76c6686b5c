"""The rows that iterations are stored as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import ITERATION, ITERATION_SEGMENT
from perfetto_autoviz.relations.iterations import REAL_KINDS
from perfetto_autoviz.steps.intervals import span_by_group, union_by_group
from perfetto_autoviz.steps.iterations.found import Level
from perfetto_autoviz.steps.iterations.membership import Activities, segments
from perfetto_autoviz.steps.iterations.spans import Span
from perfetto_autoviz.steps.keys import DurableKeys, with_nulls


def iteration_frames(
    activities: Activities, keys: DurableKeys, found: list[Level], distorted: list[str | None]
) -> dict[str, pd.DataFrame]:
    """Frames of the relations ``iteration`` and ``iteration_segment``.

    Args:
        activities: the device activities.
        keys: their durable keys.
        found: levels of iterations, the outermost first.
        distorted: of each outermost iteration, how recording changed it.
    """
    rows = [
        (span.ts, level, index)
        for level, items in enumerate(found)
        for index, span in enumerate(items.spans)
    ]
    ids = {(level, index): i for i, (_, level, index) in enumerate(sorted(rows))}
    span_ids = {id(found[level].spans[index]): i for (level, index), i in ids.items()}
    parts = [
        (
            {
                **_rows(activities, items, level, ids, span_ids),
                "distorted": [None] * len(items.spans) if level else distorted,
            },
            _segments(keys, items, level, ids),
        )
        for level, items in enumerate(found)
    ]
    iterations = _joined([iteration for iteration, _ in parts])
    order = np.argsort(np.array(iterations.get("id", []), np.int64), kind="stable")
    iterations = {name: [values[i] for i in order] for name, values in iterations.items()}
    return {
        ITERATION.name: relation_frame(ITERATION, iterations),
        ITERATION_SEGMENT.name: with_nulls(
            relation_frame(ITERATION_SEGMENT, _joined([stretch for _, stretch in parts]))
        ),
    }


def _rows(
    activities: Activities,
    items: Level,
    level: int,
    ids: dict[tuple[int, int], int],
    span_ids: dict[int, int],
) -> dict[str, list[Any]]:
    count = len(items.spans)
    own = np.flatnonzero(items.owner >= 0)
    group, ts, dur = items.owner[own], activities.ts[own], activities.dur[own]
    first, last, number_of = span_by_group(group, ts, dur, count)
    busy = union_by_group(group, ts, dur, count)
    numbers = _numbers(items.spans)
    some = number_of > 0
    return {
        "ts": [int(first[i]) if some[i] else None for i in range(count)],
        "dur": [int(last[i] - first[i]) if some[i] else None for i in range(count)],
        "id": [ids[level, i] for i in range(count)],
        "level": [level] * count,
        "parent_id": [span_ids[id(p)] if p is not None else None for p in items.parents],
        "number": numbers,
        "kind": [span.kind for span in items.spans],
        "name": [span.text or None for span in items.spans],
        "dialect": [span.dialect for span in items.spans],
        "evidence": items.evidence,
        "confidence": items.confidence,
        "host_ts": [s.ts if h else None for s, h in zip(items.spans, items.on_host, strict=True)],
        "host_dur": [
            s.end - s.ts if h else None for s, h in zip(items.spans, items.on_host, strict=True)
        ],
        "activity_count": number_of.tolist(),
        "kernel_count": np.bincount(group[activities.is_kernel[own]], minlength=count).tolist(),
        "busy_dur": busy.tolist(),
    }


def _segments(
    keys: DurableKeys, items: Level, level: int, ids: dict[tuple[int, int], int]
) -> dict[str, list[Any]]:
    as_ids = np.array([ids[level, i] for i in range(len(items.spans))] + [-1])
    found = segments(keys, as_ids[items.owner])
    return {name: values.tolist() for name, values in found.items()}


def _numbers(spans: list[Span]) -> list[int | None]:
    real = [span.kind in REAL_KINDS for span in spans]
    counted = np.cumsum(real) - 1
    return [int(counted[i]) if is_real else None for i, is_real in enumerate(real)]


def _joined(parts: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    return {name: [v for part in parts for v in part[name]] for name in (parts[0] if parts else ())}
