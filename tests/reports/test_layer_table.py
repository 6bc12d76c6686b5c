"""Which steps a layer table shows, and its sums."""

from __future__ import annotations

import pandas as pd
import pytest
from rich.console import Console

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.reports.layer_table import CSV_COLUMNS, layer_report, rows, table

_POSITION_COLUMNS = [
    "rank", "phase", "batch_size", "kind", "position", "op", "op_count", "kernel_count",
    "mean_dur", "std_dur", "min_dur", "max_dur", "total_dur", "share",
]  # fmt: skip


def _positions() -> pd.DataFrame:
    """Two kinds of one kernel each in decode steps of 8, one kind in steps of 16."""
    one = ("decode", 8)
    return pd.DataFrame(
        [
            (0, *one, "a", 0, "gemm", 1, 4, 1500.0, 500.0, 1000, 2000, 6000, 1.0),
            (0, *one, "b", 0, "norm", 2, 2, 3000.0, 0.0, 3000, 3000, 6000, 1.0),
            (0, "decode", 16, "a", 0, "gemm", 1, 2, 9000.0, 0.0, 9000, 9000, 18000, 1.0),
        ],
        columns=_POSITION_COLUMNS,
    )


def _executions(*rows_: tuple[object, ...]) -> pd.DataFrame:
    columns = ["rank", "phase", "batch_size", "kind", "iteration_id", "device", "executions"]
    found = pd.DataFrame(list(rows_), columns=columns)
    return found.astype({"rank": "Int64", "batch_size": "Int64"})


def _two_steps_of_8_one_of_16() -> pd.DataFrame:
    return _executions(
        (0, "decode", 8, "a", 0, 0, 2),
        (0, "decode", 8, "b", 0, 0, 1),
        (0, "decode", 8, "a", 1, 0, 2),
        (0, "decode", 8, "b", 1, 0, 1),
        (0, "decode", 16, "a", 2, 0, 2),
    )


def test_sums_of_two_kinds() -> None:
    report = layer_report(_positions(), _two_steps_of_8_one_of_16())
    assert report.group == "decode bs=8"
    a, b = report.sections
    assert (a.executions, a.layers_per_step, a.layer_total, a.step_total) == (4, 2, 1500, 3000)
    assert (b.executions, b.layers_per_step, b.layer_total, b.step_total) == (2, 1, 3000, 3000)
    frame = rows(report)
    assert list(frame.columns) == list(CSV_COLUMNS)
    assert frame[["Kernel", "Avg", "Kind"]].to_numpy().tolist() == [
        ["gemm", 1.5, "a"],
        ["TOTAL per layer", 1.5, "a"],
        ["x 2 layers", 3.0, "a"],
        ["norm*", 3.0, "b"],
        ["TOTAL per layer", 3.0, "b"],
        ["x 1 layer", 3.0, "b"],
        ["x 3 layers", 6.0, "all"],
    ]


def test_the_most_frequent_batch_size_wins_and_of_two_the_larger() -> None:
    executions = _two_steps_of_8_one_of_16()
    assert layer_report(_positions(), executions).batch_size == 8
    as_many = executions[executions["iteration_id"] != 1]
    assert layer_report(_positions(), as_many).batch_size == 16


def test_a_step_on_two_devices_counts_once() -> None:
    executions = _executions(
        (0, "decode", 8, "a", 0, 0, 1),
        (0, "decode", 8, "a", 0, 1, 1),
        (0, "decode", 16, "a", 1, 0, 1),
    )
    assert layer_report(_positions(), executions).batch_size == 16


def test_decode_is_preferred_to_what_is_more_frequent() -> None:
    executions = _executions(
        (0, "prefill", 1, "a", 0, 0, 1),
        (0, "prefill", 1, "a", 1, 0, 1),
        (0, "decode", 8, "a", 2, 0, 1),
    )
    assert layer_report(_positions(), executions).phase == "decode"
    assert layer_report(_positions(), executions[:2]).phase == "prefill"


def test_steps_without_phase_and_size() -> None:
    positions = _positions()[:1].assign(phase=None, batch_size=pd.array([None], dtype="Int64"))
    executions = _executions((None, None, None, "a", 0, 0, 4))
    report = layer_report(positions.assign(rank=pd.array([None], "Int64")), executions)
    assert (report.phase, report.batch_size) == (None, None)
    (section,) = report.sections
    assert (section.rank, len(section.positions)) == (None, 1)


def test_no_such_steps() -> None:
    with pytest.raises(UsageError, match=r"decode bs=8 \(2 steps\), decode bs=16 \(1 step\)"):
        layer_report(_positions(), _two_steps_of_8_one_of_16(), "decode", 7)


def test_mean_number_of_layers() -> None:
    executions = _executions((0, "decode", 8, "a", 0, 0, 3), (0, "decode", 8, "a", 1, 0, 1))
    report = layer_report(_positions(), executions)
    assert "x 2 layers" in rows(report)["Kernel"].tolist()
    uneven = _executions((0, "decode", 8, "a", 0, 0, 3), (0, "decode", 8, "b", 1, 0, 1))
    assert "x 1.5 layers" in rows(layer_report(_positions(), uneven))["Kernel"].tolist()


@pytest.mark.parametrize("width", [60, 80])
def test_fits_a_narrow_terminal(width: int) -> None:
    positions = _positions().assign(op="vectorized_elementwise:CUDAFunctor_add_of_something")
    screen = Console(width=width, color_system=None)
    with screen.capture() as captured:
        screen.print(table(layer_report(positions, _two_steps_of_8_one_of_16())))
    assert max(map(len, captured.get().splitlines())) <= width
    assert "* executions differ there" in captured.get()
