"""What is found of such a capture, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perfetto_autoviz.session import Session
from tests.benchmarks.strip.judge import (
    PREFILLING,
    TOLERANCE,
    Ints,
    Span,
    Verdict,
    innermost_steps,
    overlap,
    steady_windows,
)
from tests.benchmarks.strip.repeated.record import TrueStep

ANNOTATED, KERNELS_ALONE = 0, 3
"""Rounds in which nothing is taken away, and all but the device."""

_ACTIVITIES = "SELECT seq, correlation, stream, dur FROM autoviz_kernel ORDER BY seq"
_MEMBERS = "SELECT iteration_id, seq FROM autoviz_iteration_kernel"


class Truth:
    """The true step of each activity of an open capture.

    Only steps that are recorded as a whole must be found; of others, and of what is launched
    between two annotations, nothing is asked.
    """

    def __init__(self, session: Session, steps: Sequence[TrueStep]) -> None:
        """Reads the activities."""
        rows = session.query(_ACTIVITIES)
        number = rows["correlation"].to_numpy(np.int64)
        self._steps = steps
        self._owner = np.full(len(number), -1)
        for index, step in enumerate(steps):
            self._owner[np.isin(number, list(step.numbers))] = index
        named = [one for step in steps for one in step.named]
        unlaunched = [index for index, step in enumerate(steps) if not step.launched]
        self._asked = np.isin(number, named) | np.isin(self._owner, unlaunched)
        stream = rows["stream"].to_numpy()
        self._main = stream == rows.groupby("stream")["dur"].sum().idxmax()

    def judge(self, session: Session, stage: int, window: Span | None) -> Verdict:
        """Compare what is found in a round with the truth.

        Args:
            session: the capture without what the round takes away.
            stage: the round.
            window: the mixed window of the annotated capture.
        """
        found = innermost_steps(session)
        mine = self._found(session, found["id"].to_numpy(np.int64))
        majority = [self._majority(mine == number) for number in range(len(found))]
        asked = [index for index, step in enumerate(self._steps) if self._must(step, stage)]
        place = {index: majority.index(index) for index in asked if majority.count(index) == 1}
        known = [majority[number] in asked for number in range(len(found))]
        extra = sum(m not in range(len(self._steps)) for m in majority)
        right = self._right(place, mine, stage)
        said = [(str(found["phase"][at]), self._steps[index]) for index, at in place.items()]
        told = [(phase, step) for phase, step in said if phase not in ("None", "nan", "unknown")]
        wrong = sum(
            phase != step.plan.phase
            if stage == ANNOTATED
            else (phase in PREFILLING) != (step.plan.phase in PREFILLING)
            for phase, step in told
        )
        return Verdict(
            evidence=str(found["evidence"].iloc[0]) if len(found) else "",
            true_steps=len(asked),
            found_steps=sum(known) + extra,
            right_steps=right,
            right_phases=len(told) - wrong,
            wrong_phases=wrong,
            window=window and overlap(window, steady_windows(session).get("mixed")),
            phases=tuple(map(str, found["phase"])),
        )

    def _must(self, step: TrueStep, stage: int) -> bool:
        """Whether a step must be found: annotated, or whole."""
        if stage == ANNOTATED:
            return bool(step.named) and step.launched
        return step.whole and (step.launched or stage == KERNELS_ALONE)

    def _found(self, session: Session, ids: Ints) -> Ints:
        """The step, by its place, that each activity is said to belong to."""
        members = session.query(_MEMBERS)
        place = {int(number): at for at, number in enumerate(ids)}
        mine = np.full(len(self._owner), -1)
        chosen = members[members["iteration_id"].isin(place)]
        mine[chosen["seq"].to_numpy(np.int64)] = chosen["iteration_id"].map(place)
        return mine

    def _majority(self, mine: NDArray[np.bool_]) -> int:
        own = self._owner[mine & (self._owner >= 0)]
        return int(np.bincount(own).argmax()) if len(own) else -1

    def _right(self, place: dict[int, int], mine: Ints, stage: int) -> int:
        """Steps of the right activities; of kernels alone, those off by as many as most.

        There, other streams run work of the next step at any time, and nothing is asked of it.
        """
        if stage < KERNELS_ALONE:
            allowed = 2 * TOLERANCE if stage else 0
            wrong = [
                int((((self._owner == index) != (mine == at)) & self._asked).sum())
                for index, at in place.items()
            ]
            return sum(number <= allowed for number in wrong)
        position = np.cumsum(self._main & self._asked)
        off = [
            int(position[self._first(mine == at)] - position[self._first(self._owner == index)])
            for index, at in place.items()
        ]
        return sum(abs(one - int(np.median(off))) <= TOLERANCE for one in off)

    def _first(self, chosen: NDArray[np.bool_]) -> int:
        at = np.flatnonzero(chosen & self._main & self._asked)
        return int(at[0]) if len(at) else 0
