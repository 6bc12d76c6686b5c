from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.engine import Stat, chunks, estimate_heap, fits, judge, start_engine
from perfetto_autoviz.engine.engine import drops_overlaps
from perfetto_autoviz.engine.stats import RULES

MIB = 2**20


@settings(deadline=None)
@given(st.lists(st.binary(max_size=50), max_size=20), st.integers(1, 9), st.integers(1, 9))
def test_chunks_keep_the_bytes(pieces: list[bytes], smallest: int, more: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "SMALLEST", smallest)
        patch.setattr(chunks, "LARGEST", smallest + more)
        cut = [bytes(piece) for piece in chunks.rechunked(pieces)]
    assert b"".join(cut) == b"".join(pieces)
    assert all(0 < len(piece) <= smallest + more for piece in cut)


def test_a_huge_chunk_is_cut_below_the_message_limit() -> None:
    sizes = [len(piece) for piece in chunks.rechunked([bytes(70 * MIB), b"x"])]
    assert sizes == [32 * MIB, 32 * MIB, 6 * MIB, 1]


@pytest.mark.parametrize(("unpacked", "heap"), [(27, 149), (268, 771), (806, 2029), (1346, 3473)])
def test_heap_estimate_against_measurements(unpacked: int, heap: int) -> None:
    assert heap * 0.95 <= estimate_heap(unpacked * MIB) / MIB <= heap * 1.15


def test_what_fits() -> None:
    assert fits(1346 * MIB, "wasm")
    assert not fits(1600 * MIB, "wasm")
    assert fits(16000 * MIB, "native")


@pytest.mark.parametrize(
    ("version", "drops"),
    [("v55.3", True), ("v56.0", True), ("v57.0", False), ("v59.1", False), ("unknown", False)],
)
def test_which_versions_drop_overlaps(version: str, drops: bool) -> None:
    assert drops_overlaps(version) is drops


def test_dropped_slices_are_a_loss_and_spilled_ones_are_not() -> None:
    dropped = judge([Stat("slice_drop_overlapping_complete_event", 340, "error")], "v55.3")
    assert [loss.stat.value for loss in dropped.losses] == [340]
    spilled = judge([Stat("slice_spill_overlapping_complete_event", 340, "error")], "v58.2")
    assert not spilled.losses
    assert not spilled.stop_line
    assert spilled.remarks[0].rule is not None
    assert spilled.remarks[0].rule.meaning == "informational"


def test_a_rule_holds_for_its_versions_only() -> None:
    verdict = judge([Stat("slice_spill_overlapping_complete_event", 1, "error")], "v56.0")
    assert "slice_spill_overlapping_complete_event=1" in verdict.stop_line


def test_unknown_errors_stop_and_name_themselves() -> None:
    verdict = judge([Stat("brand_new_failure", 3, "data_loss")], "v99.0")
    assert "brand_new_failure=3" in verdict.stop_line
    assert "\n" not in verdict.stop_line


def test_what_is_no_error_is_not_judged() -> None:
    verdict = judge(
        [Stat("flow_end_without_start", 428, "info"), Stat("json_parser_failure", 0, "error")],
        "v55.3",
    )
    assert (verdict.unknown, verdict.losses, verdict.remarks) == ((), (), ())


@pytest.mark.parametrize(
    ("capture", "losses", "remarks"),
    [
        # The folder of the captures says how many slices of this one overlap.
        (
            "llm_serving/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode/B300",
            ["slice_drop_overlapping_complete_event"],
            [],
        ),
        ("odd/aiu_allreduce_tp4_begin_end.json", None, ["misplaced_end_event"]),
        ("train/tb_resnet50_old_kineto.json.gz", None, ["flow_no_enclosing_slice"]),
    ],
)
def test_what_real_captures_report_is_known(
    corpus: Path, wasm_folder: Path, capture: str, losses: list[str] | None, remarks: list[str]
) -> None:
    path = corpus / capture
    if path.is_dir():
        path = next(path.glob("*.json.gz"))
    with start_engine(str(wasm_folder)) as engine:
        engine.load([path.read_bytes()])
        verdict = judge(engine.stats(), engine.version)
    assert verdict.stop_line == ""
    assert [found.stat.name for found in verdict.remarks] == remarks
    if losses is not None:
        assert [found.stat.name for found in verdict.losses] == losses


def test_one_rule_for_a_statistic_and_version() -> None:
    for major in (55, 57, 59):
        names = [rule.name for rule in RULES if rule.holds_for(major)]
        assert len(names) == len(set(names))
