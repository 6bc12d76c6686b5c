"""``autoviz evaluate``, on synthetic captures."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfetto_autoviz.cli.app import main
from perfetto_autoviz.evaluation.frames import base_frames
from perfetto_autoviz.evaluation.results import NOTHING, Row, rows
from perfetto_autoviz.evaluation.trial import Settings, Trial, try_capture
from perfetto_autoviz.options import Options
from perfetto_autoviz.steps import Frames
from perfetto_autoviz.synth import SynthCapture, preset, synthesise
from perfetto_autoviz.synth.anomaly_kinds import KINDS
from tests.live import open_fresh

pytestmark = pytest.mark.usefixtures("short_training")

STEPS, LAYERS = 72, 12
COUNT = 12
BEST = "combined"


def capture(folder: Path, steps: int, anomalies: int = 0) -> SynthCapture:
    """Decode steps of a model of 12 layers, all replayed graphs."""
    spec = preset("sglang-qwen3-8b", steps=steps, seed=5, launch="graph", anomalies=anomalies)
    small = replace(spec, layers=LAYERS, python_frames=False, cpu_ops=False, flows=False)
    return synthesise(small, folder)[0]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture(tmp_path_factory.mktemp("clean"), STEPS).path


@pytest.fixture(scope="module")
def bases(clean: Path) -> dict[int, Frames]:
    """What the analysis of the capture starts from."""
    with open_fresh(clean) as session:
        return {0: base_frames(session)}


@pytest.fixture(scope="module")
def layers(bases: dict[int, Frames], short_training: None) -> Trial:
    return tried(bases, "P1.1", COUNT)


def tried(bases: dict[int, Frames], pattern: str, count: int, seed: int = 0) -> Trial:
    return try_capture(bases, Options(), Settings(count, seed, (pattern,)))


def of_all(found: Sequence[Row], method: str) -> dict[str, Row]:
    return {row.kind: row for row in found if (row.family, row.method) == ("all", method)}


def test_layers_with_anomalies_are_found(layers: Trial) -> None:
    (pattern,) = layers.patterns
    assert (pattern.size, pattern.runs) == (15, STEPS * LAYERS)
    assert pattern.train + pattern.threshold + pattern.test == STEPS * LAYERS
    assert pattern.without == ("slow_collective",)  # On one rank nothing is reduced.
    combined = of_all(rows(layers.tallies[0], KINDS), BEST)
    assert set(combined) == {NOTHING, *KINDS} - {"slow_collective"}
    assert combined[NOTHING].flagged.count == pattern.judged[BEST]
    # So few held-out runs bound the rate to about twice 2 %.
    assert combined[NOTHING].flagged.interval[0] <= 0.04
    for kind in set(combined) - {NOTHING}:
        assert combined[kind].flagged.count == COUNT
        assert combined[kind].flagged.hits >= COUNT - 1, kind


def test_the_same_seed_gives_the_same_results(bases: dict[int, Frames], layers: Trial) -> None:
    assert tried(bases, "P1.1", COUNT) == layers


def test_few_runs_are_not_judged_instead_of_clean(
    clean: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "out.csv"
    arguments = ["--pattern", "P1", "--count", "3", "--csv", str(written)]
    assert main(["evaluate", str(clean), *arguments]) == 0
    assert "combined can't judge" in capsys.readouterr().out
    with written.open() as lines:
        found = list(csv.DictReader(lines))
    assert {row["method"] for row in found} == {"baseline"}
    assert {row["runs"] for row in found if row["kind"] == "spike" and row["family"] == "all"} == {
        "3"
    }


def test_labelled_captures_are_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = capture(tmp_path, steps=STEPS, anomalies=1)
    assert main(["evaluate", str(made.path), "--truth", str(made.truth_path), "--json"]) == 0
    (pattern,) = json.loads(capsys.readouterr().out)["patterns"]
    combined: dict[str, dict[str, Any]] = {
        row["kind"]: row
        for row in pattern["results"]
        if row["family"] == "all" and row["method"] == BEST
    }
    assert {kind: row["runs"] for kind, row in combined.items() if kind != NOTHING} == (
        dict.fromkeys(set(KINDS) - {"slow_collective"}, 1)
    )
    assert sum(row["flagged"] for kind, row in combined.items() if kind != NOTHING) >= 5
    assert combined[NOTHING]["low"] <= 0.02


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quick", "--count", "3"], "give --quick or --count"),
        (["--truth", "x.json", "--quick"], "--truth injects nothing"),
    ],
)
def test_what_contradicts_itself_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "capture.json", *arguments]) == 2
    assert message in capsys.readouterr().err
