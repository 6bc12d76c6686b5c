"""Models: what each score sees, what can't be judged, and models in files."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.steps.anomalies.findings import find
from perfetto_autoviz.steps.anomalies.model import (
    Model,
    Verdict,
    fit_model,
    judge,
    with_thresholds,
)
from perfetto_autoviz.steps.anomalies.model_file import load_models, save_models
from perfetto_autoviz.steps.anomalies.scores import TESTS
from perfetto_autoviz.steps.anomalies.values import CHANNELS, RunSet
from tests.conftest import ROOT
from tests.steps.anomalies.captures import LAYER, Prepared, Steps, place, serving, with_patterns

pytestmark = pytest.mark.usefixtures("short_training")

STEPS, LAYERS = 36, 16
TEST_STEP = 35
"""The step that is neither trained on nor used for thresholds."""


def capture() -> Steps:
    return serving(STEPS, LAYERS, seed=1, noise=0.03)


def layers_of(steps: Steps) -> RunSet:
    return Prepared.of({0: steps}).sets["P1.1"]


@cache
def trained() -> Model:
    """Trained on half of the steps before the last; thresholds are from the other half."""
    runs = layers_of(capture())
    step = runs.matrix.number // LAYERS
    rows = np.flatnonzero(step < TEST_STEP)
    model = fit_model(runs, rows[step[rows] % 2 == 0])
    assert model is not None
    return with_thresholds(model, runs, rows[step[rows] % 2 == 1])


def verdict_of(steps: Steps, layer: int) -> tuple[Verdict, int]:
    """What the model says of a capture, and the row of a layer of its last step."""
    runs = layers_of(steps)
    verdict = judge(trained(), runs)
    row = int(np.flatnonzero(runs.matrix.number == TEST_STEP * LAYERS + layer)[0])
    assert verdict.judged[row]
    return verdict, row


def flagged(verdict: Verdict, row: int) -> set[str]:
    return {test for test, flag in zip(TESTS, verdict.flags[row], strict=True) if flag}


@pytest.mark.parametrize("kernel", LAYER)
def test_a_spike(kernel: str) -> None:
    steps = capture()
    steps.dur[TEST_STEP, place(6, kernel)] *= 5
    verdict, row = verdict_of(steps, 6)
    channel, position = (each[row] for each in verdict.scores.culprits())
    assert "kernel" in flagged(verdict, row)
    assert (CHANNELS[channel], trained().ops[position]) == ("run time", kernel)


@pytest.mark.parametrize("kernel", LAYER[1:])
def test_a_stall(kernel: str) -> None:
    steps = capture()
    steps.gap[TEST_STEP, place(9, kernel)] += 5_000
    verdict, row = verdict_of(steps, 9)
    channel, position = (each[row] for each in verdict.scores.culprits())
    assert "kernel" in flagged(verdict, row)
    assert (CHANNELS[channel], trained().ops[position]) == ("idle time", kernel)


def test_a_drift_moves_each_kernel_little() -> None:
    steps = capture()
    own = slice(place(3, LAYER[0]), place(4, LAYER[0]))
    steps.dur[TEST_STEP, own] = np.rint(1.1 * steps.dur[TEST_STEP, own])
    verdict, row = verdict_of(steps, 3)
    assert "drift" in flagged(verdict, row)
    assert verdict.scores.drift[row] > 0
    assert verdict.slower(row) == pytest.approx(0.1, abs=0.04)


def test_a_missing_and_an_extra_kernel() -> None:
    steps = capture()
    steps.dropped.append((TEST_STEP, place(3, "gate")))
    steps.added.append((TEST_STEP, place(9, "up"), "stray"))
    assert "sequence" in flagged(*verdict_of(steps, 3))
    assert "sequence" in flagged(*verdict_of(steps, 9))


def test_untouched_runs_keep_near_the_rate() -> None:
    runs = layers_of(serving(120, LAYERS, seed=8, noise=0.03))
    verdict = judge(trained(), runs)
    # 70 % of thresholds keep to 2 %; this one to the upper end of a binomial interval.
    assert verdict.judged.all()
    assert verdict.flagged.mean() < 0.04


def test_overlapping_kernels_and_no_idle_time() -> None:
    steps = capture()
    steps.gap[:, 1:] = np.where(np.arange(1, steps.gap.shape[1]) % 2, -1_500, 0)
    runs = layers_of(steps)
    assert (runs.matrix.idle == 0).all()
    model = fit_model(runs, np.arange(0, len(runs), 2))
    assert model is not None
    model = with_thresholds(model, runs, np.arange(1, len(runs), 2))
    steps.gap[TEST_STEP, place(9, "gate")] += 5_000
    verdict = judge(model, layers_of(steps))
    row = TEST_STEP * LAYERS + 9
    channel, position = (each[row] for each in verdict.scores.culprits())
    assert "kernel" in flagged(verdict, row)
    assert (CHANNELS[channel], model.ops[position]) == ("idle time", "gate")


def test_noisy_idle_times_hide_no_spike() -> None:
    # As where the host decides how long a device idles: a few µs in most runs, hundreds in some.
    steps = serving(STEPS, LAYERS, seed=6, noise=0.01, gap_noise=2.0)
    steps.dur[TEST_STEP, place(6, "attention")] *= 3
    runs = layers_of(steps)
    model = fit_model(runs, np.arange(0, len(runs), 2))
    assert model is not None
    verdict = judge(with_thresholds(model, runs, np.arange(1, len(runs), 2)), runs)
    row = TEST_STEP * LAYERS + 6
    channel, position = (each[row] for each in verdict.scores.culprits())
    assert "kernel" in flagged(verdict, row)
    assert (CHANNELS[channel], model.ops[position]) == ("run time", "attention")
    assert verdict.flagged.mean() < 0.04


def test_constant_times() -> None:
    steps = serving(STEPS, LAYERS, seed=1, noise=0, gap_noise=0)
    found = find(with_patterns({0: steps}), autoencoder=True)
    assert found.anomalies == ()
    steps.dur[TEST_STEP, place(5, "down")] *= 2
    anomalies = find(with_patterns({0: steps}), autoencoder=True).anomalies
    assert {one.culprits[0].op for one in anomalies} == {"down"}


def test_too_few_runs_are_not_judged() -> None:
    runs = layers_of(serving(12, LAYERS, seed=2))
    assert fit_model(runs, np.arange(60)) is None
    model = fit_model(runs, np.arange(110))
    assert model is not None
    verdict = judge(with_thresholds(model, runs, np.arange(110, 160)), runs)
    assert not verdict.judged.any()
    assert not verdict.flagged.any()
    assert verdict.reason == {"decode": "50 runs for a threshold, 100 are needed"}


def test_a_phase_that_the_model_has_not_seen() -> None:
    steps = replace(capture(), phase=["verify"] * STEPS)
    verdict = judge(trained(), layers_of(steps))
    assert not verdict.judged.any()
    assert verdict.reason == {"verify": "the model has seen no such runs"}


def test_the_same_input_gives_the_same_flags() -> None:
    frames = with_patterns({0: capture()})
    assert find(frames, autoencoder=True).anomalies == find(frames, autoencoder=True).anomalies


def test_a_saved_model_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "layers.npz"
    save_models([trained()], path)
    assert [one.name for one in tmp_path.iterdir()] == ["layers.npz"]
    loaded = load_models(path)[trained().ops]
    steps = capture()
    steps.dur[TEST_STEP, place(6, "norm")] *= 5
    runs = layers_of(steps)
    one, other = judge(trained(), runs), judge(loaded, runs)
    assert np.array_equal(one.scores.table, other.scores.table)
    assert np.array_equal(one.limits, other.limits)


def test_a_model_of_another_pattern_is_refused() -> None:
    other = replace(trained(), ops=("a", "b"))
    with pytest.raises(UsageError, match=r"of 2 kernels that isn't P1\.1 \(8 kernels\)"):
        judge(other, layers_of(capture()))


def test_files_that_are_no_models(tmp_path: Path) -> None:
    text, pickled, arrays = (tmp_path / name for name in ("a.npz", "b.npz", "c.npz"))
    text.write_text("hello")
    pickled.write_bytes(pickle.dumps({"header": 1}))
    np.savez(arrays, header=np.array('{"format": "another"}'))
    for path in (text, pickled, arrays):
        with pytest.raises(UsageError, match="is no file of models: write one with --save-model"):
            load_models(path)
    with pytest.raises(UsageError, match=r"can't read .*missing"):
        load_models(tmp_path / "missing.npz")


def test_a_pickle_inside_is_never_opened(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, header=np.array([print], dtype=object))
    with pytest.raises(UsageError, match="is no file of models"):
        load_models(path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    header = '{"format": "autoviz-anomaly-models", "version": 99, "models": []}'
    np.savez(path, header=np.array(header))
    with pytest.raises(UsageError, match="models of version 99, this reads"):
        load_models(path)


def test_durations_alone_don_t_need_torch() -> None:
    code = (
        "import sys; from tests.steps.anomalies.captures import serving, with_patterns;"
        "from perfetto_autoviz.options import Options;"
        "from perfetto_autoviz.steps.anomalies.step import find_anomalies;"
        "frames = with_patterns({0: serving(20, 8, seed=1)});"
        "made = find_anomalies(frames, Options());"
        "assert len(made[0]['run_anomaly']); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
