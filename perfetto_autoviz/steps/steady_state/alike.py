"""Windows of two captures in which both do the same work, so that they can be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.options import DEFAULT_NUM_STEPS
from perfetto_autoviz.steps.intervals import Ints, runs
from perfetto_autoviz.steps.steady_state.region import Flags, Floats
from perfetto_autoviz.steps.steady_state.series import Series, series
from perfetto_autoviz.steps.steady_state.windows import Mode

PREFERENCE: tuple[Mode, ...] = ("decode", "mixed", "prefill", "any")
"""Modes as they are tried: decode iterations of as many requests do the same work; what a
prefill iteration does depends on its prompts."""

MAX_CANDIDATES = 512
"""Windows of a capture that are looked at; of more, evenly spread ones."""


@dataclass(frozen=True)
class AlikeWindows:
    """A window of each of two captures.

    Attributes:
        mode: what the iterations of both do.
        first: ids of the iterations of the first capture, in order.
        second: ids of the iterations of the second capture, as many.
        difference: how much more work the one has than the other, 0.1 for a tenth: the
            larger of the differences in prefilled and in generated tokens. None where a
            capture tells neither.
        why: the same for people.
    """

    mode: Mode
    first: tuple[int, ...]
    second: tuple[int, ...]
    difference: float | None
    why: str


def alike_windows(
    first: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    second: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    *,
    mode: Mode | None = None,
    num_steps: int = DEFAULT_NUM_STEPS,
) -> AlikeWindows | None:
    """Windows of equal length, with the same phases and the nearest token counts.

    They are as long as both captures allow, and lie in their steady regions; in a capture
    that has none, which may be a single step, anywhere.

    Args:
        first: frames of the relations ``iteration``, ``phase`` and ``steady_window``.
        second: the same of the other capture.
        mode: what the iterations shall do: ``decode`` (nothing else), ``prefill`` (all of
            them prefill), ``mixed`` (about as many prefill in both, at least one), ``any``;
            None for the first of decode, mixed and prefill that both have, else ``any``.
        num_steps: most iterations of a window.

    Returns:
        The windows; None where the captures have no iterations that do the same.
    """
    one, other = _Side.of(*first), _Side.of(*second)
    for each in PREFERENCE if mode is None else (mode,):
        length = min(num_steps, one.longest(each), other.longest(each))
        if length:
            return _nearest(one.candidates(each, length), other.candidates(each, length), each)
    return None


@dataclass(frozen=True)
class _Candidates:
    """Windows of one length of a capture; all arrays have shape (windows,).

    Attributes:
        ids: ids of the capture's iterations.
        length: iterations of each window.
        starts: first iteration of each.
        prefills: iterations that prefill.
        context: tokens that are prefilled; NaN where unknown.
        generation: tokens that decode; NaN where unknown.
    """

    ids: Ints
    length: int
    starts: Ints
    prefills: Floats
    context: Floats
    generation: Floats

    def of(self, number: int) -> tuple[int, ...]:
        """Ids of the iterations of a window."""
        start = int(self.starts[number])
        return tuple(self.ids[start : start + self.length].tolist())

    @property
    def off_centre(self) -> Ints:
        """How far each window lies from the middle of all of them."""
        return np.abs(2 * self.starts - int(self.starts[0] + self.starts[-1]))


@dataclass(frozen=True)
class _Side:
    """The iterations of a capture, and which of them are steady."""

    steps: Series
    steady: Flags

    @classmethod
    def of(cls, iterations: pd.DataFrame, phases: pd.DataFrame, windows: pd.DataFrame) -> _Side:
        steps = series(iterations, phases)
        if windows.empty:
            return cls(steps, np.ones(len(steps), bool))
        first = int(windows["region_first_number"].min())
        last = int(windows["region_last_number"].max())
        return cls(steps, (steps.numbers >= first) & (steps.numbers <= last))

    def longest(self, mode: Mode) -> int:
        """Iterations of the longest window of a mode; 0 without any."""
        eligible = self._eligible(mode)
        starts, lengths = runs(eligible)
        fit = [
            int(length)
            for start, length in zip(starts, lengths, strict=True)
            if eligible[start]
            and (mode != "mixed" or self.steps.prefill_bearing[start : start + length].any())
        ]
        return max(fit, default=0)

    def candidates(self, mode: Mode, length: int) -> _Candidates:
        """Windows of a mode, at most as many as are looked at."""
        totals = _totals(length)
        prefills = totals(self.steps.prefill_bearing.astype(float))
        fits = totals(self._eligible(mode).astype(float)) == length
        if mode == "mixed":
            fits &= prefills > 0
        starts = np.flatnonzero(fits)
        if len(starts) > MAX_CANDIDATES:
            starts = starts[np.linspace(0, len(starts) - 1, MAX_CANDIDATES).astype(np.int64)]
        context, generation = self._tokens()
        return _Candidates(
            self.steps.ids,
            length,
            starts,
            prefills[starts],
            totals(context)[starts],
            totals(generation)[starts],
        )

    def _eligible(self, mode: Mode) -> Flags:
        """Iterations that a window of a mode may hold."""
        prefill, decode = self.steps.prefill_bearing, self.steps.generating
        if mode == "any":
            return self.steady
        return self.steady & {"decode": decode, "prefill": prefill, "mixed": prefill | decode}[mode]

    def _tokens(self) -> tuple[Floats, Floats]:
        """Prefilled and generated tokens of each iteration; NaN where unknown."""
        steps = self.steps
        context = np.where(steps.generating, 0.0, steps.context_tokens)
        generation = np.where(
            steps.generating & np.isnan(steps.generation_tokens),
            steps.batch_size,
            steps.generation_tokens,
        )
        return context, generation


def _totals(length: int) -> Callable[[Floats], Floats]:
    return lambda values: np.lib.stride_tricks.sliding_window_view(values, length).sum(axis=1)


def _nearest(one: _Candidates, other: _Candidates, mode: Mode) -> AlikeWindows:
    """The pair with the nearest counts; of equally near ones the most central."""
    prefills = np.abs(one.prefills[:, None] - other.prefills[None, :])
    context = _ratio(one.context, other.context)
    generation = _ratio(one.generation, other.generation)
    work = np.fmax(context, generation)
    off_centre = one.off_centre[:, None] + other.off_centre[None, :]
    order = np.lexsort((off_centre.ravel(), np.nan_to_num(work).ravel(), prefills.ravel()))
    i, j = (int(at) for at in np.unravel_index(order[0], work.shape))
    difference = None if np.isnan(work[i, j]) else float(np.expm1(work[i, j]))
    counts = [
        f"{_count(one_count[i])} against {_count(other_count[j])} {what}"
        for what, one_count, other_count in (
            ("prefilled tokens", one.context, other.context),
            ("generated tokens", one.generation, other.generation),
        )
    ]
    why = f"{one.length} {mode} steps each: {', '.join(counts)}"
    return AlikeWindows(mode, one.of(i), other.of(j), difference, why)


def _ratio(one: Floats, other: Floats) -> Floats:
    """Log of how much greater one is than the other, for all pairs; NaN where unknown."""
    return np.asarray(np.abs(np.log1p(one)[:, None] - np.log1p(other)[None, :]))


def _count(value: float) -> str:
    return "an unknown number of" if np.isnan(value) else f"{value:,.0f}"
