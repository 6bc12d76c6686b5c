"""Kernels as arrays, and the loops that they run in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfetto_autoviz.synth import (
    PRESETS,
    SynthArrays,
    preset,
    read_truth,
    synth_arrays,
    synthesise,
)
from perfetto_autoviz.synth.model import load_model


@pytest.mark.parametrize(
    "name", ["vllm-gptoss120b-tp8", "sglang-qwen3-8b-speculative", "atom-gptoss20b"]
)
def test_arrays_are_what_the_truth_says(name: str, tmp_path: Path) -> None:
    spec = preset(name, steps=5, ranks=2, seed=4)
    made = synth_arrays(spec)
    for rank, capture in enumerate(synthesise(spec, tmp_path)):
        truth = read_truth(capture.truth_path)
        arrays = made.ranks[rank]
        # A file counts from the capture's start, which ranks have at different times.
        shift = truth.kernels["ts"][0] - arrays["ts"][0]
        for column in ("dur", "iteration", "layer", "position", "part", "pattern", "place"):
            assert np.array_equal(arrays[column], truth.kernels[column]), column
        assert np.array_equal(arrays["ts"] + shift, truth.kernels["ts"])
        assert [made.names[i] for i in arrays["name"][:50]] == [
            truth.names[i] for i in truth.kernels["name"][:50]
        ]
        assert list(made.patterns) == list(truth.header.patterns)


def places(made: SynthArrays, pattern: str) -> Mapping[str, np.ndarray]:
    arrays = made.ranks[0]
    mine = arrays["pattern"] == made.patterns.index(pattern)
    return {column: values[mine] for column, values in arrays.items()}


def test_a_step_has_one_place_for_all_layers() -> None:
    made = synth_arrays(preset("sglang-qwen3-8b", steps=3))
    model = load_model("qwen3-8b-mi300x")
    step = places(made, "step")
    outside = len(model.prologue) + len(model.head) + len(model.tail) + len(model.epilogue)
    assert len(step["place"]) == 3 * outside
    layers = len(model.prologue) + len(model.head)
    assert set(range(outside + 1)) - set(step["place"].tolist()) == {layers}
    assert set(places(made, "layers")["layer"].tolist()) == set(range(36))
    assert np.array_equal(places(made, "layers")["place"], places(made, "layers")["position"])


def test_two_kinds_in_turn_are_one_loop() -> None:
    made = synth_arrays(preset("vllm-gptoss20b", steps=2))
    layers = places(made, "layers")
    second = layers["layer"] % 2 == 1
    assert np.array_equal(layers["place"], layers["position"] + 17 * second)
    assert set(layers["place"].tolist()) == set(range(17 + 18))


def test_several_of_a_kind_in_a_row_are_a_loop_in_the_loop() -> None:
    model = load_model("gpt-oss-20b-mi300x")
    two, three = model.kinds
    spec = replace(
        preset("vllm-gptoss20b", steps=2), model=replace(model, pattern=(two,) * 3 + (three,))
    )
    made = synth_arrays(spec)
    assert made.patterns == ["step", "draft step", "layers", two]
    inner = places(made, two)
    assert not (inner["layer"] % 4 == 3).any()
    assert np.array_equal(inner["place"], inner["position"])
    outer = places(made, "layers")
    assert (outer["layer"] % 4 == 3).all()
    assert np.array_equal(outer["place"], outer["position"] + 1)


def test_a_shared_expert_runs_beside_the_others() -> None:
    spec = preset("sglang-qwen3-30b-a3b-shared-expert", steps=12, seed=1)
    arrays = synth_arrays(replace(spec, stream_moves=0.5)).ranks[0]
    moved = set()
    for step in range(12):
        mine = arrays["iteration"] == step
        side = arrays["stream"][mine] == 45
        moved.add(int(side.sum()))
        overlap = arrays["ts"][mine][1:] < (arrays["ts"] + arrays["dur"])[mine][:-1]
        if side.any():
            assert overlap.sum() > 20
    # All three on the side, two of them, or none where steps are launched one by one.
    assert moved == {0, 2 * 48, 3 * 48}


def test_a_number_of_kernels_is_enough() -> None:
    made = synth_arrays(replace(PRESETS["sglang-qwen3-30b-a3b-b300"], steps=500), kernels=5_000)
    assert 5_000 <= len(made.ranks[0]["ts"]) < 6_000
    assert (np.diff(made.ranks[0]["ts"]) >= 0).all()
