"""The step that finds iterations from annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.frames import relation_frame
from perfetto_autoviz.relations import ITERATION, ITERATION_SEGMENT
from perfetto_autoviz.steps.intervals import Ints, span_by_group, union_by_group
from perfetto_autoviz.steps.iterations.membership import (
    Activities,
    adopt_unlaunched,
    by_launch,
    by_start,
    segments,
)
from perfetto_autoviz.steps.iterations.spans import Span, iteration_spans, levels
from perfetto_autoviz.steps.keys import KEY_COLUMNS, DurableKeys, with_nulls
from perfetto_autoviz.steps.step import Frames, Options, Read, Step

BY_LAUNCH = "annotation, activities by launch"
BY_DEVICE_ANNOTATION = "annotation, activities by device annotation"
DEVICE_ANNOTATION = "device annotation"
NO_ACTIVITY = "annotation, no activity"

# A launch names its step; a device annotation is drawn by the profiler from the first
# and the last activity it could link, so what starts in it may be somebody else's.
_CONFIDENCE = {BY_LAUNCH: 1.0, NO_ACTIVITY: 1.0, BY_DEVICE_ANNOTATION: 0.8, DEVICE_ANNOTATION: 0.8}


@dataclass
class _Level:
    """The iterations of one level: spans, parents, evidence, and each activity's owner."""

    spans: list[Span]
    parents: list[Span | None]
    evidence: list[str]
    owner: Ints


def find_iterations(frames: Frames, _options: Options) -> dict[str, pd.DataFrame]:
    """Iterations and the device activities of each, from known annotations.

    A span on the host owns what was launched in it, wherever on the device that ran: the
    device span of a step lies elsewhere than its host span. Where annotations exist on
    the device only, a span owns what starts in it.

    Returns:
        Frames of the relations ``iteration`` and ``iteration_segment``; no rows where the
        capture carries no known annotations.
    """
    annotations = frames["_autoviz_annotation"]
    activities = Activities.of(frames["_autoviz_activity"])
    on_device = annotations["on_device"].to_numpy() == 1
    host = iteration_spans(annotations[~on_device])
    device = iteration_spans(annotations[on_device], on_device=True)
    found = _levels(activities, host, device) if host else _device_levels(activities, device)
    return _relations(activities, DurableKeys.of(frames["_autoviz_activity"]), found)


def _levels(activities: Activities, host: list[Span], device: list[Span]) -> list[_Level]:
    found = []
    for spans, parents in _by_level(host):
        owner = adopt_unlaunched(activities, by_launch(activities, spans), len(spans))
        owned = np.bincount(owner[owner >= 0], minlength=len(spans)) > 0
        evidence = [BY_LAUNCH if has else NO_ACTIVITY for has in owned]
        _fill_from_device(activities, spans, device, owner, evidence)
        found.append(_Level(spans, parents, evidence, owner))
    return found


def _fill_from_device(
    activities: Activities, spans: list[Span], device: list[Span], owner: Ints, evidence: list[str]
) -> None:
    """Lets spans without launched activities own what starts in their device twin."""
    for text in {spans[i].text for i, what in enumerate(evidence) if what == NO_ACTIVITY}:
        mine = [i for i, span in enumerate(spans) if span.text == text]
        twins = [span for span in device if span.text == text]
        if len(mine) != len(twins):
            continue
        starts = by_start(activities, twins)
        for index, i in enumerate(mine):
            members = (starts == index) & (owner < 0)
            if evidence[i] == NO_ACTIVITY and members.any():
                owner[members] = i
                evidence[i] = BY_DEVICE_ANNOTATION


def _device_levels(activities: Activities, device: list[Span]) -> list[_Level]:
    return [
        _Level(spans, parents, [DEVICE_ANNOTATION] * len(spans), by_start(activities, spans))
        for spans, parents in _by_level(device)
    ]


def _by_level(roots: list[Span]) -> list[tuple[list[Span], list[Span | None]]]:
    found: list[tuple[list[Span], list[Span | None]]] = []
    for level, span, parent in levels(roots):
        if level == len(found):
            found.append(([], []))
        found[level][0].append(span)
        found[level][1].append(parent)
    return found


def _relations(
    activities: Activities, keys: DurableKeys, found: list[_Level]
) -> dict[str, pd.DataFrame]:
    rows = [
        (span.ts, level, index)
        for level, items in enumerate(found)
        for index, span in enumerate(items.spans)
    ]
    ids = {(level, index): i for i, (_, level, index) in enumerate(sorted(rows))}
    span_ids = {id(found[level].spans[index]): i for (level, index), i in ids.items()}
    parts = [
        (
            _rows(activities, items, level, ids, span_ids),
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
    items: _Level,
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
    on_host = [what != DEVICE_ANNOTATION for what in items.evidence]
    some = number_of > 0
    return {
        "ts": [int(first[i]) if some[i] else None for i in range(count)],
        "dur": [int(last[i] - first[i]) if some[i] else None for i in range(count)],
        "id": [ids[level, i] for i in range(count)],
        "level": [level] * count,
        "parent_id": [span_ids[id(p)] if p is not None else None for p in items.parents],
        "number": numbers,
        "kind": [span.kind for span in items.spans],
        "name": [span.text for span in items.spans],
        "dialect": [span.dialect for span in items.spans],
        "evidence": items.evidence,
        "confidence": [_CONFIDENCE[what] for what in items.evidence],
        "host_ts": [s.ts if h else None for s, h in zip(items.spans, on_host, strict=True)],
        "host_dur": [
            s.end - s.ts if h else None for s, h in zip(items.spans, on_host, strict=True)
        ],
        "activity_count": number_of.tolist(),
        "kernel_count": np.bincount(group[activities.is_kernel[own]], minlength=count).tolist(),
        "busy_dur": busy.tolist(),
    }


def _segments(
    keys: DurableKeys, items: _Level, level: int, ids: dict[tuple[int, int], int]
) -> dict[str, list[Any]]:
    as_ids = np.array([ids[level, i] for i in range(len(items.spans))] + [-1])
    found = segments(keys, as_ids[items.owner])
    return {name: values.tolist() for name, values in found.items()}


def _numbers(spans: list[Span]) -> list[int | None]:
    real = [span.kind not in ("dummy", "capture") for span in spans]
    counted = np.cumsum(real) - 1
    return [int(counted[i]) if is_real else None for i, is_real in enumerate(real)]


def _joined(parts: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    return {name: [v for part in parts for v in part[name]] for name in (parts[0] if parts else ())}


ITERATIONS_STEP = Step(
    name="iterations",
    reads=(
        Read("_autoviz_annotation", ("ts", "dur", "name", "on_device", "pid", "utid")),
        Read("_autoviz_activity", (*KEY_COLUMNS, "kind", "device", "launch_ts", "launch_utid")),
    ),
    makes=(ITERATION, ITERATION_SEGMENT),
    run=find_iterations,
)
