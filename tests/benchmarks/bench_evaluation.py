"""How many injected anomalies are found in layers of synthetic captures, over many seeds.

Run as ``python -m tests.benchmarks.bench_evaluation``; prints tables in Markdown, and ends with 1
if a bar is missed. Every capture has other noise, another split and other anomalies.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from perfetto_autoviz.evaluation.labels import ALL
from perfetto_autoviz.evaluation.rates import Rate
from perfetto_autoviz.evaluation.results import NOTHING, Row, rows
from perfetto_autoviz.evaluation.run import evaluate_captures
from perfetto_autoviz.evaluation.score import METHODS
from perfetto_autoviz.evaluation.trial import Settings, Trial
from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.opening import OpenOptions
from perfetto_autoviz.synth import preset, synthesise
from perfetto_autoviz.synth.anomaly_kinds import KINDS, WORDS

FIRST_SEED, SEEDS = 100, 10
"""Nothing was chosen by looking at captures of these seeds."""

COUNT = 100
"""Anomalies of each kind in each capture: 1,000 over all seeds of a preset."""

PRESETS = {
    "sglang-qwen3-8b-tp2": 128,
    "sglang-qwen3-30b-a3b-b300": 128,
    "vllm-gptoss20b": 256,
    "trtllm-gptoss120b": 512,
}
"""Steps by preset: two ranks with collectives on MI300X, overlapping kernels on B300, two kinds of
layer in turn, and these on three streams of a B200. There are enough steps for 750 layers or more
to test. All replay graphs: so the noise was measured. In eager steps the host decides how long a
device idles, which differs by more than a stall of 5 µs."""

LAYERS = "P1.1"
"""The loop inside of the steps of all of these: a layer, or two in turn, of 14 to 50 kernels."""

BARS = {
    "spike": 0.995,
    "stall": 0.99,
    "swap": 0.995,
    "drift": 0.99,
    "missing": 0.995,
    "extra": 0.995,
    "slow_collective": 0.0,
}
"""Least recall, the mean over all seeds; none was set for slow collectives."""

ALARMS = 0.02
"""False alarms: the lower end of their interval must be below."""

RIGHT = 0.97
"""Share of flagged runs that must blame the right kernel."""


@dataclass(frozen=True)
class Result:
    """What came out for one pattern of one capture."""

    preset: str
    size: int
    rows: Sequence[Row]


def measure(name: str, seed: int, count: int) -> list[Result]:
    """The results for the layers of one capture."""
    spec = replace(
        preset(name, steps=PRESETS[name], seed=seed, launch="graph"),
        python_frames=False,
        cpu_ops=False,
        flows=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        captures = synthesise(spec, Path(folder))
        found = find_captures([one.path for one in captures])
        trial = evaluate_captures(found, OpenOptions(fresh=True), Settings(count, seed, (LAYERS,)))
    sys.stderr.write(f"{name}, seed {seed}\n")
    return list(_results(name, trial))


def _results(name: str, trial: Trial) -> Iterator[Result]:
    for pattern, tally in zip(trial.patterns, trial.tallies, strict=True):
        if pattern.judged["combined"]:
            yield Result(name, pattern.size, rows(tally, KINDS))


def table(results: Sequence[Result]) -> Iterator[str]:
    """Recall, localisation and false alarms as a table in Markdown."""
    yield "| injected | " + " | ".join(METHODS) + " | right kernel | right channel |"
    yield "|---" * (len(METHODS) + 3) + "|"
    for kind in (*KINDS, NOTHING):
        means = [mean(results, kind, method, "flagged") for method in METHODS]
        located = [mean(results, kind, "combined", field) for field in ("kernel", "channel")]
        cells = ["–" if value is None else f"{value:.2%}" for value in (*means, *located)]
        yield f"| {WORDS.get(kind, 'nothing (false alarms)')} | " + " | ".join(cells) + " |"


def mean(results: Sequence[Result], kind: str, method: str, field: str) -> float | None:
    """Mean over captures of a share; None if there is none."""
    rates: list[Rate] = [
        rate
        for result in results
        for row in result.rows
        if (row.kind, row.method, row.family) == (kind, method, ALL)
        and (rate := getattr(row, field)) is not None
    ]
    shares = [rate.share for rate in rates if rate.count]
    return sum(shares) / len(shares) if shares else None


def alarms(results: Sequence[Result]) -> Rate:
    """False alarms of all captures together."""
    found = Rate(0, 0)
    for result in results:
        for row in result.rows:
            if (row.kind, row.method) == (NOTHING, "combined"):
                found += row.flagged
    return found


def missed(results: Sequence[Result]) -> Iterator[str]:
    """The bars that are missed."""
    for kind, bar in BARS.items():
        recall = mean(results, kind, "combined", "flagged")
        if recall is not None and recall < bar:
            yield f"{kind}: {recall:.2%} of {bar:.1%}"
    low = alarms(results).interval[0]
    if low > ALARMS:
        yield f"false alarms: at least {low:.2%}"
    located = [mean(results, kind, "combined", "kernel") for kind in KINDS]
    known = [share for share in located if share is not None]
    if not known or sum(known) / len(known) < RIGHT:
        yield "the right kernel"


def main() -> int:
    """Measure all captures, print a table for each preset and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--preset", choices=PRESETS, action="append")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    results: list[Result] = []
    for name in chosen.preset or PRESETS:
        seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
        own = [one for seed in seeds for one in measure(name, seed, chosen.count)]
        results += own
        _print(
            f"{name}: {len(own)} captures, runs of {sorted({one.size for one in own})} kernels", own
        )
    _print("all", results)
    broken = [*missed(results)]
    sys.stdout.writelines(f"missed: {line}\n" for line in broken)
    return int(bool(broken))


def _print(title: str, results: Sequence[Result]) -> None:
    low, high = alarms(results).interval
    lines = [f"### {title}", "", *table(results), "", f"False alarms {low:.2%} to {high:.2%}.", ""]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
