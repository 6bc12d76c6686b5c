"""Whether the units of a division of the activities can be steps of an engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.iterations.work import Work

MIN_ATTENTIONS = 2
"""A unit with a single attention is a layer, or the step of a draft model."""

PLENTY_ATTENTIONS = 9
"""With as many, a unit is no group of alternating layers: known models alternate within at
most eight."""

MOST = 0.5
"""Share of the device time, or of the units, from which something holds for most of them."""

NEARLY_ALL = 0.9
"""Share of the units for which something must hold: profilers lose a few activities."""

MIN_REPEATS = 4.0
"""Activities per distinct pair of operations, from which a unit repeats layers inside. Measured:
1.0 to 2.2 for layers, 5 to 25 for steps."""

PLENTY_OPERATIONS = 32
"""Different operations of a unit, from which it is no layer, if it also has what only steps have:
some models' steps repeat no layers. Measured: at most 19 for layers, 69 to 79 for such steps."""

MIN_SIMILAR = 0.8
"""Cosine of the operations of two units from which they do the same."""


MOST_COMPARED = 256
"""Units, evenly chosen, that are compared with one another."""


@dataclass(frozen=True)
class Units:
    """A division of an order of activities.

    Attributes:
        work: all activities.
        order: shape (m,), indices of the activities in order.
        owner: shape (m,), unit of each, -1 for none.
        count: number of units.
    """

    work: Work
    order: Ints
    owner: Ints
    count: int

    def refusal(self, *, framed: bool = False) -> str | None:
        """Why the units can't be steps; None if they can.

        Args:
            framed: whether something on the host says where each unit starts and ends.
        """
        if self.attended:
            number = self.attentions()
            if (number >= 1).mean() < NEARLY_ALL:
                return "what recurs has no attention in each of its units"
            if self._share_of_time(number >= MIN_ATTENTIONS) < MOST:
                return "what recurs has one attention each, as the layers of a single step do"
            if framed:
                return None
        elif not (framed or self._repeats_inside() or self._does_plenty()):
            return "what recurs repeats little inside, as the layers of a single step do"
        return None if self.recur() else "what recurs never does the same twice"

    def attentions(self) -> Ints:
        """Attentions in each unit."""
        starts = self.work.attentions(self.order) & (self.owner >= 0)
        return np.bincount(self.owner[starts], minlength=self.count).astype(np.int64)

    @property
    def worked(self) -> slice:
        """The units without those at both ends that have no attention, if others have.

        They prepare, as captures of graphs and warm-ups do, or the recording ends in them.
        """
        if not self.attended:
            return slice(0, self.count)
        attend = np.flatnonzero(self.attentions())
        return slice(int(attend[0]), int(attend[-1]) + 1) if len(attend) else slice(0, self.count)

    def plenty_of_attentions(self) -> bool:
        """Whether most of the time is in units of more layers than any group of them has."""
        return self._share_of_time(self.attentions() >= PLENTY_ATTENTIONS) >= MOST

    def marked(self) -> bool:
        """Whether nearly all units have something that layers have not."""
        marks = self.work.marks[self.order] & (self.owner >= 0)
        per_unit = np.bincount(self.owner[marks], minlength=self.count)
        return bool((per_unit > 0).mean() >= NEARLY_ALL)

    def recur(self) -> bool:
        """Whether units that have most of the time do the same as another one.

        Where each of them attends, most of the units are enough: a prompt may take longer than
        all the steps that answer it.
        """
        sample = np.unique(np.linspace(0, self.count - 1, MOST_COMPARED).astype(np.int64))
        histogram = self._histogram(sample)
        unit = histogram / np.maximum(np.linalg.norm(histogram, axis=1), 1)[:, None]
        alike = unit @ unit.T
        np.fill_diagonal(alike, 0)
        time = self.time()[sample]
        same = alike.max(axis=1, initial=0) >= MIN_SIMILAR
        if self.attended and same.mean() >= MOST:
            return True
        return bool(time[same].sum() >= MOST * time.sum())

    def time(self) -> Ints:
        """Summed durations of each unit in ns."""
        own = self.owner >= 0
        dur = self.work.dur[self.order][own]
        return np.bincount(self.owner[own], dur, self.count).astype(np.int64)

    @property
    def attended(self) -> bool:
        """Whether there is any attention."""
        return bool(self.work.attends.any())

    def _repeats_inside(self) -> bool:
        op = self.work.op[self.order]
        pair = np.stack([self.owner[1:], op[:-1], op[1:]])[:, self.owner[1:] >= 0]
        distinct = np.unique(pair, axis=1)[0]
        number = np.bincount(pair[0], minlength=self.count)
        kinds = np.bincount(distinct, minlength=self.count)
        repeats = number >= MIN_REPEATS * np.maximum(kinds, 1)
        return min(float(repeats.mean()), self._share_of_time(repeats)) >= MOST

    def _does_plenty(self) -> bool:
        own = self.owner >= 0
        pair = np.unique(np.stack([self.owner[own], self.work.op[self.order][own]]), axis=1)
        kinds = np.bincount(pair[0], minlength=self.count)
        return self.marked() and self._share_of_time(kinds >= PLENTY_OPERATIONS) >= MOST

    def _histogram(self, sample: Ints) -> NDArray[np.float64]:
        """How often some units run each operation."""
        number = np.full(self.count + 1, -1)
        number[sample] = np.arange(len(sample))
        row = number[self.owner]
        own = row >= 0
        op = self.work.op[self.order][own]
        found = np.zeros((len(sample), int(self.work.op.max(initial=0)) + 1))
        np.add.at(found, (row[own], op), 1)
        return found

    def _share_of_time(self, chosen: NDArray[np.bool_]) -> float:
        time = self.time()
        return float(time[chosen].sum() / max(int(time.sum()), 1))
