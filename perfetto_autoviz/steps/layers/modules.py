"""Which nn.Module each layer is, where Python stacks were recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints, containing


@dataclass(frozen=True)
class ModuleClass:
    """All calls of the modules of one class on one thread, sorted by start.

    Attributes:
        name: of the class.
        thread: utid.
        starts: shape (m,), starts in ns.
        ends: shape (m,), ends in ns.
        objects: shape (m,), names of the called objects.
    """

    name: str
    thread: int
    starts: Ints
    ends: Ints
    objects: tuple[str, ...]


def module_classes(calls: pd.DataFrame) -> list[ModuleClass]:
    """Calls by class and thread, those whose calls last longest first.

    Args:
        calls: columns ts, dur (ns), name (``DecoderLayer_12``) and utid.
    """
    classes = calls["name"].str.replace(r"_\d+$", "", regex=True)
    found = []
    for (name, thread), group in calls.groupby([classes, "utid"], sort=True):
        ordered = group.sort_values("ts")
        starts = ordered["ts"].to_numpy(np.int64)
        ends = starts + ordered["dur"].to_numpy(np.int64)
        found.append(ModuleClass(str(name), int(thread), starts, ends, tuple(ordered["name"])))
    return sorted(found, key=lambda each: -float(np.median(each.ends - each.starts)))


def layer_modules(
    classes: list[ModuleClass], launch_ts: Ints, launch_thread: Ints
) -> list[str | None]:
    """The module that each layer's anchor was launched in.

    A class fits if each of its calls holds at most one anchor, and at least two anchors
    are in it; the class whose calls last longest is the layer, not a part of it. Models
    with layers of several classes need several.

    Args:
        classes: from `module_classes`.
        launch_ts: shape (n,), starts in ns of the anchors' launches, -1 for none.
        launch_thread: shape (n,), utid of the launching threads.
    """
    names: list[str | None] = [None] * len(launch_ts)
    for each in classes:
        open_ = [i for i, name in enumerate(names) if name is None]
        index = np.where(
            launch_thread == each.thread, containing(each.starts, each.ends, launch_ts), -1
        )
        held = index[index >= 0]
        fits = len(held) > 1 and len(np.unique(held)) == len(held)
        if fits and all(names[i] is None for i in np.flatnonzero(index >= 0)):
            for i in open_:
                if index[i] >= 0:
                    names[i] = each.objects[index[i]]
    return names
