"""Which windows to cut: what a user asks for, as lists of iteration numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from perfetto_autoviz.errors import UsageError

ALL = "all"
EACH = f"--iterations {ALL}"
# "3" or "7-9"
_ITEM = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


@dataclass(frozen=True)
class Wanted:
    """What a user asks for; everything can be combined.

    Attributes:
        iterations: ``all`` for a file for each, and numbers and ranges, ``3,7-9``: a file
            for iteration 3, and one for the window of 7 to 9.
        first: the first iteration.
        middle: the one in the middle, the later of two.
        last: the last one.
        steady: a mode of the steady windows, or ``all`` of them.
        phases: a file for each phase, with all iterations in it.
        level: level of the iterations; 0 for the outermost.
    """

    iterations: str | None = None
    first: bool = False
    middle: bool = False
    last: bool = False
    steady: str | None = None
    phases: bool = False
    level: int = 0

    def check(self) -> None:
        """Refuses what no capture can fulfil.

        Raises:
            UsageError: nothing is asked for, or the list of iterations can't be read.
        """
        others = (self.first, self.middle, self.last, self.steady, self.phases)
        if self.iterations is None and not any(others):
            raise UsageError(
                "nothing is chosen: give --iterations 3,7-9 or all, --first, --middle, --last,"
                " --steady or --phases"
            )
        if self.iterations is not None:
            parse_iterations(self.iterations)


@dataclass(frozen=True)
class Window:
    """Iterations that go into one file.

    Attributes:
        name: for file names.
        chosen_by: the options that asked for it.
        numbers: numbers of the iterations at their level, ascending.
    """

    name: str
    chosen_by: tuple[str, ...]
    numbers: tuple[int, ...]

    def stretches(self) -> Iterator[tuple[int, int]]:
        """First and last number of each run of consecutive iterations."""
        first = previous = self.numbers[0]
        for number in self.numbers[1:]:
            if number != previous + 1:
                yield first, previous
                first = number
            previous = number
        yield first, previous


def choose_windows(
    wanted: Wanted, numbers: Sequence[int], phases: pd.DataFrame, steady: pd.DataFrame
) -> list[Window]:
    """The windows that a user asks for; the same window asked for twice is one.

    Args:
        wanted: what is asked for.
        numbers: numbers of the iterations at that level, ascending.
        phases: columns ``number`` and ``phase`` of the iterations at that level.
        steady: columns ``mode``, ``first_number`` and ``last_number`` of the steady windows
            at that level.

    Raises:
        UsageError: what is asked for isn't there.
    """
    if not numbers:
        raise UsageError(_no_iterations(wanted.level))
    found = [
        *_listed(wanted.iterations, numbers),
        *_single(wanted, numbers),
        *_steady(wanted.steady, steady),
        *(_by_phase(phases) if wanted.phases else ()),
    ]
    return _distinct(found)


def _no_iterations(level: int) -> str:
    if level:
        return f"there are no iterations at level {level}: leave --level out for the outermost"
    return (
        "no iterations were found in this capture, so there is nothing to cut by;"
        " autoviz annotate says why"
    )


def parse_iterations(text: str) -> tuple[bool, list[tuple[int, int]]]:
    """Reads a list of iterations.

    Returns:
        Whether each one is wanted, and the numbers and ranges, each as its first and last number.

    Raises:
        UsageError: it is no such list, a range runs backwards, or two of them overlap.
    """
    items = text.split(",")
    ranges = []
    for item in items:
        if item.strip() == ALL:
            continue
        match = _ITEM.fullmatch(item)
        if match is None:
            raise UsageError(
                f"--iterations {text!r} is no list of iterations: write it like 3,7-9 or all"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"the range {first}-{last} runs backwards: write {last}-{first}")
        ranges.append((first, last))
    ranges.sort()
    for (_, last), (first, end) in itertools.pairwise(ranges):
        if first <= last:
            raise UsageError(
                f"iteration {first} is in two ranges: {_span(first, end)} overlaps the one before"
            )
    return len(ranges) < len(items), ranges


def _listed(text: str | None, numbers: Sequence[int]) -> Iterator[Window]:
    if text is None:
        return
    each, ranges = parse_iterations(text)
    if each:
        yield from (_window([number], EACH, numbers) for number in numbers)
    for first, last in ranges:
        chosen = list(range(first, last + 1))
        missing = sorted(set(chosen) - set(numbers))
        if missing:
            raise UsageError(
                f"there is no iteration {missing[0]}: this capture has {_span(*_ends(numbers))}"
            )
        yield _window(chosen, f"--iterations {_span(first, last)}", numbers)


def _single(wanted: Wanted, numbers: Sequence[int]) -> Iterator[Window]:
    for option, asked, number in (
        ("--first", wanted.first, numbers[0]),
        ("--middle", wanted.middle, numbers[len(numbers) // 2]),
        ("--last", wanted.last, numbers[-1]),
    ):
        if asked:
            yield _window([number], option, numbers)


def _steady(mode: str | None, windows: pd.DataFrame) -> Iterator[Window]:
    if mode is None:
        return
    rows = windows if mode == ALL else windows[windows["mode"] == mode]
    if rows.empty:
        there = ", ".join(sorted(set(windows["mode"]))) or "none at all"
        wanted = "no steady window" if mode == ALL else f"no steady window of mode {mode}"
        raise UsageError(f"{wanted} was found: there is {there}")
    for row in rows.itertuples():
        first, last = int(str(row.first_number)), int(str(row.last_number))
        yield Window(f"steady-{row.mode}", ("--steady",), tuple(range(first, last + 1)))


def _by_phase(phases: pd.DataFrame) -> Iterator[Window]:
    known = phases[phases["phase"].notna() & (phases["phase"] != "unknown")]
    if known.empty:
        raise UsageError("the phases of this capture are unknown, so it can't be cut by --phases")
    for phase, rows in known.groupby("phase", sort=True):
        numbers = tuple(sorted(int(number) for number in rows["number"]))
        yield Window(f"phase-{phase}", ("--phases",), numbers)


def _window(chosen: Sequence[int], option: str, numbers: Sequence[int]) -> Window:
    width = len(str(numbers[-1]))
    first, last = (f"{number:0{width}}" for number in _ends(chosen))
    name = f"iteration-{first}" if len(chosen) == 1 else f"iterations-{first}-{last}"
    return Window(name, (option,), tuple(chosen))


def _distinct(found: Iterable[Window]) -> list[Window]:
    by_name: dict[str, Window] = {}
    for window in found:
        before = by_name.get(window.name)
        if before is None:
            by_name[window.name] = window
        elif before.numbers == window.numbers:
            options = (*before.chosen_by, *window.chosen_by)
            by_name[window.name] = Window(window.name, options, window.numbers)
        else:
            twin = f"{window.name}-{window.numbers[0]}"
            by_name[twin] = Window(twin, window.chosen_by, window.numbers)
    return list(by_name.values())


def _ends(numbers: Sequence[int]) -> tuple[int, int]:
    return numbers[0], numbers[-1]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
