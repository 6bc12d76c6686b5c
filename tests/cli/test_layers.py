"""``autoviz layers``: the table's numbers, which steps it shows, and the CSV file."""

from __future__ import annotations

import csv
import gzip
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfetto_autoviz.cli.layers import csv_path
from tests.cli.handmade import LAYER_KERNELS, LAYERS, write_capture

Run = Callable[..., Any]

COLUMNS = ["Pos", "Kernel", "Avg", "Std", "Min", "Max", "%", "N"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_table_of_the_dominant_batch_size(autoviz: Run, capture: Path) -> None:
    # Two of the three steps have 8 requests, with kernels of d and d + 1 µs.
    done = autoviz("layers", capture)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"attention+mlp · decode bs=8 · {2 * LAYERS} executions"
    assert lines[1].split() == COLUMNS
    total = sum(dur + 0.5 for _, dur in LAYER_KERNELS)
    for position, (line, (_, dur)) in enumerate(zip(lines[2:], LAYER_KERNELS, strict=False)):
        wanted = [dur + 0.5, 0.5, dur, dur + 1]
        share = 100 * (dur + 0.5) / total
        cells = line.split()
        assert cells[0] == str(position)
        assert cells[2:] == [*(f"{value:.2f}" for value in wanted), f"{share:.1f}", str(2 * LAYERS)]
    per_layer, all_layers = lines[2 + len(LAYER_KERNELS) : 4 + len(LAYER_KERNELS)]
    assert per_layer.split() == ["TOTAL", "per", "layer", f"{total:.2f}"]
    assert all_layers.split() == ["x", str(LAYERS), "layers", f"{LAYERS * total:.2f}"]
    assert max(map(len, lines)) <= 80


def test_chosen_batch_size_and_phase(autoviz: Run, capture: Path) -> None:
    found = json.loads(autoviz("layers", capture, "--batch-size", 16, "--json").out)
    (section,) = found["sections"]
    assert (found["phase"], found["batch_size"], section["executions"]) == ("decode", 16, LAYERS)
    assert [p["mean"] for p in section["positions"]] == [
        1000.0 * (dur + 2) for _, dur in LAYER_KERNELS
    ]
    done = autoviz("layers", capture, "--batch-size", 7)
    assert done.code == 2
    assert "decode bs=8 (2 steps), decode bs=16 (1 step)" in done.err
    assert autoviz("layers", capture, "--phase", "prefill").code == 2


def test_csv_has_the_tables_columns_and_totals(autoviz: Run, capture: Path) -> None:
    done = autoviz("layers", capture, "--csv")
    assert done.code == 0
    assert done.err == "written to conc8_layer.csv\n"
    rows = _rows(Path("conc8_layer.csv"))
    assert list(rows[0])[: len(COLUMNS)] == COLUMNS
    assert [float(row["Avg"]) for row in rows[:-2]] == [dur + 0.5 for _, dur in LAYER_KERNELS]
    assert {row["N"] for row in rows[:-2]} == {str(2 * LAYERS)}
    total = sum(dur + 0.5 for _, dur in LAYER_KERNELS)
    assert [(row["Kernel"], float(row["Avg"])) for row in rows[-2:]] == [
        ("TOTAL per layer", total),
        (f"x {LAYERS} layers", LAYERS * total),
    ]


def test_csv_before_the_trace_takes_no_name_from_it(autoviz: Run, capture: Path) -> None:
    before = capture.read_bytes()
    assert autoviz("layers", "--csv", capture).code == 0
    assert Path("conc8_layer.csv").exists()
    assert capture.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "batch_size", "path"),
    [
        ("", 32, "conc32_layer.csv"),
        ("", None, "layer.csv"),
        ("mine.csv", 32, "conc32_mine.csv"),
        ("out/mine.csv", 32, "out/conc32_mine.csv"),
        ("conc32_mine.csv", 32, "conc32_mine.csv"),
        ("out/conc32_mine.csv", 32, "out/conc32_mine.csv"),
        ("conc3_mine.csv", 32, "conc32_conc3_mine.csv"),
        ("conc32.csv", 32, "conc32_conc32.csv"),
        ("mine.csv", None, "mine.csv"),
    ],
)
def test_name_of_the_csv_file(name: str, batch_size: int | None, path: str) -> None:
    assert csv_path(name, batch_size) == Path(path)


