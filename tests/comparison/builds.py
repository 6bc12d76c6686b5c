"""Comparisons of builds that are written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from perfetto_autoviz.comparison import BuildInfo, Choices, Comparison, compare_builds
from perfetto_autoviz.steps.compare import Build, read_build
from tests.steps.compare.builds import layers


def info(build: Build, label: str) -> BuildInfo:
    """What is known of a build without files."""
    return BuildInfo(
        label=label,
        run_id=f"run of {label}",
        files=(f"{label}.json",),
        ranks=tuple(sorted(set(build.runs.rank.tolist()))),
        gpu=None,
        framework=None,
        runtime=None,
        activities=len(build.kernels),
        placed=int((build.kernels.run >= 0).sum()),
    )


def compared(
    a: Build, b: Build, choices: Choices | None = None, label: str = "build"
) -> Comparison:
    """Two builds compared."""
    return compare_builds(a, b, info(a, f"{label} a"), info(b, f"{label} b"), choices)


def letters(a: Sequence[str], b: Sequence[str], **how: int) -> Comparison:
    """Loops of one-letter operations compared; see ``tests.steps.compare.builds.layers``."""
    return compared(layers(a, **how), layers(b, **how))  # type: ignore[arg-type]


def nested(
    outer: Sequence[str], inner: Sequence[tuple[str, int]], repeats: int, runs: int
) -> Build:
    """A step of one-letter operations around a layer that repeats in its middle.

    All kernels follow each other without gaps; the step's take 10 ns each.

    Args:
        outer: operations before and after the layers.
        inner: operations of the layer, and the ns that each takes.
        repeats: layers of a step.
        runs: steps.
    """
    kernels: list[tuple[int, int, int, str, str, str]] = []
    places: list[tuple[int, int, int]] = []
    spans: list[tuple[int, int, int | None, int, int]] = []
    at = 0

    def run_kernel(op: str, dur: int, run: int, position: int) -> None:
        nonlocal at
        places.append((len(kernels), run, position))
        kernels.append((len(kernels), at, dur, f"{op}_kernel", op, "gemm"))
        at += dur

    for step in range(runs):
        own = step * (repeats + 1)
        began = at
        run_kernel(outer[0], 10, own, 0)
        for repeat in range(repeats):
            start = at
            for position, (op, dur) in enumerate(inner):
                run_kernel(op, dur, own + 1 + repeat, position)
            spans.append((own + 1 + repeat, 1, own, step * repeats + repeat, at - start))
        run_kernel(outer[1], 10, own, 2)
        spans.append((own, 0, None, step, at - began))
    layer = sum(dur for _, dur in inner)
    whole = runs * (repeats * layer + 20)
    return read_build({0: _frames(kernels, places, spans, outer, inner, (runs, repeats, whole))})


def _frames(
    kernels: list[tuple[int, int, int, str, str, str]],
    places: list[tuple[int, int, int]],
    spans: list[tuple[int, int, int | None, int, int]],
    outer: Sequence[str],
    inner: Sequence[tuple[str, int]],
    sizes: tuple[int, int, int],
) -> Mapping[str, pd.DataFrame]:
    runs, repeats, whole = sizes
    layer = sum(dur for _, dur in inner)
    positions: list[tuple[int, int, str | None, int | None, int]] = [
        (0, 0, outer[0], None, 10 * runs),
        (0, 1, None, 1, layer * repeats * runs),
        (0, 2, outer[1], None, 10 * runs),
    ]
    positions += [
        (1, position, op, None, dur * repeats * runs) for position, (op, dur) in enumerate(inner)
    ]
    patterns = [
        (0, "P1", 0, runs, whole),
        (1, "P1.1", 1, runs * repeats, layer * repeats * runs),
    ]
    run_columns = ["id", "pattern_id", "parent_id", "number", "dur"]
    return {
        "kernel": pd.DataFrame(kernels, columns=["seq", "ts", "dur", "name", "op", "family"]),
        "pattern": pd.DataFrame(
            patterns, columns=["id", "name", "level", "run_count", "total_dur"]
        ),
        "pattern_position": pd.DataFrame(
            positions, columns=["pattern_id", "position", "op", "inner_id", "total_dur"]
        ),
        "pattern_run": pd.DataFrame(spans, columns=run_columns).assign(
            missing=0, extra=0, swapped=0
        ),
        "pattern_kernel": pd.DataFrame(places, columns=["seq", "run_id", "position"]),
    }
