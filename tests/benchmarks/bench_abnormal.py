"""What is found in captures of which a growing share is abnormal, learned from them as they are.

Run as ``python -m tests.benchmarks.bench_abnormal``; prints a table in Markdown. Anomalies of all
kinds in turn are injected into random layers, and the capture is analysed as whoever has it would:
its model is trained, and its thresholds are set, on all layers, abnormal ones included.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from perfetto_autoviz.evaluation.analysis import Analysis, activities_of
from perfetto_autoviz.evaluation.frames import ACTIVITY, analysed, base_frames, with_anomalies
from perfetto_autoviz.evaluation.judged import methods
from perfetto_autoviz.evaluation.labels import Label, injected_labels
from perfetto_autoviz.evaluation.plan import Plan, Target, Work, draw
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.score import outcomes, untouched
from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.opening import OpenOptions, open_ranks
from perfetto_autoviz.options import Options
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.steps.anomalies.findings import find
from perfetto_autoviz.steps.anomalies.values import RunSet
from perfetto_autoviz.synth import preset, synthesise
from perfetto_autoviz.synth.anomaly_kinds import KINDS

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1)
SEEDS = range(200, 203)
PRESETS = {"sglang-qwen3-8b-tp2": 64, "vllm-gptoss20b": 256}
"""Steps by preset: 4,608 layers, and 3,072 of twice the size."""

LAYERS = "P1.1"
ONE_RANK = tuple(kind for kind in KINDS if kind != "slow_collective")


def captured(name: str, seed: int) -> dict[int, Frames]:
    """By rank what the analysis of a capture starts from."""
    spec = preset(name, steps=PRESETS[name], seed=seed, launch="graph")
    lean = replace(spec, python_frames=False, cpu_ops=False, flows=False)
    with tempfile.TemporaryDirectory() as folder:
        captures = synthesise(lean, Path(folder))
        found = find_captures([one.path for one in captures])
        with open_ranks(found, OpenOptions(fresh=True)) as opened:
            return opened.on_each(base_frames)


def spoilt(
    bases: Mapping[int, Frames], layers: RunSet, share: float, seed: int
) -> tuple[dict[int, Frames], list[Label]]:
    """The analysed capture with a share of its layers abnormal, and which those are."""
    work = {rank: Work.of(frames[ACTIVITY]) for rank, frames in bases.items()}
    rng, matrix = np.random.default_rng([seed, 3]), layers.matrix
    chosen = rng.choice(len(layers), round(share * len(layers)), replace=False)
    drawn: list[Plan | None] = []
    for number, row in enumerate(chosen.tolist()):
        rank = int(matrix.rank[row])
        target = Target(rank, int(matrix.run[row]), activities_of(matrix, row))
        drawn.append(draw(ONE_RANK[number % len(ONE_RANK)], target, work[rank], rng))
    frames, labels = dict(bases), []
    for rank, base in bases.items():
        own = [plan for plan in drawn if plan is not None and plan.target.rank == rank]
        frames[rank], injected = with_anomalies(base, own)
        labels += injected_labels(base[ACTIVITY], own, injected)
    return analysed(frames, Options()), labels


def measure(name: str, seed: int) -> dict[tuple[float, str, str], Rate]:
    """By share, method and kind how many are found; false alarms as the kind ``nothing``."""
    bases = captured(name, seed)
    clean = Analysis(analysed(bases, Options()))
    layers = clean.run_set(next(i for i, known in clean.names.items() if known == LAYERS))
    rates: dict[tuple[float, str, str], Rate] = {}
    for share in SHARES:
        frames, labels = spoilt(bases, layers, share, seed)
        durations, tests = find(frames), find(frames, autoencoder=True)
        # Layers may be found elsewhere, and named otherwise, than in the clean capture.
        all_found = [methods(durations, tests, pattern) for pattern in tests.runs.names]
        found = max(all_found, key=lambda one: len(one.ts))
        clear = untouched(labels, found)
        for method in ("baseline", "combined"):
            finding = found.findings[method]
            own = clear & finding.judged
            key = (share, method, "nothing")
            rates[key] = Rate(int(finding.flagged[own].sum()), int(own.sum()))
        for one in outcomes(labels, all_found):
            key = (share, one.method, one.kind)
            rates[key] = rates.get(key, Rate(0, 0)) + Rate(int(one.found), 1)
    return rates


def table(rates: Mapping[tuple[float, str, str], Rate]) -> Sequence[str]:
    """A row per share of abnormal layers."""
    kinds = (*ONE_RANK, "nothing")
    lines = ["| abnormal | method | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 2) + "|"]
    for share in SHARES:
        for method in ("baseline", "combined"):
            known = [rates.get((share, method, kind)) for kind in kinds]
            cells = ["–" if rate is None else f"{rate.share:.1%}" for rate in known]
            lines.append(f"| {share:.0%} | {method} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    """Measure all captures, and print one table."""
    torch.set_num_threads(1)
    rates: dict[tuple[float, str, str], Rate] = {}
    for name in PRESETS:
        for seed in SEEDS:
            for key, rate in measure(name, seed).items():
                rates[key] = rates.get(key, Rate(0, 0)) + rate
            sys.stderr.write(f"{name}, seed {seed}\n")
    sys.stdout.write("\n".join(table(rates)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
