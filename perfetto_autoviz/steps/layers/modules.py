"""Which nn.Module each layer is, where Python stacks were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints, containing
from perfetto_autoviz.steps.layers.boundaries import Extent


@dataclass(frozen=True)
class ModuleCall:
    """One call of a module object: its name, its span in ns, and its thread."""

    name: str
    start: int
    end: int
    thread: int


@dataclass(frozen=True)
class ModuleClass:
    """All calls of the modules of one class on one thread, sorted by start.

    Attributes:
        thread: utid.
        starts: shape (m,), starts in ns.
        ends: shape (m,), ends in ns.
        objects: shape (m,), names of the called objects.
    """

    thread: int
    starts: Ints
    ends: Ints
    objects: tuple[str, ...]

    def call(self, index: int) -> ModuleCall:
        """One of the calls."""
        return ModuleCall(
            self.objects[index], int(self.starts[index]), int(self.ends[index]), self.thread
        )


def module_classes(calls: pd.DataFrame) -> list[ModuleClass]:
    """Calls by class and thread, those whose calls last longest first.

    Args:
        calls: columns ts, dur (ns), name (``DecoderLayer_12``) and utid.
    """
    classes = calls["name"].str.replace(r"_\d+$", "", regex=True)
    found = []
    for _, group in calls.groupby([classes, "utid"], sort=True):
        ordered = group.sort_values("ts")
        thread = ordered["utid"].iloc[0]
        starts = ordered["ts"].to_numpy(np.int64)
        ends = starts + ordered["dur"].to_numpy(np.int64)
        found.append(ModuleClass(int(thread), starts, ends, tuple(ordered["name"])))
    return sorted(found, key=lambda each: -float(np.median(each.ends - each.starts)))


def layer_calls(
    classes: list[ModuleClass], launch_ts: Ints, launch_thread: Ints
) -> list[ModuleCall | None]:
    """The module call that each layer's anchor was launched in.

    A class fits if each of its calls holds at most one anchor, and at least two anchors
    are in it; the class whose calls last longest is the layer, not a part of it. Models
    with layers of several classes need several.

    Args:
        classes: from `module_classes`.
        launch_ts: shape (n,), starts in ns of the anchors' launches, -1 for none.
        launch_thread: shape (n,), utid of the launching threads.
    """
    found: list[ModuleCall | None] = [None] * len(launch_ts)
    for each in classes:
        index = np.where(
            launch_thread == each.thread, containing(each.starts, each.ends, launch_ts), -1
        )
        inside = np.flatnonzero(index >= 0)
        distinct = len(np.unique(index[inside])) == len(inside)
        if len(inside) > 1 and distinct and all(found[i] is None for i in inside):
            for i in inside:
                found[i] = each.call(int(index[i]))
    return found


def module_extents(
    calls: Sequence[ModuleCall | None], anchors: Ints, launch_ts: Ints, launch_thread: Ints
) -> list[Extent] | None:
    """Extents of the layers by what their modules launched.

    Args:
        calls: one per layer.
        anchors: shape (n,), positions of the anchors.
        launch_ts: shape (k,), launches of the kernels of the sequence, in its order.
        launch_thread: shape (k,), their threads.

    Returns:
        One extent per layer; None if a layer has no module, or if what the modules launched
        isn't one stretch each, one after the other.
    """
    extents: list[Extent] = []
    for call, anchor in zip(calls, anchors, strict=True):
        if call is None:
            return None
        inside = np.flatnonzero(
            (launch_thread == call.thread) & (launch_ts >= call.start) & (launch_ts < call.end)
        )
        extent = Extent(int(inside[0]), int(inside[-1]) + 1, int(anchor))
        after = extents[-1].end if extents else 0
        if len(inside) != extent.end - extent.start or extent.start < after:
            return None
        extents.append(extent)
    return extents
