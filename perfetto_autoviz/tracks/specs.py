"""What the caller says about each visible track."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ROOT_TITLE = "autoviz"
"""Title of the group that holds all tracks."""

DATA_TITLE = "autoviz data"
"""Title of the track whose slices are only rows: their ts and dur mean nothing."""


@dataclass(frozen=True)
class TrackSpec:
    """How the rows of one timed relation are shown.

    Attributes:
        relation: name of the relation.
        title: title of the track.
        names: text on each slice, one per row of the relation's frame.
        colours: a word per row; slices with the same word have the same colour, in every
            capture. None, as a whole or for a row: the colour follows the name.
        level: column whose value n > 0 moves a row to a track of its own, ``<title> level n``.
        description: help text of the track.
    """

    relation: str
    title: str
    names: Sequence[str]
    colours: Sequence[str | None] | None = None
    level: str | None = None
    description: str = ""

    def title_of_level(self, level: int) -> str:
        """Title of the track that shows one level."""
        return self.title if level == 0 else f"{self.title} level {level}"


@dataclass(frozen=True)
class CounterSpec:
    """A value over time.

    Attributes:
        title: title of the track.
        unit: text behind each value, e.g. ``requests`` or ``%``.
        times: when the value changes, in ns.
        values: the value from then on.
        description: help text of the track.
    """

    title: str
    unit: str
    times: Sequence[int]
    values: Sequence[float]
    description: str = ""
