"""Pairs of builds: their edit scripts, and captures that follow them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.synth import (
    EDIT_KINDS,
    PRESETS,
    EditPlan,
    preset,
    read_truth,
    second_build,
    synthesise,
)
from perfetto_autoviz.synth.simulate import scenario_model

SIZES = {"added": (0, 1), "removed": (1, 0)}
"""Kernels before and after; one each where nothing is given."""


@settings(max_examples=60)
@given(
    st.sampled_from([*PRESETS]),
    st.integers(0, 1000),
    st.builds(EditPlan, st.integers(1, 12), st.booleans(), st.sampled_from([0.6, 1.0, 1.7])),
)
def test_a_script_turns_one_build_into_the_other(name: str, seed: int, plan: EditPlan) -> None:
    spec = preset(name)
    pair = second_build(spec, plan, seed)
    before, after = scenario_model(pair.a), scenario_model(pair.b)
    for part, slots in before.kinds.items():
        edits = [edit for edit in pair.edits if edit.part == part]
        new = after.kinds[part]
        assert sorted(at for edit in edits for at in edit.a) == list(range(len(slots)))
        assert [at for edit in edits for at in edit.b] == list(range(len(new)))
        for edit in edits:
            assert edit.names_a == tuple(slots[at].name for at in edit.a)
            assert edit.names_b == tuple(new[at].name for at in edit.b)
            size = (len(edit.a), len(edit.b))
            if edit.kind in ("split", "fused"):
                assert size[edit.kind == "split"] > 1 == size[edit.kind != "split"]
                assert not set(edit.names_a) & set(edit.names_b)
            else:
                assert size == SIZES.get(edit.kind, (1, 1))
            if edit.kind in ("same", "slower", "faster", "moved"):
                assert edit.names_a == edit.names_b
            if edit.kind in ("renamed", "retuned"):
                assert edit.names_a != edit.names_b
        changed = sum(edit.kind != "same" for edit in edits)
        assert changed <= plan.edits
        kept = [edit.b[0] for edit in edits if edit.a and edit.b and edit.kind != "moved"]
        assert kept == sorted(kept)
    assert (before.prologue, before.tail) == (after.prologue, after.tail)


@pytest.mark.parametrize("kind", EDIT_KINDS)
def test_each_kind_of_edit_is_made(kind: str) -> None:
    specs = [preset(name) for name in PRESETS]
    plan = EditPlan(3, kinds=(kind,))  # type: ignore[arg-type]
    found = Counter(edit.kind for spec in specs for edit in second_build(spec, plan, 1).edits)
    assert found[kind] > 0  # type: ignore[index]
    assert set(found) <= {"same", kind}


def test_edits_lie_apart_unless_they_may_touch() -> None:
    spec = preset("sglang-qwen3-30b-a3b-b300")
    touching = 0
    for seed in range(30):
        for plan in (EditPlan(5), EditPlan(8, touching=True)):
            kinds = [edit.kind for edit in second_build(spec, plan, seed).edits]
            pairs = sum("same" not in two for two in pairwise(kinds))
            assert not pairs or plan.touching
            touching += pairs
    assert touching > 10


def test_both_builds_serve_the_same_requests(tmp_path: Path) -> None:
    spec = preset("vllm-gptoss20b", steps=4, seed=2)
    pair = second_build(spec, EditPlan(5), 7)
    truths = [
        read_truth(synthesise(one, tmp_path / name)[0].truth_path)
        for one, name in ((pair.a, "a"), (pair.b, "b"))
    ]
    steps = [[(i.phase, i.requests, i.context_tokens) for i in t.iterations] for t in truths]
    assert steps[0] == steps[1]
    assert tuple(truths[1].edits) == pair.edits
    assert not truths[0].edits
    # The last layer of the second build runs what the script says, in order.
    kernels, names = truths[1].kernels, truths[1].names
    last = (kernels["layer"] == 23) & (kernels["iteration"] == 0)
    order = np.argsort(kernels["position"][last])
    part = truths[1].header.parts[int(kernels["part"][last][0])]
    after = [name for edit in pair.edits if edit.part == part for name in edit.names_b]
    assert [names[i] for i in kernels["name"][last][order]] == after


def test_kept_kernels_take_as_long_as_the_script_says(tmp_path: Path) -> None:
    spec = preset("sglang-qwen3-8b", steps=6, seed=3)
    pair = second_build(spec, EditPlan(4, pace=0.5, kinds=("slower", "faster")), 2)
    means = []
    for one, name in ((pair.a, "a"), (pair.b, "b")):
        kernels = read_truth(synthesise(one, tmp_path / name)[0].truth_path).kernels
        inside = kernels["layer"] > 0
        count = np.bincount(kernels["position"][inside])
        means.append(np.bincount(kernels["position"][inside], kernels["dur"][inside]) / count)
    for edit in pair.edits:
        assert edit.factor is not None
        found = means[1][edit.b[0]] / means[0][edit.a[0]]
        # Noise of 200 kernels, and effects of layers that are each build's own.
        assert found == pytest.approx(edit.factor, rel=0.05)
        assert (edit.factor > 0.55) == (edit.kind == "slower")


def test_the_shipped_pair_comes_from_its_command(tmp_path: Path) -> None:
    spec = preset("sglang-qwen3-8b", steps=6, seed=1, launch="graph")
    pair = second_build(spec, EditPlan(6), 20)
    shipped = Path(__file__).resolve().parents[2] / "traces" / "qwen3-8b-builds"
    for one, name in ((pair.a, "a"), (pair.b, "b")):
        (made,) = synthesise(one, tmp_path / name)
        there, here = (
            read_truth(folder / name / made.truth_path.name) for folder in (shipped, tmp_path)
        )
        assert (there.header, there.edits) == (here.header, here.edits)
        assert all(np.array_equal(there.kernels[c], here.kernels[c]) for c in there.kernels)
    assert "--steps 6 --launch graph --seed 1 --edits 6 --edit-seed 20" in (
        shipped.parent / "README.md"
    ).read_text("utf-8")
