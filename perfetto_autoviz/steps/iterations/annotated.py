"""Iterations from annotations of known frameworks and profilers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.found import Level
from perfetto_autoviz.steps.iterations.membership import (
    Activities,
    adopt_unlaunched,
    by_launch,
    by_start,
)
from perfetto_autoviz.steps.iterations.spans import Span, iteration_spans, levels

BY_LAUNCH = "annotation, activities by launch"
BY_DEVICE_ANNOTATION = "annotation, activities by device annotation"
DEVICE_ANNOTATION = "device annotation"
NO_ACTIVITY = "annotation, no activity"

# A launch names its step; a device annotation is drawn by the profiler from the first
# and the last activity it could link, so what starts in it may be somebody else's.
_CONFIDENCE = {BY_LAUNCH: 1.0, NO_ACTIVITY: 1.0, BY_DEVICE_ANNOTATION: 0.8, DEVICE_ANNOTATION: 0.8}


def annotated_levels(annotations: pd.DataFrame, activities: Activities) -> list[Level]:
    """Iterations that known annotations mark.

    A span on the host owns what was launched in it, wherever on the device that ran: the
    device span of a step lies elsewhere than its host span. Where annotations exist on
    the device only, a span owns what starts in it.

    Args:
        annotations: columns ts, dur (ns), name, on_device, pid, utid.
        activities: the device activities.
    """
    on_device = annotations["on_device"].to_numpy() == 1
    host = iteration_spans(annotations[~on_device])
    device = iteration_spans(annotations[on_device], on_device=True)
    return _host_levels(activities, host, device) if host else _device_levels(activities, device)


def _host_levels(activities: Activities, host: list[Span], device: list[Span]) -> list[Level]:
    found = []
    for spans, parents in _by_level(host):
        owner = adopt_unlaunched(activities, by_launch(activities, spans), len(spans))
        owned = np.bincount(owner[owner >= 0], minlength=len(spans)) > 0
        evidence = [BY_LAUNCH if has else NO_ACTIVITY for has in owned]
        _fill_from_device(activities, spans, device, owner, evidence)
        found.append(_level(spans, parents, evidence, owner))
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


def _device_levels(activities: Activities, device: list[Span]) -> list[Level]:
    return [
        _level(spans, parents, [DEVICE_ANNOTATION] * len(spans), by_start(activities, spans))
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


def _level(
    spans: list[Span], parents: list[Span | None], evidence: list[str], owner: Ints
) -> Level:
    confidence = [_CONFIDENCE[what] for what in evidence]
    return Level(
        spans,
        parents,
        evidence,
        confidence,
        owner,
        [what != DEVICE_ANNOTATION for what in evidence],
    )
