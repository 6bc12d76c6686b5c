"""Kernels of hand-made sequences, real captures and synthetic ones."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from perfetto_autoviz.steps.ops import classify
from perfetto_autoviz.steps.patterns import Patterns, RankKernels, kernel_places
from perfetto_autoviz.synth import ScenarioSpec, Truth, read_truth, synthesise

ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")


def kernels(
    ops: Sequence[int] | np.ndarray,
    rank: int = 0,
    stream: Sequence[int] | None = None,
    gaps: Sequence[int] | None = None,
    **columns: np.ndarray,
) -> RankKernels:
    """Kernels of 10 ns, 2 ns apart or as far as ``gaps`` says before each."""
    size = len(ops)
    before = np.full(size, 2) if gaps is None else np.asarray(gaps)
    return RankKernels(
        rank=rank,
        device=np.zeros(size, dtype=np.int64),
        stream=np.full(size, 7) if stream is None else np.asarray(stream),
        ts=1_000 + np.cumsum(before + 10),
        dur=np.full(size, 10),
        op=np.asarray(ops, dtype=np.int64),
        **columns,
    )


def text(word: str) -> list[int]:
    """One operation per letter."""
    return [ord(letter) for letter in word]


def read_capture(path: Path) -> RankKernels:
    """The device activities of a real capture, straight from its JSON."""
    raw = path.read_bytes()
    document = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    events = [event for event in document["traceEvents"] if event.get("cat") in ACTIVITIES]
    codes: dict[str, int] = {}
    op = {name: classify(name).op for name in {event["name"] for event in events}}
    return RankKernels(
        rank=0,
        device=np.array([event["args"]["device"] for event in events]),
        stream=np.array([event["args"]["stream"] for event in events]),
        ts=np.array([round(float(event["ts"]) * 1000) for event in events]),
        dur=np.array([round(float(event["dur"]) * 1000) for event in events]),
        op=np.array([codes.setdefault(op[event["name"]], len(codes)) for event in events]),
    )


def synthetic(spec: ScenarioSpec, folder: Path) -> tuple[list[RankKernels], list[Truth]]:
    """The kernels of a synthetic rank set by its truth, and the truth."""
    captures = synthesise(spec, folder)
    truths = [read_truth(capture.truth_path) for capture in captures]
    codes: dict[str, int] = {}
    ranks = []
    for capture, truth in zip(captures, truths, strict=True):
        ops = [codes.setdefault(classify(name).op, len(codes)) for name in truth.names]
        columns = truth.kernels
        ranks.append(
            RankKernels(
                rank=capture.rank,
                device=np.zeros(len(columns["ts"]), dtype=np.int64),
                stream=columns["stream"],
                ts=columns["ts"],
                dur=columns["dur"],
                op=np.array(ops)[columns["name"]],
            )
        )
    return ranks, truths


def runs_of(found: Patterns, name: str) -> list[tuple[int, int, int]]:
    """Rank, first and last kernel of the runs of a pattern."""
    index = [pattern.name for pattern in found.patterns].index(name)
    mine = found.runs.pattern == index
    columns = (found.runs.rank[mine], found.runs.first[mine], found.runs.last[mine])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def shape(found: Patterns) -> list[tuple[str, int, int, int]]:
    """Name, length, kernels and runs of each pattern."""
    return [
        (p.name, p.length, p.kernels, int(np.sum(found.runs.pattern == index)))
        for index, p in enumerate(found.patterns)
    ]


def agreement(found: Patterns, truths: Sequence[Truth], keep: Sequence[np.ndarray]) -> float:
    """Share of kernels whose pattern and position mean the true part and position.

    Each place found means the true place that most of its kernels have, so that a pattern's
    rotation doesn't matter, and each true place means one place found; the smaller share counts,
    so that neither merging places nor splitting them helps.

    Args:
        found: what was detected.
        truths: the truth of each rank by number.
        keep: which kernels of the truth each rank had.
    """
    places = kernel_places(found)
    mine = np.where(places.position < 0, -1, places.pattern * 10_000 + places.position)
    true = np.concatenate([_places(one)[kept] for one, kept in zip(truths, keep, strict=True)])
    mine, true = mine[true >= 0], true[true >= 0]
    placed = mine >= 0
    pairs, count = np.unique(np.stack([mine[placed], true[placed]]), axis=1, return_counts=True)
    right = [sum(int(count[side == place].max()) for place in np.unique(side)) for side in pairs]
    return min(right) / len(true)


def _places(truth: Truth) -> np.ndarray:
    """A number per true part and position, -1 outside iterations.

    What a draft model runs around its layer is another part than what its target runs there.
    """
    columns = truth.kernels
    drafts = [one.index for one in truth.iterations if one.phase == "draft"]
    draft = np.isin(columns["iteration"], drafts) & (columns["layer"] < 0)
    place = columns["part"] * 10_000 + columns["position"] + 1_000_000 * draft
    return np.where(columns["iteration"] >= 0, place, -1)
