"""Verdicts on all captures of a round, and what must hold of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.benchmarks.strip.judge import Verdict

LEAST_RIGHT = 0.99
"""Share of the steps that must be right."""

LEAST_RIGHT_PHASES = 0.995
"""Share of the phases that are told that must be right."""

LEAST_TOLD = 0.95
"""Share of the steps whose phases must be told, where the host is recorded."""

LEAST_OVERLAP = 0.9
"""Part that a mixed window must share with that of the annotated capture."""

_HEAD = """
| round | files | same number of steps | steps right | phases told | phases right | mixed windows \
kept | runs whose ranks agree |
|---|---|---|---|---|---|---|---|""".strip()


@dataclass
class Tally:
    """Verdicts of a round, by run."""

    stage: int
    runs: list[Sequence[Verdict]] = field(default_factory=list)

    def add(self, ranks: Sequence[Verdict]) -> Iterator[str]:
        """Counts a run, and says what is wrong with it."""
        self.runs.append(ranks)
        for rank, one in enumerate(ranks):
            if one.right_steps < one.true_steps or one.wrong_phases or not _kept(one):
                yield f"rank {rank}: {one}"
        if not _agree(ranks):
            yield "the ranks disagree"

    @property
    def files(self) -> list[Verdict]:
        """Verdicts on all ranks of all runs."""
        return [one for ranks in self.runs for one in ranks]

    def row(self) -> str:
        """A row of the table."""
        files, several = self.files, [ranks for ranks in self.runs if len(ranks) > 1]
        windows = [one for one in files if one.window is not None]
        same = sum(one.true_steps == one.found_steps for one in files)
        cells = (
            str(self.stage),
            str(len(files)),
            str(same),
            f"{self._right_steps:.2%} of {self._steps:,}",
            f"{self._told / self._steps:.1%}",
            f"{self._right_phases:.2%}",
            f"{sum(map(_kept, windows))} of {len(windows)}",
            f"{sum(map(_agree, several))} of {len(several)}",
        )
        return f"| {' | '.join(cells)} |"

    def broken(self) -> Iterator[str]:
        """A line for each bound that is broken."""
        least_told = LEAST_TOLD if self.stage < 3 else 0
        bounds = (
            ("of the steps are right", self._right_steps, LEAST_RIGHT),
            ("of the phases are told", self._told / self._steps, least_told),
            ("of the phases told are right", self._right_phases, LEAST_RIGHT_PHASES),
            ("of the mixed windows are kept", _share(map(_kept, self.files)), 1),
            ("of the runs have ranks that agree", _share(map(_agree, self.runs)), 1),
        )
        for what, share, least in bounds:
            if share < least:
                yield f"round {self.stage}: {share:.2%} {what}, fewer than {least:.1%}"

    @property
    def _steps(self) -> int:
        return sum(one.true_steps for one in self.files)

    @property
    def _told(self) -> int:
        return sum(one.right_phases + one.wrong_phases for one in self.files)

    @property
    def _right_steps(self) -> float:
        return sum(one.right_steps for one in self.files) / self._steps

    @property
    def _right_phases(self) -> float:
        return sum(one.right_phases for one in self.files) / max(self._told, 1)


def table(tallies: Iterable[Tally]) -> str:
    """All rounds as a table in Markdown."""
    return "\n".join((_HEAD, *(tally.row() for tally in tallies)))


def _kept(one: Verdict) -> bool:
    return one.window is None or one.window >= LEAST_OVERLAP


def _agree(ranks: Sequence[Verdict]) -> bool:
    return len({one.phases for one in ranks}) == 1


def _share(flags: Iterable[bool]) -> float:
    known = list(flags)
    return sum(known) / len(known)
