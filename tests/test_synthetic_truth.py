"""Synthetic captures of every framework: what is found is what the synthesiser made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import PRESETS, Truth, preset, read_truth, synthesise
from tests.live import open_fresh

# A draft model of one layer can't be told from work that happens to hold one attention.
ONE_LAYER_DRAFTS = {"sglang-qwen3-8b-speculative"}

PREFILL_BEARING = {"prefill", "mixed"}


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("seed", [1, 2])
def test_iterations_phases_and_layers_are_the_true_ones(
    name: str, seed: int, tmp_path: Path
) -> None:
    capture = synthesise(preset(name, steps=8, ranks=1, seed=seed), tmp_path)[0]
    truth = read_truth(capture.truth_path)
    with open_fresh(capture.path) as session:
        check_iterations(session, truth)
        check_layers(session, truth, every=name not in ONE_LAYER_DRAFTS)
        check_membership(session, truth)


def value(cell: Any) -> Any:
    return None if pd.isna(cell) else cell


def annotated_iterations(truth: Truth) -> list[Any]:
    """Iterations that carry an annotation; the others are another step's to find."""
    return [iteration for iteration in truth.iterations if iteration.name]


def found_iterations(session: Session) -> pd.DataFrame:
    return session.query(
        "SELECT iteration.*, phase.phase, phase.batch_size, phase.context_requests,"
        " phase.generation_requests FROM autoviz_iteration AS iteration"
        " LEFT JOIN autoviz_phase AS phase ON phase.iteration_id = iteration.id"
        " ORDER BY coalesce(iteration.host_ts, iteration.ts), level"
    )


def check_iterations(session: Session, truth: Truth) -> None:
    true, found = annotated_iterations(truth), found_iterations(session)
    assert len(found) == len(true)
    for one, row in zip(true, found.to_dict("records"), strict=True):
        assert (value(row["ts"]), value(row["dur"])) == (one.ts, one.dur)
        assert (row["level"], row["kind"], row["activity_count"]) == (
            one.level,
            one.kind,
            one.kernels,
        )
        if one.kind == "capture":
            assert value(row["phase"]) is None
            continue
        if row["dialect"] == "torch_profiler":
            # Whether it also decodes is told by the steps around it, and not always.
            assert (row["phase"] in PREFILL_BEARING) == (one.phase in PREFILL_BEARING)
            assert row["batch_size"] == one.requests
            continue
        assert (row["phase"], row["batch_size"]) == (one.phase, one.requests)
        if value(row["context_requests"]) is not None:
            assert row["context_requests"] == one.context_requests
            assert row["generation_requests"] == one.generation_requests


def check_layers(session: Session, truth: Truth, *, every: bool) -> None:
    real = {i.index for i in truth.iterations if i.kind == "step" and i.name}
    columns = ("iteration", "index", "ts", "dur")
    true = {
        row[1:]
        for row in zip(*(truth.layers[column].tolist() for column in columns), strict=True)
        if row[0] in real
    }
    rows = session.query("SELECT layer, ts, dur FROM autoviz_layer")
    found = set(rows.itertuples(index=False, name=None))
    assert len(found) == len(rows)
    assert found == true if every else found < true


def check_membership(session: Session, truth: Truth) -> None:
    """Each kernel is in the right iteration, and outside of layers where it should be."""
    order = sorted(annotated_iterations(truth), key=lambda i: (i.host_ts, i.level))
    numbers = {iteration.index: number for number, iteration in enumerate(order)}
    kernels = truth.kernels
    true = sorted(
        (ts, dur, stream, numbers[iteration])
        for ts, dur, stream, iteration in zip(
            *(kernels[column].tolist() for column in ("ts", "dur", "stream", "iteration")),
            strict=True,
        )
        if iteration in numbers
    )
    found = session.query(
        "SELECT kernel.ts, kernel.dur, kernel.stream, member.iteration_id"
        " FROM autoviz_iteration_kernel AS member JOIN autoviz_kernel AS kernel USING (seq)"
        " JOIN autoviz_iteration AS iteration ON iteration.id = member.iteration_id"
    )
    assert sorted(found.itertuples(index=False, name=None)) == true
