"""Synthetic captures in a trace processor, and the shipped ones against their commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfetto_autoviz.engine import Engine, start_engine
from perfetto_autoviz.errors import EngineError
from perfetto_autoviz.synth import PRESETS, preset, read_truth, synthesise, truth_path

TRACES = Path(__file__).resolve().parents[2] / "traces"
SHIPPED = {
    "vllm-gptoss20b.pt.trace.json.gz": ("vllm-gptoss20b", 24, "."),
    "sglang-qwen3-8b-tp2-TP-0.trace.json.gz": ("sglang-qwen3-8b-tp2", 16, "sglang-qwen3-8b-tp2"),
    "sglang-qwen3-8b-tp2-TP-1.trace.json.gz": ("sglang-qwen3-8b-tp2", 16, "sglang-qwen3-8b-tp2"),
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    try:
        running = start_engine(trace_bytes=0)
    except EngineError as error:
        pytest.skip(f"no trace processor: {error}")
    with running:
        yield running


def loaded(engine: Engine, path: Path) -> list[tuple[int, int, str]]:
    engine.load([path.read_bytes()])
    rows = engine.query(
        "SELECT ts, dur, name FROM slice WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset')"
    )
    return sorted(zip(rows["ts"].tolist(), rows["dur"].tolist(), rows["name"], strict=True))


def expected(path: Path) -> list[tuple[int, int, str]]:
    truth = read_truth(truth_path(path))
    names = np.array(truth.names)[truth.kernels["name"]]
    columns = (truth.kernels[c].tolist() for c in ("ts", "dur"))
    return sorted(zip(*columns, names.tolist(), strict=True))


@pytest.mark.parametrize("name", ["atom-gptoss20b", "plain-qwen3-30b-a3b-b300"])
def test_an_engine_reads_every_device_activity_to_the_nanosecond(
    name: str, engine: Engine, tmp_path: Path
) -> None:
    spec = replace(PRESETS[name], steps=6, layers=6, stray_copies=1.0)
    capture = synthesise(spec, tmp_path)[0]
    assert loaded(engine, capture.path) == expected(capture.path)
    bad = engine.query("SELECT name FROM stats WHERE severity IN ('error','data_loss') AND value>0")
    assert len(bad) == 0


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_captures_load_completely(name: str, engine: Engine) -> None:
    path = TRACES / SHIPPED[name][2] / name
    assert loaded(engine, path) == expected(path)
    assert path.stat().st_size < 1_500_000


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_captures_come_from_their_commands(name: str, tmp_path: Path) -> None:
    scenario, steps, folder = SHIPPED[name]
    made = {c.path.name: c for c in synthesise(preset(scenario, steps=steps, seed=1), tmp_path)}
    shipped = read_truth(truth_path(TRACES / folder / name))
    again = read_truth(made[name].truth_path)
    assert shipped.header == again.header
    assert shipped.iterations == again.iterations
    assert all(np.array_equal(shipped.kernels[c], again.kernels[c]) for c in shipped.kernels)
    option = f"--steps {steps}"
    text = (TRACES / "README.md").read_text()
    assert any(scenario in line and option in line for line in text.splitlines())
