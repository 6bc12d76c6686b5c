"""How many launches of a loop's kernels there should be, and how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod

import numpy as np
import pandas as pd

from perfetto_autoviz.reports.text import listed, plural

_DIFFERENCES_SHOWN = 3


@dataclass(frozen=True)
class Factor:
    """One factor of a product of repeats.

    Attributes:
        count: how many.
        what: of what: ``runs in each P1``, ``runs of P1``, ``ranks``.
    """

    count: int
    what: str


@dataclass(frozen=True)
class Launches:
    """Kernels per layer times layers times steps, beside what was launched.

    Attributes:
        kernels: positions of the loop at which a kernel runs; those of inner loops count there.
        terms: for each loop around it the repeats in that, up to the outermost loop's runs.
        runs: how often it ran.
        missing: kernels that its runs lack.
        extra: kernels in its runs that aren't in the loop.
        swapped: launches of another operation than usually runs at their position.
        positions: launches at each position; a repeat of an inner loop has none.
    """

    kernels: int
    terms: tuple[tuple[Factor, ...], ...]
    runs: int
    missing: int
    extra: int
    swapped: int
    positions: dict[int, int]

    @property
    def expected_runs(self) -> int:
        """How often it would run if all loops around it repeated it as they usually do."""
        return sum(prod(factor.count for factor in term) for term in self.terms)

    @property
    def expected(self) -> int:
        """Launches if it did, and nothing were missing."""
        return self.kernels * self.expected_runs

    @property
    def observed(self) -> int:
        """Launches that there were."""
        return self.kernels * self.runs - self.missing + self.extra

    def __str__(self) -> str:
        parts = [
            " × ".join(f"{factor.count:,} {factor.what}" for factor in term) for term in self.terms
        ]
        runs = parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"
        product = f"{plural(self.kernels, 'kernel')} × {runs} = {self.expected:,} launches"
        reasons = self._reasons()
        return product + (f", observed {self.observed:,}: {'; '.join(reasons)}" if reasons else "")

    def _reasons(self) -> list[str]:
        more = self.runs - self.expected_runs
        reasons = [f"{plural(abs(more), 'run')} {'more' if more > 0 else 'fewer'}"] if more else []
        if self.missing:
            reasons.append(f"{self.missing:,} missing ({self._incomplete()})")
        if self.extra:
            reasons.append(f"{self.extra:,} extra")
        if self.swapped:
            reasons.append(f"{self.swapped:,} of another operation")
        return reasons

    def _incomplete(self) -> str:
        """Where launches are missing; neighbours that lack as many stand together."""
        found = []
        lacking = ((at, self.runs - count) for at, count in sorted(self.positions.items()))
        for lack, group in groupby(lacking, key=lambda pair: pair[1]):
            places = [at for at, _ in group]
            if lack:
                where = f"position {places[0]}"
                if len(places) > 1:
                    where = f"each of positions {places[0]} to {places[-1]}"
                found.append(f"{lack:,} at {where}")
        return listed(found, _DIFFERENCES_SHOWN)


@dataclass(frozen=True)
class LaunchCounts:
    """Counts the launches of a run's loops.

    Attributes:
        patterns: ``autoviz_pattern``.
        positions: ``autoviz_pattern_position``.
        runs: ``pattern_run`` of all ranks, with a column ``rank``.
        kernels: number ``n`` of kernels of each ``pattern_id``, ``position`` and ``kind``.
    """

    patterns: pd.DataFrame
    positions: pd.DataFrame
    runs: pd.DataFrame
    kernels: pd.DataFrame

    def of(self, pattern: int) -> Launches:
        """The launches of one loop."""
        own = self.positions[self.positions["pattern_id"] == pattern]
        places = own.loc[own["inner_id"].isna(), "position"]
        mine = self.kernels[self.kernels["pattern_id"] == pattern]
        extra = mine["kind"] == "extra"
        counts = mine[~extra].groupby("position")["n"].sum()
        runs = int((self.runs["pattern_id"] == pattern).sum())
        return Launches(
            kernels=len(places),
            terms=tuple(self._terms(pattern)),
            runs=runs,
            missing=len(places) * runs - int(mine.loc[~extra, "n"].sum()),
            extra=int(mine.loc[extra, "n"].sum()),
            swapped=int(mine.loc[mine["kind"] == "swapped", "n"].sum()),
            positions={int(at): int(counts.get(at, 0)) for at in places},
        )

    def _terms(self, pattern: int) -> Iterator[tuple[Factor, ...]]:
        around = self.positions.loc[self.positions["inner_id"] == pattern, "pattern_id"].unique()
        repeats = {int(parent): self._repeats(pattern, int(parent)) for parent in around}
        if not any(repeats.values()):
            yield self._outermost(pattern)
        for parent, count in repeats.items():
            if count:
                factor = Factor(count, f"runs in each {self.names[parent]}")
                yield from ((factor, *term) for term in self._terms(parent))

    def _repeats(self, pattern: int, parent: int) -> int:
        """Runs of a loop in most runs of the loop around it; some may have none."""
        inner = self.runs.loc[self.runs["pattern_id"] == pattern, "parent_id"].value_counts()
        outer = self.runs.loc[self.runs["pattern_id"] == parent, "id"]
        counts, often = np.unique(outer.map(inner).fillna(0).to_numpy(np.int64), return_counts=True)
        return int(counts[often.argmax()]) if len(counts) else 0

    def _outermost(self, pattern: int) -> tuple[Factor, ...]:
        each = self.runs.loc[self.runs["pattern_id"] == pattern, "rank"].value_counts()
        what = f"runs of {self.names[pattern]}"
        if len(each) > 1 and each.nunique() == 1:
            return Factor(int(each.iloc[0]), what), Factor(len(each), "ranks")
        return (Factor(int(each.sum()), what),)

    @cached_property
    def names(self) -> dict[int, str]:
        """Name of each loop by its number."""
        return dict(zip(self.patterns["id"], self.patterns["name"], strict=True))
