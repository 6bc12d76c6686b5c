"""What is known of the step in which a run happens: phase, size, kind of layer, siblings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.relations import LAYER, PHASE
from perfetto_autoviz.steps.anomalies.kernels import ACTIVITY, ints
from perfetto_autoviz.steps.anomalies.keyed import (
    code_of,
    count_of,
    most_frequent,
    ordinal_of,
)
from perfetto_autoviz.steps.anomalies.limits import LEAST_KIND_SHARE, LEAST_PER_ORDINAL
from perfetto_autoviz.steps.anomalies.places import RunTable
from perfetto_autoviz.steps.intervals import Ints, containing
from perfetto_autoviz.steps.step import Frames, Read

MEMBERS = "autoviz_iteration_kernel"

CONTEXT_READS = (
    Read(MEMBERS, ("iteration_id", "device", "position", "seq")),
    Read(
        PHASE.source,
        ("iteration_id", "phase", "batch_size", "context_tokens", "graph_batch_size"),
    ),
    Read(LAYER.source, ("ts", "dur", "device", "kind")),
)
"""What `read_context` reads of each rank."""


@dataclass(frozen=True)
class RunContext:
    """The context of each run by its id; arrays have shape ``(runs,)``.

    Attributes:
        iteration: id of the iteration on the run's rank, -1 if in none.
        phase: its phase, "" if unknown.
        size: what decides how much work the step is: tokens that are prefilled, else the
            batch size of the replayed graph, else requests; -1 if unknown.
        tokens: whether that is tokens.
        layer_kind: kind of the layer that the run lies in, where runs of its pattern lie in
            several; else "".
        shape: what usually deviates from the pattern at its place in a step, as a code; 0 for
            nothing.
    """

    iteration: Ints
    phase: NDArray[np.object_]
    size: Ints
    tokens: NDArray[np.bool_]
    layer_kind: NDArray[np.object_]
    shape: Ints


def read_context(ranks: Mapping[int, Frames], runs: RunTable) -> RunContext:
    """The context of all runs.

    Args:
        ranks: by rank the frames named in `CONTEXT_READS`, by their SQL names.
        runs: all runs.
    """
    count = len(runs.ts)
    context = RunContext(
        np.full(count, -1, np.int64),
        np.full(count, "", object),
        np.full(count, -1, np.int64),
        np.zeros(count, bool),
        np.full(count, "", object),
        np.zeros(count, np.int64),
    )
    for rank, frames in ranks.items():
        own = np.flatnonzero(runs.rank == rank)
        if not len(own):
            continue
        context.iteration[own] = _iterations(frames, runs, own)
        context.layer_kind[own] = _layer_kinds(frames[LAYER.source], runs, own)
        _add_phases(context, frames[PHASE.source], own)
    place = ordinal_of(code_of(runs.pattern, runs.parent), runs.ts)
    place = np.where(runs.parent >= 0, place, -1)
    context.layer_kind[:] = _separating(context.layer_kind, runs, place)
    context.shape[:] = _shapes(runs, context.phase, place)
    return context


def _iterations(frames: Frames, runs: RunTable, own: Ints) -> Ints:
    """Iteration of the activity with which each run starts."""
    activities, members = frames[ACTIVITY], frames[MEMBERS]
    iteration = np.full(len(activities) + 1, -1, np.int64)
    # Of nested iterations the one that has a phase says more.
    phased = members["iteration_id"].isin(frames[PHASE.source]["iteration_id"])
    for chosen in (members[~phased], members[phased]):
        iteration[chosen["seq"].to_numpy(np.int64)] = chosen["iteration_id"].to_numpy(np.int64)
    found = np.full(len(own), -1, np.int64)
    device = activities["device"].fillna(-1).to_numpy(np.int64)
    for number in np.unique(runs.device[own]).tolist():
        seq = np.flatnonzero(device == number)
        mine = np.flatnonzero(runs.device[own] == number)
        at = np.searchsorted(activities["ts"].to_numpy(np.int64)[seq], runs.ts[own[mine]])
        found[mine] = iteration[np.append(seq, -1)[at]]
    return found


def _layer_kinds(layers: pd.DataFrame, runs: RunTable, own: Ints) -> NDArray[np.object_]:
    """Kind of the layer in which each run lies as a whole."""
    kinds = np.full(len(own), "", object)
    layers = layers[layers["ts"].notna()].sort_values("ts", kind="stable")
    for device, there in layers.groupby("device"):
        start = there["ts"].to_numpy(np.int64)
        end = start + there["dur"].to_numpy(np.int64)
        mine = np.flatnonzero(runs.device[own] == int(str(device)))
        ts, stop = runs.ts[own[mine]], runs.ts[own[mine]] + runs.dur[own[mine]]
        layer = containing(start, end, ts)
        whole = (layer >= 0) & (stop <= end[layer])
        kinds[mine[whole]] = there["kind"].to_numpy(object)[layer[whole]]
    return kinds


def _separating(kinds: NDArray[np.object_], runs: RunTable, place: Ints) -> NDArray[np.object_]:
    """Kinds of layers that separate runs of a pattern.

    A damaged layer is a kind of its own, and may move the bounds of all layers of its step.
    Its run must still be compared with all others: so what counts is the kind that is usual
    at its place among the runs of the run around it, and rare kinds count as the usual one.
    """
    names, code = np.unique(kinds.astype(str), return_inverse=True)
    pattern = code_of(runs.pattern)
    usual = most_frequent(code.ravel().astype(np.int64), code_of(runs.pattern, place))
    overall = most_frequent(usual, pattern)
    share = count_of(code_of(runs.pattern, usual)) / np.maximum(count_of(pattern), 1)
    usual = np.where(share < LEAST_KIND_SHARE, overall, usual)
    several = np.zeros(int(pattern.max(initial=-1)) + 1, bool)
    several[pattern[usual != most_frequent(usual, pattern)]] = True
    separating: NDArray[np.object_] = np.where(several[pattern], names[usual], "")
    return separating.astype(object)


def _shapes(runs: RunTable, phase: NDArray[np.object_], place: Ints) -> Ints:
    """What usually deviates from the pattern at each run's place in a step, as a code.

    The last layer of every step may have no successor to prepare: that is no anomaly, but its
    runs are not comparable with those of other layers. Where steps of a phase are few, those of
    all phases tell. 0 stands for no deviation.
    """
    deviates = (runs.missing > 0) | (runs.extra > 0) | (runs.swapped > 0)
    shape = np.where(deviates, code_of(runs.missing, runs.extra, runs.swapped) + 1, 0)
    phases = np.unique(phase.astype(str), return_inverse=True)[1].ravel().astype(np.int64)
    in_phase, anywhere = code_of(runs.pattern, phases, place), code_of(runs.pattern, place)
    usual = np.where(
        count_of(in_phase) >= LEAST_PER_ORDINAL,
        most_frequent(shape, in_phase),
        most_frequent(shape, anywhere),
    )
    return np.where(count_of(anywhere) >= LEAST_PER_ORDINAL, usual, 0)


def _add_phases(context: RunContext, phases: pd.DataFrame, own: Ints) -> None:
    if not len(phases):
        return
    number = phases["iteration_id"].to_numpy(np.int64)
    row_of = np.full(int(number.max()) + 2, -1, np.int64)
    row_of[number] = np.arange(len(phases))
    row = row_of[np.minimum(context.iteration[own], len(row_of) - 1)]
    known = row >= 0
    own, row = own[known], row[known]
    tokens = ints(phases["context_tokens"])
    requests = np.where(
        phases["graph_batch_size"].notna(),
        ints(phases["graph_batch_size"]),
        ints(phases["batch_size"]),
    )
    context.phase[own] = phases["phase"].to_numpy(object)[row]
    context.tokens[own] = (tokens > 0)[row]
    context.size[own] = np.where(tokens > 0, tokens, requests)[row]
