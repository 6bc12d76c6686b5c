"""Labels of injected anomalies, and those of truth files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pytest

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.evaluation.frames import ACTIVITY, MEMBERS, with_anomalies
from perfetto_autoviz.evaluation.inject import inject
from perfetto_autoviz.evaluation.labels import Label, injected_labels
from perfetto_autoviz.evaluation.plan import Plan
from perfetto_autoviz.evaluation.truth import read_labels
from tests.evaluation.activities import Row, activities, plan

ROWS: list[Row] = [
    (1_000, 100, "a", 7),
    (1_110, 200, "b", 7),
    (1_320, 300, "c", 7),
    (1_630, 400, "d", 7),
    (9_000, 100, "a", 7),
]
RUN = [0, 1, 2, 3]


def labelled(one: Plan) -> Label:
    frame = activities(ROWS).assign(family=["norm", "gemm", "rope", "memory", "norm"])
    (label,) = injected_labels(frame, [one], inject(frame, [one]))
    return label


def test_a_label_spans_the_run_as_it_became() -> None:
    # From 1,000 to the end of d, at 2,030: 800 later for b, which lasts 800 longer.
    label = labelled(plan("spike", RUN, 1))
    assert (label.ts, label.dur) == (1_000, 1_830)
    assert (label.family, label.channel, label.culprits) == ("gemm", "run time", (1,))


def test_both_kernels_of_a_swap_are_culprits() -> None:
    assert labelled(plan("swap", RUN, 0, 3)).culprits == (0, 3)


def test_a_missing_kernel_is_named_by_its_operation() -> None:
    label = labelled(plan("missing", RUN, 2))
    assert (label.culprits, label.op, label.family) == ((), "c", "rope")
    assert label.dur == 2_030 - 310 - 1_000


def test_an_extra_kernel_is_the_culprit_by_its_new_number() -> None:
    label = labelled(plan("extra", RUN, 1, 3))
    assert (label.culprits, label.family) == ((2,), "memory")


def test_a_drift_blames_no_kernel() -> None:
    label = labelled(plan("drift", RUN))
    assert (label.blames, label.channel, label.family) == (False, None, "all")


def test_an_extra_kernel_belongs_to_the_steps_of_the_one_before_it() -> None:
    members = pd.DataFrame(
        {
            "iteration_id": [0, 0, 0, 0, 1, 1, 2],
            "device": 0,
            "position": [0, 1, 2, 3, 0, 1, 0],
            "seq": [0, 1, 2, 3, 1, 2, 4],
        }
    )
    base = {ACTIVITY: activities(ROWS), MEMBERS: members}
    plans = [plan("extra", [0, 1, 2], 1, 0), plan("missing", [3, 4], 3)]
    frames, _ = with_anomalies(base, plans)
    kept = frames[MEMBERS][["iteration_id", "position", "seq"]].to_numpy().tolist()
    # Activity 1 is followed by the extra one, number 2; 3, the old 2; and 4, the old 4.
    assert kept == [
        [0, 0, 0],
        [0, 1, 1],
        [0, 2, 2],
        [0, 3, 3],
        [1, 0, 1],
        [1, 1, 2],
        [1, 2, 3],
        [2, 0, 4],
    ]


def truth(folder: Path, anomalies: list[dict[str, Any]], **members: object) -> Path:
    path = folder / "capture.truth.json"
    document = {"schema": "autoviz-truth", "version": 1, "rank": 3, "anomalies": anomalies}
    path.write_bytes(orjson.dumps({**document, **members}))
    return path


SPIKE = {"kind": "spike", "ts": 1_000, "dur": 1_030, "channel": "run time"}


def test_a_truth_file_of_any_generator_needs_few_members(tmp_path: Path) -> None:
    """Kind, span, and whatever is known of the culprit."""
    ranks = {3: activities(ROWS)}
    by_start = truth(tmp_path, [{**SPIKE, "culprits": [{"ts": 1_110}]}])
    (label,) = read_labels(by_start, ranks)
    assert label == Label("spike", 3, 1_000, 1_030, "gemm", "run time", (1,), None)
    (label,) = read_labels(truth(tmp_path, [{"kind": "odd", "ts": 5, "dur": 6}]), ranks)
    assert label == Label("odd", 3, 5, 6, "all", None, (), None)
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
    (label,) = read_labels(truth(tmp_path, [{**SPIKE, "kind": "missing", "name": name}]), ranks)
    assert (label.family, label.culprits) == ("elementwise", ())
    assert label.op == "vectorized_elementwise:CUDAFunctor_add<float>"


def test_kernels_that_start_together_are_told_apart(tmp_path: Path) -> None:
    rows: list[Row] = [(10, 5, "a", 7), (10, 6, "b", 8), (10, 6, "c", 9)]
    key = {"ts": 10, "dur": 6, "stream": 9, "correlation": 102}
    (label,) = read_labels(truth(tmp_path, [{**SPIKE, "culprits": [key]}]), {3: activities(rows)})
    assert label.culprits == (2,)


@pytest.mark.parametrize(
    ("anomalies", "members", "message"),
    [
        ([{"ts": 1, "dur": 2}], {}, "without 'kind'"),
        ([{**SPIKE, "culprits": [{"ts": 1}]}], {}, "no activity of the capture starts at 1 ns"),
        ([], {"schema": "other"}, "no truth file"),
        ([], {"version": 2}, "truth version 2"),
        ([], {"rank": 4}, "rank 4, of which no capture"),
    ],
)
def test_what_is_wrong_with_a_truth_file_is_said(
    tmp_path: Path, anomalies: list[dict[str, Any]], members: dict[str, object], message: str
) -> None:
    with pytest.raises(CaptureError, match=message):
        read_labels(truth(tmp_path, anomalies, **members), {3: activities(ROWS)})


def test_a_truth_file_without_labels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.truth.json"
    path.write_bytes(orjson.dumps({"schema": "autoviz-truth", "version": 1, "rank": 0}))
    with pytest.raises(CaptureError, match="labels no anomalies"):
        read_labels(path, {0: activities(ROWS)})
