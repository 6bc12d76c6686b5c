"""What a capture was split into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfetto_autoviz.reports.text import interval, listed, plural, size

_SHOWN = 24
"""Files to list; the manifest lists all of them."""


def table(manifest: Mapping[str, Any], folder: str, rate: float) -> RenderableType:
    """The files of a split.

    Args:
        manifest: the manifest.
        folder: where it lies.
        rate: MB of JSON that were cut per second.
    """
    files: Sequence[Mapping[str, Any]] = manifest["files"]
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("file", "iterations", "phases"):
        rows.add_column(name, overflow="fold")
    for name in ("kernels", "events", "size"):
        rows.add_column(name, justify="right")
    for file in files[:_SHOWN]:
        rows.add_row(*_cells(file))
    last = f"{plural(len(files), 'file')} and manifest.json in {folder}, cut at {rate:.0f} MB/s"
    if len(files) > _SHOWN:
        last = f"and {len(files) - _SHOWN} more: {last}"
    return Group(rows, Text(last, style="dim"))


def _cells(file: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = [row["number"] for row in file["iterations"] if row["number"] is not None]
    what = interval(numbers)
    if len(numbers) <= numbers[-1] - numbers[0]:
        what = f"{len(numbers)} of {what}"
    phases = listed((f"{count} {phase}" for phase, count in file["phases"].items()), 3)
    counts = file["counts"]
    return (
        file["file"],
        what,
        phases or "-",
        f"{counts['kernels']:,}",
        f"{counts['events']:,}",
        size(file["size"]),
    )