def test_csv_that_cannot_be_written(autoviz: Run, capture: Path) -> None:
    done = autoviz("layers", capture, "--csv", "missing/mine.csv")
    assert (done.code, done.out) == (2, "")
    assert "missing/conc8_mine.csv" in done.err
    assert done.err.count("\n") == 1
    Path("conc8_layer.csv").mkdir()
    assert "is a folder" in autoviz("layers", capture, "--csv").err


def test_ranks_have_sections_of_their_own(autoviz: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for rank in (0, 1):
        write_capture(folder / f"rank{rank}.json")
    done = autoviz("layers", folder, "--csv")
    assert "rank 0 · attention+mlp" in done.out
    assert "rank 1 · attention+mlp" in done.out
    assert {row["Rank"] for row in _rows(Path("conc8_layer.csv"))} == {"0", "1"}


def test_no_layers_is_told_in_one_line(autoviz: Run, capture: Path) -> None:
    done = autoviz("layers", capture, "--anchor", "nothing_like_this")
    assert (done.code, done.out) == (2, "")
    assert "no layers" in done.err
    assert done.err.count("\n") == 1


def _activities(path: Path) -> list[dict[str, Any]]:
    """Device activities of a raw capture in order of their start."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    return sorted((e for e in events if e.get("cat") in kinds), key=lambda e: float(e["ts"]))


@pytest.mark.parametrize(
    ("attention", "before", "length"),
    # From a layer's norm to its attention are 5 kernels; the two kinds have 18 and 17.
    [("kernel_unified_attention_3d", 5, 18), ("kernel_unified_attention_2d", 5, 17)],
)
def test_csv_of_a_real_capture_against_the_raw_file(
    autoviz: Run, corpus: Path, attention: str, before: int, length: int
) -> None:
    path = corpus / "llm_serving/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz"
    assert autoviz("layers", path, "--csv", "-q").code == 0
    rows = _rows(Path("conc32_layer.csv"))
    kinds = [row["Kind"] for row in rows if row["Op"] == attention]
    kind = next(k for k in kinds if "irregular" not in k)
    mine = [row for row in rows if row["Kind"] == kind and row["Pos"]]
    assert len(mine) == length

    activities = _activities(path)
    anchors = [i for i, e in enumerate(activities) if e["name"].startswith(attention)]
    layers = [
        [float(e["dur"]) for e in activities[at - before : at - before + length]] for at in anchors
    ]
    if attention.endswith("2d"):
        layers = layers[1:]  # The first layer of the model has another norm.
    for row, durations in zip(mine, zip(*layers, strict=True), strict=True):
        # The engine cuts durations to whole ns.
        assert float(row["Avg"]) == pytest.approx(statistics.fmean(durations), abs=0.002)
        assert float(row["Std"]) == pytest.approx(statistics.pstdev(durations), abs=0.002)
        assert float(row["Min"]) == pytest.approx(min(durations), abs=0.002)
        assert float(row["Max"]) == pytest.approx(max(durations), abs=0.002)
        assert int(row["N"]) == len(durations)
    total = sum(map(sum, layers)) / len(layers)
    totals = [float(row["Avg"]) for row in rows if row["Kind"] == kind and not row["Pos"]]
    assert totals == pytest.approx([total, total * len(layers)], abs=0.5)


def test_alternating_kinds_add_up_to_all_layers(autoviz: Run, corpus: Path) -> None:
    path = corpus / "llm_serving/vllm_gptoss20b_mi300x_decode/graph_execution.json.gz"
    found = json.loads(autoviz("layers", path, "--json").out)
    assert (found["phase"], found["batch_size"]) == ("decode", 32)
    assert sum(section["layers_per_step"] for section in found["sections"]) == 24
    assert "all kinds · x 24 layers" in autoviz("layers", path).out


def test_capture_without_decode_steps_shows_prefill(autoviz: Run, corpus: Path) -> None:
    path = corpus / "llm_serving/vllm_gptoss120b_b200_tp8_prefill/eager_trace.json.gz"
    found = json.loads(autoviz("layers", path, "--json").out)
    assert (found["phase"], found["batch_size"]) == ("prefill", 1)
    assert sum(section["layers_per_step"] for section in found["sections"]) == 36


def test_graph_capture_has_no_layers(autoviz: Run, corpus: Path) -> None:
    path = corpus / "llm_serving/sglang_qwen3-8b_mi300x_decode/bs_32_rank0.json.gz"
    done = autoviz("layers", path)
    assert done.code == 2
    assert "there are only capture steps" in done.err
