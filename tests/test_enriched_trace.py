"""An enriched trace holds everything: alone, in a plain trace processor, value for value."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from perfetto_autoviz import open_trace
from perfetto_autoviz.annotate import write_annotated
from perfetto_autoviz.session import Session
from perfetto_autoviz.synth import EPOCH_US, preset, synthesise
from tests.live import annotated, bare_engine, comparable, open_fresh, public_relations

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "traces" / "vllm-gptoss20b.pt.trace.json.gz"
B300 = (
    "llm_serving/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300/"
    "1782799835.6885648-TP-0-DECODE.trace.json.gz"
)
REAL = [
    "llm_serving/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz",
    "llm_serving/sglang_qwen3-8b_mi300x_decode/sglang_Qwen3-8B_decode.json.gz",
    B300,
    "odd/mi250_minitoy.json.gz",
]


def frames(session: Session) -> dict[str, pd.DataFrame]:
    return {
        name: comparable(name, session.query(f"SELECT * FROM {name}"))
        for name in public_relations()
    }


def assert_same(live: dict[str, pd.DataFrame], stored: dict[str, pd.DataFrame]) -> None:
    assert live.keys() == stored.keys()
    for name, frame in live.items():
        assert_frame_equal(frame, stored[name], check_exact=True, obj=name)


class Shipped(NamedTuple):
    """The shipped capture annotated: its enriched trace, and all relations as they were made."""

    enriched: Path
    live: dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    out = tmp_path_factory.mktemp("shipped") / "shipped.autoviz.zip"
    with open_fresh(SHIPPED) as session:
        live = frames(session)
        write_annotated(session, out)
    return Shipped(out, live)


@pytest.fixture(scope="module")
def overlapping(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The enriched trace of a capture with kernels that overlap."""
    return annotated(corpus / B300, tmp_path_factory.mktemp("overlapping"))


def test_every_relation_reads_back_in_a_plain_trace_processor(shipped: Shipped) -> None:
    live = shipped.live
    with bare_engine(shipped.enriched) as engine:
        stored = {name: comparable(name, engine.query(f"SELECT * FROM {name}")) for name in live}
    assert not live["autoviz_layer"].empty
    assert_same(live, stored)


@pytest.mark.parametrize("name", REAL)
def test_every_relation_reads_back_on_real_captures(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "real.autoviz.zip"
    with open_fresh(corpus / name) as session:
        live = frames(session)
        write_annotated(session, out)
    with open_trace(out) as session:
        assert isinstance(session, Session)
        assert session.stored
        assert_same(live, frames(session))


def test_annotating_again_replaces_the_annotations(shipped: Shipped, tmp_path: Path) -> None:
    before = shipped.enriched.read_bytes()
    again, itself = tmp_path / "again.autoviz.zip", tmp_path / "itself.autoviz.zip"
    shutil.copy(shipped.enriched, itself)
    with open_fresh(itself) as session:
        write_annotated(session, again)
        write_annotated(session, itself)
    assert again.read_bytes() == before
    assert itself.read_bytes() == before


def test_the_original_goes_in_unchanged(shipped: Shipped) -> None:
    with zipfile.ZipFile(shipped.enriched) as archive:
        assert archive.namelist() == [SHIPPED.name, "annotations.pftrace"]
        assert archive.read(SHIPPED.name) == SHIPPED.read_bytes()


SLICES_ON_KERNELS = """
    SELECT owner.ts, owner.dur, min(kernel.ts) AS first,
           max(kernel.ts + kernel.dur) AS last, count() AS kernels
    FROM {relation} AS owner
    JOIN {members} AS member ON member.{key} = owner.id
    JOIN autoviz_kernel AS kernel USING (seq)
    GROUP BY owner.id
"""
RELATIONS = {
    "autoviz_iteration": ("autoviz_iteration_kernel", "iteration_id"),
    "autoviz_layer": ("autoviz_layer_kernel", "layer_id"),
}


def assert_on_kernels(path: Path, *, expected: dict[str, int]) -> None:
    """Slices of the annotation tracks start and end exactly with kernels of the same file."""
    with open_trace(path) as session:
        assert isinstance(session, Session)
        for relation, (members, key) in RELATIONS.items():
            rows = session.query(
                SLICES_ON_KERNELS.format(relation=relation, members=members, key=key)
            )
            assert len(rows) == expected[relation]
            assert (rows["ts"] == rows["first"]).all()
            assert (rows["ts"] + rows["dur"] == rows["last"]).all()
        drawn = session.query(
            "SELECT category, ts, dur FROM slice WHERE category GLOB 'autoviz.*' AND dur > 0"
        )
        for relation in RELATIONS:
            shown = drawn[drawn["category"] == relation.replace("_", ".", 1)][["ts", "dur"]]
            told = session.query(f"SELECT ts, dur FROM {relation} WHERE ts IS NOT NULL")
            assert sorted(shown.itertuples(index=False)) == sorted(told.itertuples(index=False))


def test_slices_lie_exactly_on_kernels_that_overlap(overlapping: Path) -> None:
    assert_on_kernels(overlapping, expected={"autoviz_iteration": 1, "autoviz_layer": 48})


def test_slices_lie_exactly_on_kernels_at_epoch_scale(tmp_path: Path) -> None:
    spec = replace(preset("sglang-qwen3-30b-a3b-b300", steps=4, seed=5), clock_us=EPOCH_US)
    capture = synthesise(spec, tmp_path)[0]
    out = annotated(capture.path, tmp_path)
    assert_on_kernels(out, expected={"autoviz_iteration": 4, "autoviz_layer": 4 * 48})


def test_the_views_report_activities_that_an_old_engine_drops(overlapping: Path) -> None:
    with bare_engine(overlapping) as engine:
        if not engine.drops_overlaps:
            pytest.skip("this engine keeps activities that overlap")
        row = engine.query("SELECT loaded_count, warning FROM autoviz_capture").iloc[0]
    # 375 of the 713 kernels, the 4 copies and the fill are what v55.3 keeps.
    assert row["loaded_count"] == 375 + 4 + 1
    assert row["warning"].startswith("338 of 718 device activities are missing")


def test_a_capture_without_annotations_answers_with_empty_relations(tmp_path: Path) -> None:
    copy = tmp_path / "capture.json.gz"
    shutil.copy(SHIPPED, copy)
    with bare_engine(copy) as engine:
        assert engine.query("SELECT * FROM autoviz_iteration").empty
        assert engine.query("SELECT * FROM autoviz_capture").empty
        kernels = engine.query("SELECT count() AS n, count(op) AS named FROM autoviz_kernel")
    assert kernels["n"].iloc[0] > 0
    assert kernels["named"].iloc[0] == 0
