"""What the engine's own import statistics mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stat:
    """One counter of the engine: its name, its value, and the severity the engine gives it."""

    name: str
    value: int
    severity: str
