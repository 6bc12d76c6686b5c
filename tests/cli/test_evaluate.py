"""``autoviz evaluate``, on synthetic captures."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfetto_autoviz.cli.app import main
from perfetto_autoviz.synth import SynthCapture, preset, synthesise
from perfetto_autoviz.synth.anomaly_kinds import KINDS

COUNT = 12


def capture(folder: Path, steps: int, anomalies: int = 0) -> SynthCapture:
    """Decode steps of a model of 12 layers, all replayed graphs."""
    spec = preset("sglang-qwen3-8b", steps=steps, seed=5, launch="graph", anomalies=anomalies)
    small = replace(spec, layers=12, python_frames=False, cpu_ops=False, flows=False)
    return synthesise(small, folder)[0]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture(tmp_path_factory.mktemp("clean"), steps=90).path


def results(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["evaluate", *arguments, "--json"]) == 0
    patterns: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["patterns"]
    return patterns


def of_all(pattern: dict[str, Any], method: str) -> dict[str, dict[str, Any]]:
    return {
        row["kind"]: row
        for row in pattern["results"]
        if row["family"] == "all" and row["method"] == method
    }


def test_layers_with_anomalies_are_found(
    clean: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "out.csv"
    chosen = ["--pattern", "P1.1", "--count", str(COUNT), "--csv", str(table)]
    (pattern,) = results(capsys, str(clean), *chosen)
    assert (pattern["size"], pattern["runs"]) == (15, 90 * 12)
    assert pattern["train"] + pattern["threshold"] + pattern["test"] == 90 * 12
    assert pattern["without"] == ["slow_collective"]  # On one rank nothing is reduced.
    combined = of_all(pattern, "combined")
    assert set(combined) == {"nothing", *KINDS} - {"slow_collective"}
    assert combined["nothing"]["runs"] == pattern["judged"]["combined"]
    assert combined["nothing"]["low"] <= 0.02
    for kind in set(combined) - {"nothing"}:
        assert combined[kind]["runs"] == COUNT
        assert combined[kind]["flagged"] >= COUNT - 1, kind
    with table.open() as lines:
        read = list(csv.DictReader(lines))
    assert len(read) == len(pattern["results"])
    assert {row["pattern"] for row in read} == {"P1.1"}


def test_the_same_seed_gives_the_same_results(
    clean: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [str(clean), "--pattern", "P1.1", "--count", "2", "--seed"]
    first, again, other = (results(capsys, *chosen, seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def test_few_runs_are_not_judged_instead_of_clean(
    clean: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pattern,) = results(capsys, str(clean), "--pattern", "P1", "--count", "3")
    assert pattern["judged"]["autoencoder"] == 0
    assert {row["method"] for row in pattern["results"]} == {"baseline"}
    assert main(["evaluate", str(clean), "--pattern", "P1", "--count", "3"]) == 0
    assert "combined can't judge" in capsys.readouterr().out


def test_labelled_captures_are_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = capture(tmp_path, steps=120, anomalies=1)
    (pattern,) = results(capsys, str(made.path), "--truth", str(made.truth_path))
    combined = of_all(pattern, "combined")
    assert {kind: row["runs"] for kind, row in combined.items() if kind != "nothing"} == (
        dict.fromkeys(set(KINDS) - {"slow_collective"}, 1)
    )
    assert sum(row["flagged"] for kind, row in combined.items() if kind != "nothing") >= 5
    assert combined["nothing"]["low"] <= 0.02


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
