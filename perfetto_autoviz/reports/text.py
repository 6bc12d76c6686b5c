"""How numbers and lists read in a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NS_PER_UNIT = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_BYTES_PER_UNIT = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))

# A share this small would read as 0.0 %, one this large as 100.0 %.
_SMALLEST_SHARE = 0.0005


def duration(ns: float) -> str:
    """A time in the unit in which it is at least 1: ``10.74 ms``."""
    for size, unit in _NS_PER_UNIT:
        if abs(ns) >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns:.0f} ns"


def microseconds(ns: float) -> str:
    """A time in µs without its unit, for columns of tables: ``161.68``."""
    return f"{ns / 1e3:.2f}"


def share(part: float) -> str:
    """A share from 0 to 1 as percent; what is not nothing never reads as 0."""
    if 0 < part < _SMALLEST_SHARE:
        return "<0.1 %"
    if 1 - _SMALLEST_SHARE < part < 1:
        return ">99.9 %"
    return f"{100 * part:.1f} %"


def size(count: int) -> str:
    """A number of bytes: ``70.0 KiB``."""
    for unit_size, unit in _BYTES_PER_UNIT:
        if count >= unit_size:
            return f"{count / unit_size:.1f} {unit}"
    return f"{count} B"


def plural(count: int, thing: str, things: str | None = None) -> str:
    """A count of things: ``1 copy``, ``1,993 events``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def interval(values: Sequence[int]) -> str:
    """The range of some numbers: ``16``, or ``4-32``."""
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low}-{high}"


def listed(things: Iterable[str], most: int, separator: str = ", ") -> str:
    """A list that ends after so many things, and says how many are left away."""
    items = list(things)
    more = len(items) - most
    return separator.join(items[:most]) + (f" and {more} more" if more > 0 else "")


def visible(text: str) -> str:
    """A name as it may be shown: what would steer a terminal or turn text around, as its code.

    Names come from captures; ESC [ 2 J, for instance, clears a screen.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _code(char) for char in text)


def _code(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
