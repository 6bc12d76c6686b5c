"""Hand-made captures: steps that repeat a layer, with times that a test decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from perfetto_autoviz.options import Options
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.anomalies.baseline import Baseline, baseline
from perfetto_autoviz.steps.anomalies.cells import run_sets
from perfetto_autoviz.steps.anomalies.context import read_context
from perfetto_autoviz.steps.anomalies.groups import Groups, group_runs
from perfetto_autoviz.steps.anomalies.runs import AllRuns, read_runs
from perfetto_autoviz.steps.anomalies.values import RunSet
from perfetto_autoviz.steps.patterns.step import PATTERNS_STEP

START = 1_000_000
STEP_GAP = 300_000
"""Idle time in ns between two steps."""


@dataclass
class Steps:
    """Kernels of steps; matrices have shape ``(steps, kernels of a step)``, times in ns.

    Attributes:
        ops: operation of each kernel of a step.
        dur: durations.
        gap: from the end of the kernel before on the same stream; negative for overlap.
        phase: phase of each step.
        size: requests of each step, or tokens if it is a prefill.
        dropped: step and kernel of those that don't run.
        added: step, kernel and operation of those that run before that kernel, for 7 µs.
        streams: of operations that run on another stream than most; each still starts after
            the kernel before it.
    """

    ops: Sequence[str]
    dur: np.ndarray
    gap: np.ndarray
    phase: Sequence[str] = ()
    size: Sequence[int] = ()
    dropped: list[tuple[int, int]] = field(default_factory=list)
    added: list[tuple[int, int, str]] = field(default_factory=list)
    streams: Mapping[str, int] = field(default_factory=dict)

    def frames(self) -> dict[str, pd.DataFrame]:
        """What the steps before the search for patterns give, by SQL name."""
        activities, members, now = [], [], START
        for step in range(len(self.dur)):
            now += STEP_GAP
            position = 0
            for kernel, op in enumerate(self.ops):
                for at, place, extra in self.added:
                    if (at, place) == (step, kernel):
                        activities.append((now, 7_000, extra))
                        members.append((step, position))
                        now, position = now + 7_000, position + 1
                if (step, kernel) in self.dropped:
                    continue
                start = now + (int(self.gap[step, kernel]) if kernel else 0)
                activities.append((start, int(self.dur[step, kernel]), op))
                members.append((step, position))
                now, position = start + int(self.dur[step, kernel]), position + 1
        return {**_kernel_frames(activities, members, self.streams), **self._phases()}

    def _phases(self) -> dict[str, pd.DataFrame]:
        steps = range(len(self.phase))
        prefill = [phase != "decode" for phase in self.phase]
        tokens = [size if long else 0 for size, long in zip(self.size, prefill, strict=True)]
        return {
            "_autoviz_src_phase": pd.DataFrame(
                {
                    "iteration_id": pd.array(list(steps), "Int64"),
                    "phase": pd.Series(list(self.phase), dtype=object),
                    "batch_size": pd.array(list(self.size), "Int64"),
                    "context_tokens": pd.array(tokens, "Int64"),
                    "graph_batch_size": pd.array([None] * len(steps), "Int64"),
                }
            )
        }


def _kernel_frames(
    activities: Sequence[tuple[int, int, str]],
    members: Sequence[tuple[int, int]],
    streams: Mapping[str, int],
) -> dict[str, pd.DataFrame]:
    count = len(activities)
    columns = {
        "ts": [ts for ts, _, _ in activities],
        "dur": [dur for _, dur, _ in activities],
        **{name: [7] * count for name in ("pid", "tid")},
        "stream": [streams.get(op, 7) for _, _, op in activities],
        "device": [0] * count,
        "correlation": list(range(count)),
    }
    frame = pd.DataFrame({name: pd.array(values, "Int64") for name, values in columns.items()})
    ops = pd.Series([op for _, _, op in activities], dtype=object)
    family = np.where(ops.str.startswith("all_reduce"), "communication", "gemm")
    return {
        "_autoviz_activity": frame.assign(op=ops, family=family),
        "autoviz_iteration_kernel": pd.DataFrame(
            {
                "iteration_id": [step for step, _ in members],
                "device": 0,
                "position": [position for _, position in members],
                "seq": range(count),
            }
        ),
        "_autoviz_src_layer": pd.DataFrame(
            {"ts": [], "dur": [], "device": [], "kind": [], "iteration_id": []}
        ).assign(first_position=[]),
    }


def with_patterns(ranks: Mapping[int, Steps]) -> dict[int, Frames]:
    """Frames of all ranks with the patterns that are found in them."""
    frames = {rank: steps.frames() for rank, steps in ranks.items()}
    for rank, made in PATTERNS_STEP.run(frames, Options()).items():
        frames[rank].update(
            {relation.source: made[relation.name] for relation in PATTERNS_STEP.makes}
        )
    return dict(frames)


@dataclass
class Prepared:
    """What the tests look at."""

    frames: dict[int, Frames]
    runs: AllRuns
    groups: Groups
    baseline: Baseline
    sets: dict[str, RunSet]

    @classmethod
    def of(cls, ranks: Mapping[int, Steps]) -> Prepared:
        frames = with_patterns(ranks)
        runs = read_runs(frames)
        context = read_context(frames, runs.table)
        groups = group_runs(runs.table, context)
        normal = baseline(runs.table, groups)
        sets = {
            name: run_sets(runs, context, groups, normal, pattern)
            for pattern, name in runs.names.items()
        }
        return cls(frames, runs, groups, normal, sets)


LAYER = ("norm", "qkv", "attention", "proj", "gate", "up", "down", "add")
LAYER_US = np.array([4.0, 18.0, 30.0, 12.0, 3.0, 40.0, 35.0, 5.0])
GAP_NS = 900


def serving(
    steps: int, layers: int, seed: int, noise: float = 0.03, gap_noise: float = 0.1
) -> Steps:
    """Decode steps of equal layers between a first and a last kernel, with noise."""
    rng = np.random.default_rng(seed)
    ops = ["embed", *LAYER * layers, "head"]
    usual = np.array([6.0, *np.tile(LAYER_US, layers), 80.0]) * 1_000
    shape = (steps, len(ops))
    dur = np.rint(usual * np.exp(noise * rng.standard_normal(shape)))
    gap = np.rint(GAP_NS * np.exp(gap_noise * rng.standard_normal(shape)))
    return Steps(ops, dur, gap, ["decode"] * steps, [32] * steps)


def place(layer: int, kernel: str) -> int:
    """Kernel of a step of `serving` by its layer and operation."""
    return 1 + layer * len(LAYER) + LAYER.index(kernel)
