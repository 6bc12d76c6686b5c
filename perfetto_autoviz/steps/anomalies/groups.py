"""Runs that may be compared: those of one pattern on one rank in steps of one kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.anomalies.context import RunContext
from perfetto_autoviz.steps.anomalies.limits import LEAST_RUNS
from perfetto_autoviz.steps.anomalies.places import RunTable
from perfetto_autoviz.steps.intervals import Ints


@dataclass(frozen=True)
class Groups:
    """The groups of all runs.

    Attributes:
        of: group of each run by its id, shape ``(runs,)``.
        pattern: pattern of each group, shape ``(groups,)``, as all that follow.
        rank: its rank.
        phase: its phase, "" if unknown.
        layer_kind: kind of the layer its runs lie in, "" if in none.
        least: smallest size of its steps, -1 if unknown.
        most: largest size of its steps.
        tokens: whether a size is tokens that are prefilled, not requests.
        count: number of its runs.
        shape: which regular deviation from the pattern its runs have; 0 for none.
        kind: number shared by groups that differ in the rank alone.
    """

    of: Ints
    pattern: Ints
    rank: Ints
    phase: NDArray[np.object_]
    layer_kind: NDArray[np.object_]
    least: Ints
    most: Ints
    tokens: NDArray[np.bool_]
    count: Ints
    shape: Ints
    kind: Ints

    def __len__(self) -> int:
        return len(self.pattern)

    def label(self, group: int) -> str:
        """A group in words, e.g. ``decode bs 32``."""
        words = [self.phase[group] or "all steps"]
        low, high = int(self.least[group]), int(self.most[group])
        if low >= 0:
            size = f"{low}" if low == high else f"{low}-{high}"
            words.append(f"{size} tokens" if self.tokens[group] else f"bs {size}")
        if self.layer_kind[group]:
            words.append(self.layer_kind[group])
        if self.shape[group]:
            words.append(f"variant {self.shape[group]}")
        return " ".join(words)


def group_runs(runs: RunTable, context: RunContext) -> Groups:
    """Separates runs that differ for a known reason.

    These are pattern, rank, phase, size of the step, kind of layer, and regular deviations
    from the pattern. Steps without prefill
    have a group per batch size; token counts hardly ever repeat, so steps with prefill have
    one per power of two. Batch sizes with too few runs are put together by powers of two, too.
    """
    bucket = np.where(context.size > 0, np.log2(np.maximum(context.size, 1)).astype(np.int64), -1)
    exact = np.where(context.tokens, bucket, context.size)
    frame = pd.DataFrame(
        {
            "pattern": runs.pattern,
            "rank": runs.rank,
            "phase": context.phase,
            "layer": context.layer_kind,
            "tokens": context.tokens,
            "size": exact,
            "shape": context.shape,
        }
    )
    enough = frame.groupby([*frame], sort=False)["size"].transform("size") >= LEAST_RUNS
    frame["pooled"] = ~enough & ~context.tokens
    frame.loc[frame["pooled"], "size"] = bucket[frame["pooled"].to_numpy()]
    of = _codes(frame)
    kind = _codes(frame.drop(columns="rank"))
    first = np.unique(of, return_index=True)[1]
    count = np.bincount(of, minlength=len(first)).astype(np.int64)
    least = np.full(len(first), np.iinfo(np.int64).max)
    most = np.full(len(first), -1, np.int64)
    np.minimum.at(least, of, context.size)
    np.maximum.at(most, of, context.size)
    return Groups(
        of=of,
        pattern=runs.pattern[first],
        rank=runs.rank[first],
        phase=context.phase[first],
        layer_kind=context.layer_kind[first],
        least=least,
        most=most,
        tokens=context.tokens[first],
        count=count,
        shape=context.shape[first],
        kind=kind[first],
    )


def _codes(frame: pd.DataFrame) -> Ints:
    """A number per row, the same for equal rows, in the order of the columns."""
    return np.asarray(frame.groupby([*frame], sort=True).ngroup().to_numpy(), np.int64)
