"""Comparisons of real captures, checked against their raw events."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from perfetto_autoviz.comparison import Comparison, compare_builds
from perfetto_autoviz.comparison.opened import Side, read_side
from perfetto_autoviz.comparison.window import whole_build
from perfetto_autoviz.ingest import find_captures
from perfetto_autoviz.opening import OpenOptions
from perfetto_autoviz.reports.comparison.changes import largest_changes
from perfetto_autoviz.reports.comparison.page import page
from perfetto_autoviz.reports.comparison.tables import rank_spread, timing_table

QWEN_30B = "llm_serving/sglang_qwen3-30b-a3b_mi300x_vs_b300_decode"
MI300X = f"{QWEN_30B}/MI300/1782859605.7198358-TP-0-DECODE.trace.json.gz"
DLRM = "multirank/dlrm_8ranks_v100"
FORTY_STEPS = "many_iterations/param_linear_40steps_rtx2080ti.json.gz"


def read(*paths: Path) -> Side:
    return read_side(find_captures(paths), paths[0].stem, OpenOptions(fresh=True))


def compared(a: Side, b: Side) -> Comparison:
    one, other = whole_build(a), whole_build(b)
    return compare_builds(one, other, a.info(one), b.info(other))


def raw_kernels(path: Path) -> list[tuple[int, int]]:
    """Starts and ends in ns of what runs on the busiest stream of a capture."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    ((stream, _),) = Counter(event["args"]["stream"] for event in kernels).most_common(1)
    return [
        (round(event["ts"] * 1e3), round((event["ts"] + event["dur"]) * 1e3))
        for event in kernels
        if event["args"]["stream"] == stream
    ]


def test_two_vendors_by_the_raw_events(corpus: Path) -> None:
    a, b = read(corpus / MI300X), read(*(corpus / QWEN_30B / "B300").glob("*-DECODE*"))
    found = compared(a, b)
    (pair,) = found.pairs
    runs = a.ranks[0].frames["pattern_run"]
    whole = runs[(runs[["missing", "extra", "swapped"]] == 0).all(axis=1)]
    assert len(whole) == len(pair.runs_a) == 47
    kernels = raw_kernels(corpus / MI300X)
    walls, busy = 0, 0
    # Nothing overlaps on that stream, so that each run's kernels are those within its span.
    for start, dur in zip(whole["ts"], whole["dur"], strict=True):
        inside = [k for k in kernels if k[0] >= start - 1 and k[1] <= start + dur + 1]
        assert len(inside) == 16
        walls += max(end for _, end in inside) - min(begin for begin, _ in inside)
        busy += sum(end - begin for begin, end in inside)
    # Each end of a span is rounded to a ns.
    assert pair.waterfall.a == pytest.approx(walls / 47, abs=2)
    assert pair.operations["dur_a"].sum() == pytest.approx(busy / 47, abs=20)
    fall = pair.waterfall
    assert fall.a + sum(bar.change for bar in fall.bars) == pytest.approx(fall.b, rel=1e-12)
    assert pair.match.score.score > 0.78
    assert pair.timing.verdict == "faster"
    assert page(found).count("<details") == 2


def test_forty_steps_against_themselves(corpus: Path) -> None:
    side = read(corpus / FORTY_STEPS)
    found = compared(side, side)
    assert [pair.match.score.score for pair in found.pairs] == [1.0] * len(found.a.loops)
    assert {pair.timing.verdict for pair in found.pairs} <= {"no change", "not judged"}
    assert largest_changes(found) == []
    assert {bar.change for pair in found.pairs for bar in pair.waterfall.bars} == {0}


def test_ranks_that_differ_are_shown(corpus: Path) -> None:
    files = sorted((corpus / DLRM).iterdir())
    found = compared(read(*files[:4]), read(*files[4:]))
    first = found.pairs[0]
    each = timing_table(first).dropna(subset="rank")
    assert sorted(zip(each["build"], each["rank"], strict=True)) == [
        *(("A", rank) for rank in range(4)),
        *(("B", rank) for rank in range(4, 8)),
    ]
    slowest = rank_spread(first, "B")
    assert slowest is not None
    medians = each[each["build"] == "B"].set_index("rank")["median"]
    assert slowest[0] == medians.idxmax()
    assert slowest[1] == pytest.approx((medians.max() - medians.min()) / medians.median())
    assert slowest[1] > 0.5
