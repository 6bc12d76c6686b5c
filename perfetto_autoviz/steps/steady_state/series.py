"""The iterations of a capture as arrays, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.steady_state.limits import MIN_STEPS, MIN_TOLERANCE, SHORT_TOLERANCE
from perfetto_autoviz.steps.steady_state.region import Flags, Floats

PREFILL_BEARING = ("prefill", "mixed")
"""Phases in which prompts are computed."""

GENERATING = ("decode", "draft", "verify")
"""Phases in which nothing but generation is computed."""


@dataclass(frozen=True)
class Series:
    """The real iterations of one level in order; all arrays have shape (n,).

    Attributes:
        level: their level.
        ids: their ids.
        numbers: their numbers among the real ones.
        ts: starts in ns, meaningless without device activity.
        dur: durations on the device in ns; NaN without device activity.
        phases: their phases; None where unknown.
        phase_confidence: how sure each phase is.
        batch_size: requests; NaN where unknown.
        context_tokens: tokens that are prefilled; NaN where unknown.
        generation_tokens: tokens that decode; NaN where unknown.
        annotated: whether the phase comes from an annotation.
    """

    level: int
    ids: Ints
    numbers: Ints
    ts: Ints
    dur: Floats
    phases: tuple[str | None, ...]
    phase_confidence: Floats
    batch_size: Floats
    context_tokens: Floats
    generation_tokens: Floats
    annotated: Flags

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def prefill_bearing(self) -> Flags:
        """Which iterations prefill."""
        return self._in(PREFILL_BEARING)

    @property
    def generating(self) -> Flags:
        """Which iterations only decode, draft or verify."""
        return self._in(GENERATING)

    def _in(self, phases: Sequence[str]) -> Flags:
        return np.array([phase in phases for phase in self.phases], bool)

    @property
    def concurrency(self) -> Floats:
        """Requests in flight; NaN where an iteration does not tell.

        An iteration that only prefills tells nothing of the requests that wait for it, unless
        the capture does hardly anything else, or about as many take part as in decode
        iterations. A dummy batch has no requests.
        """
        tells = self.generating | self._in(("mixed",))
        worked = np.where(self._in(("dummy", "idle")), np.nan, self.batch_size)
        sizes = np.where(tells, worked, np.nan)
        most = np.fmax.reduce(sizes, initial=np.nan)
        all_take_part = worked >= most - max(MIN_TOLERANCE, SHORT_TOLERANCE * most)
        known = np.where(all_take_part, worked, sizes)
        return worked if (~np.isnan(known)).sum() < MIN_STEPS else known


def series(iterations: pd.DataFrame, phases: pd.DataFrame, *, least: int = MIN_STEPS) -> Series:
    """The iterations of the outermost level that has enough of them.

    Args:
        iterations: frame of the relation ``iteration``.
        phases: frame of the relation ``phase``.
        least: how many are enough; where no level has so many, all of level 0 are taken.
    """
    real = iterations[iterations["number"].notna()]
    counts = real["level"].value_counts()
    level = min((int(str(at)) for at, n in counts.items() if n >= least), default=0)
    mine = real[real["level"] == level].sort_values("number")
    known = phases.drop_duplicates("iteration_id").set_index("iteration_id")
    known = known.reindex(mine["id"])
    names = [None if pd.isna(name) else str(name) for name in known["phase"]]
    evidence = known["evidence"].fillna("").astype(str)
    return Series(
        level=level,
        ids=mine["id"].to_numpy(np.int64),
        numbers=mine["number"].to_numpy(np.int64),
        ts=mine["ts"].fillna(-1).to_numpy(np.int64),
        dur=_floats(mine["dur"]),
        phases=tuple(None if name == "unknown" else name for name in names),
        phase_confidence=np.nan_to_num(_floats(known["confidence"])),
        batch_size=_floats(known["batch_size"]),
        context_tokens=_floats(known["context_tokens"]),
        generation_tokens=_floats(known["generation_tokens"]),
        annotated=evidence.str.startswith("annotation").to_numpy(bool),
    )


def _floats(column: pd.Series[Any]) -> Floats:
    return np.asarray(column.astype("Float64").to_numpy(float, na_value=np.nan), np.float64)
