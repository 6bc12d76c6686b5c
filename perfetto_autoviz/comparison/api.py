"""Comparing two builds from Python, in the words of the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perfetto_autoviz.comparison.folder import check_folder
from perfetto_autoviz.comparison.opened import labels, read_side
from perfetto_autoviz.comparison.result import Assignment, Choices, Comparison
from perfetto_autoviz.comparison.run import compare_builds
from perfetto_autoviz.comparison.window import steady_builds, whole_build
from perfetto_autoviz.comparison.write import write_comparison
from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.loading import Progress
from perfetto_autoviz.opening import OpenOptions
from perfetto_autoviz.options import Options
from perfetto_autoviz.steps.compare import THRESHOLD, Weights

PathLike = str | os.PathLike[str]


def compare(
    a: PathLike | Sequence[PathLike],
    b: PathLike | Sequence[PathLike],
    out: PathLike | None = None,
    *,
    weights: tuple[float, float] = (Weights.jaccard, Weights.levenshtein),
    threshold: float = THRESHOLD,
    pairs: Sequence[str] = (),
    assignment: Assignment = "greedy",
    steady: bool = False,
    force: bool = False,
    steps: Options | None = None,
    light: bool = False,
    trace_processor: str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compares two builds, and writes what changed to a folder.

    Args:
        a: the one build: a capture, several, a folder of ranks, or enriched traces, which are
            analysed anew.
        b: the other build.
        out: folder for tables, a page and enriched traces; None to write nothing.
        weights: of the similarity of sets and of sequences in a score.
        threshold: score above which patterns match.
        pairs: patterns that are partners in any case, as ``P1:P3``.
        assignment: ``greedy`` takes the best pair first, ``optimal`` makes the sum of scores
            largest.
        steady: compare only steady iterations in which both builds do the same; the traces
            show all of them.
        force: replace a folder that holds a comparison.
        steps: options of the steps.
        light: leave out Python frames, and operators if that isn't enough for the engine.
        trace_processor: path of the engine; the first that is found if not given.
        progress: see ``perfetto_autoviz.loading.Progress``.

    Raises:
        UsageError: the folder holds something else, or a choice makes no sense.
        CaptureError: a file is no capture of a device, or its rank is unknown.
        EngineError: no engine was found, or a capture doesn't fit into it.
    """
    choices = Choices(Weights(*weights), _checked(threshold), tuple(pairs), assignment)
    given = [_listed(a), _listed(b)]
    found = [find_captures(paths) for paths in given]
    place = None if out is None else Path(out)
    if place is not None:
        check_folder(place, [each.path for side in found for each in side], force=force)
    options = OpenOptions(
        trace_processor, light, fresh=True, steps=steps or Options(), progress=progress
    )
    side_a, side_b = (
        read_side(captures, label, options)
        for captures, label in zip(found, labels(*given), strict=True)
    )
    why = None
    if steady:
        one, other, why = steady_builds(side_a, side_b, options.steps.num_steps)
    else:
        one, other = whole_build(side_a), whole_build(side_b)
    infos = side_a.info(one), side_b.info(other)
    comparison = replace(compare_builds(one, other, *infos, choices), steady=why)
    if place is not None:
        write_comparison(comparison, side_a, side_b, place)
    return comparison


def _listed(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [Path(path) for path in given]


def _checked(threshold: float) -> float:
    if not 0 <= threshold <= 1:
        raise UsageError(f"no score is above {threshold:g}; give a threshold from 0 to 1")
    return threshold
