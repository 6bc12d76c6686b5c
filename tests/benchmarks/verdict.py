"""The bounds, and tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.benchmarks.measure import Outcome

PLAIN_RATIO = 2.0
"""Most that ``annotate`` may cost, in bare loads, where nothing needs repair."""

REPAIR_RATIO = 3.0
"""The same on an engine that needs overlapping kernels repaired."""

PEAK_BYTES = 600 << 20
"""Most memory of the Python process; a capture must never be held as Python objects."""

JUDGED_ENGINE = "wasm"
"""On a native engine, which loads several times faster, the numbers are only reported."""


def bound(outcome: Outcome) -> float:
    """The ratio that a case must keep."""
    return REPAIR_RATIO if outcome.case.overlap else PLAIN_RATIO


def broken(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One line for each bound that a case breaks."""
    for outcome in outcomes:
        case = f"{outcome.engine}, {outcome.case.file_name}"
        if outcome.engine == JUDGED_ENGINE and outcome.ratio > bound(outcome):
            yield f"{case}: {outcome.ratio:.2f} bare loads, more than {bound(outcome):g}"
        if outcome.peak > PEAK_BYTES:
            yield f"{case}: {_mib(outcome.peak)}, more than {_mib(PEAK_BYTES)}"


def outcome_table(outcomes: Sequence[Outcome]) -> str:
    """The cases as a Markdown table."""
    head = (
        "engine", "events", "capture", "bare load", "of it in the engine", "annotate",
        "ratio", "bound", "peak of Python",
    )  # fmt: skip
    return table(head, [_cells(outcome) for outcome in outcomes])


def _cells(outcome: Outcome) -> tuple[str, ...]:
    case = outcome.case
    judged = outcome.engine == JUDGED_ENGINE
    return (
        outcome.engine,
        f"{case.events:,}",
        f"JSON{'.gz' if case.gzipped else ''}{', kernels overlap' if case.overlap else ''}",
        f"{outcome.bare:.2f} s",
        f"{outcome.load:.2f} s",
        f"{outcome.annotate:.2f} s",
        f"{outcome.ratio:.2f}",
        f"{bound(outcome):g}" if judged else "—",
        _mib(outcome.peak),
    )


def reader_table(seconds: Mapping[str, float]) -> str:
    """The readers as a Markdown table."""
    return table(("reader", "seconds"), [(name, f"{value:.2f}") for name, value in seconds.items()])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a Markdown table."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *rows)
    )


def _mib(size: float) -> str:
    return f"{size / 2**20:.0f} MiB"
