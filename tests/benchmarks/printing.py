"""Lines of a benchmark, seen as soon as they are there."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Prints a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def row(*cells: str) -> None:
    """Prints a row of a Markdown table."""
    say(f"| {' | '.join(cells)} |")
