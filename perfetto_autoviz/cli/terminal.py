"""What the command line writes to: standard output, and remarks on standard error."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.text import Text

from perfetto_autoviz.reports.text import visible

# A pipe has no width: nothing is wrapped or cut there.
_PIPE_WIDTH = 100_000

_LOGGER = logging.getLogger("perfetto_autoviz")

Report = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and how much there is (0 if unknown)."""


class _Screen(Console):
    """A console that no text can steer: names, and errors about them, come from captures."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = "\n".join(map(visible, segment.text.split("\n")))
                yield Segment(lines, segment.style)


def console(*, stderr: bool = False) -> Console:
    """A console on standard output or standard error; plain text where colour isn't wanted."""
    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    plain = bool(os.environ.get("NO_COLOR")) or not terminal
    return _Screen(
        file=stream,
        color_system=None if plain else "auto",
        width=None if terminal else _PIPE_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def show(*things: RenderableType) -> None:
    """Writes results to standard output."""
    screen = console()
    if screen.is_terminal:
        screen.print(*things, sep="\n")
        return
    # Tables pad their cells; what reads a pipe has no use for blanks at the end of lines.
    with screen.capture() as captured:
        screen.print(*things, sep="\n")
    for line in captured.get().splitlines():
        screen.file.write(line.rstrip() + "\n")


def remark(line: str) -> None:
    """Writes a line beside the results, to standard error."""
    console(stderr=True).print(Text(line, style="dim"), soft_wrap=True)


def fail(line: str, code: int) -> int:
    """Writes what went wrong in one line to standard error, and returns the exit code."""
    text = " ".join(line.split())
    console(stderr=True).print(Text(f"autoviz: {text}"), soft_wrap=True)
    return code


class _Remarks(logging.Handler):
    """Shows what the library warns of."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            remark(f"autoviz: {record.getMessage()}")
        except OSError:
            self.handleError(record)


@contextlib.contextmanager
def shown_warnings() -> Iterator[None]:
    """Shows the library's warnings while a command runs."""
    handler = _Remarks(logging.WARNING)
    propagate, _LOGGER.propagate = _LOGGER.propagate, False
    _LOGGER.addHandler(handler)
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.propagate = propagate


def be_quiet() -> None:
    """Shows no warnings until the command ends."""
    for handler in _LOGGER.handlers:
        if isinstance(handler, _Remarks):
            handler.setLevel(logging.CRITICAL)


@contextlib.contextmanager
def progress(*, quiet: bool = False) -> Iterator[Report | None]:
    """Bars on standard error, if that's a terminal, else None.

    Captures are opened in threads, each of which works on one at a time: one bar for each.
    """
    err = console(stderr=True)
    if quiet or not err.is_terminal:
        yield None
        return
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    )
    with bars:
        yield _reporter(bars)


def _reporter(bars: Progress) -> Report:
    of_thread: dict[int, TaskID] = {}

    def report(what: str, done: int, total: int) -> None:
        thread = threading.get_ident()
        if thread not in of_thread:
            of_thread[thread] = bars.add_task(what)
        bars.update(of_thread[thread], description=what, completed=done, total=total or None)

    return report
