"""Builds from arrays, as the comparison reads them from relations, without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.compare import Build, read_build
from perfetto_autoviz.steps.ops import classify
from perfetto_autoviz.steps.patterns import Places, detect_patterns, kernel_places
from perfetto_autoviz.steps.patterns.step import pattern_frames, run_frame
from perfetto_autoviz.synth.loops import DRAFT_STEP, STEP
from tests.benchmarks.proof.kernels import Kernels
from tests.benchmarks.proof.places import Placing, judge


@dataclass(frozen=True)
class Detected:
    """A build with what is true of it.

    Attributes:
        kernels: its kernels and their truth.
        build: the build.
        sizes: kernels of a run of each of its loops.
        placing: how well its patterns were found, and what each of their positions stands for.
        part_places: by found loop and position the part and the position in it that most
            kernels there have.
    """

    kernels: Kernels
    build: Build
    sizes: Sequence[int]
    placing: Placing
    part_places: dict[tuple[int, int], tuple[str, int]]

    def loop_of(self, number: int) -> str | None:
        """The true loop that most positions of a found one stand for.

        A draft step and the step that checks it begin alike: its size tells which of them a loop
        is that starts in its middle.
        """
        places = [t for (loop, _), (t, _) in self.placing.true_place.items() if loop == number]
        known = [one for one in places if one < len(self.kernels.patterns)]
        name = self.kernels.patterns[max(set(known), key=known.count)] if known else None
        if name not in (STEP, DRAFT_STEP):
            return name
        sizes = self.kernels.step_sizes()
        return min(sizes, key=lambda kind: abs(np.log(self.sizes[number] / sizes[kind])))


def detect(kernels: Kernels) -> Detected:
    """Find the patterns of a build and bring its frames together."""
    found = detect_patterns(kernels.detectable())
    shared = pattern_frames(found, kernels.ops())
    places = kernel_places(found)
    ranks, start = {}, 0
    for rank, columns in enumerate(kernels.ranks):
        cut = slice(start, start + len(columns["ts"]))
        inside = np.flatnonzero(places.run[cut] >= 0)
        ranks[rank] = {
            **{name.removeprefix("autoviz_"): frame for name, frame in shared.items()},
            "pattern_run": run_frame(found, rank),
            "kernel": _kernel_frame(kernels, rank),
            "pattern_kernel": pd.DataFrame(
                {
                    "seq": inside,
                    "run_id": places.run[cut][inside],
                    "position": places.position[cut][inside],
                }
            ),
        }
        start = cut.stop
    sizes = [pattern.kernels for pattern in found.patterns]
    return Detected(
        kernels, read_build(ranks), sizes, judge(found, kernels), _part_places(kernels, places)
    )


def _part_places(kernels: Kernels, places: Places) -> dict[tuple[int, int], tuple[str, int]]:
    inside = (places.position >= 0) & (kernels.whole("part") >= 0)
    columns = (places.pattern, places.position, kernels.whole("part"), kernels.whole("position"))
    table = np.stack([column[inside] for column in columns], axis=1)
    rows, count = np.unique(table, axis=0, return_counts=True)
    return {
        (loop, at): (kernels.parts[part], position)
        for loop, at, part, position in rows[np.argsort(count, kind="stable")].tolist()
    }


def _kernel_frame(kernels: Kernels, rank: int) -> pd.DataFrame:
    columns = kernels.ranks[rank]
    named = [(name, *_classes(name)) for name in kernels.names]
    table = pd.DataFrame(named, columns=["name", "op", "family"]).iloc[columns["name"]]
    return table.reset_index(drop=True).assign(
        seq=np.arange(len(columns["ts"])), ts=columns["ts"], dur=columns["dur"]
    )


def _classes(name: str) -> tuple[str, str]:
    found = classify(name)
    return found.op, found.family
