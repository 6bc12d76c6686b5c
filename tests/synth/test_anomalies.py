"""Anomalies of a scenario, compared with the same scenario without them."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from perfetto_autoviz.synth import Truth, preset, read_truth, synthesise
from perfetto_autoviz.synth.anomaly_kinds import KINDS

EACH = 4


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[Path]]:
    """Truths of both ranks without and with anomalies."""
    spec = replace(
        preset("sglang-qwen3-8b-tp2", steps=10, seed=3, launch="graph"),
        python_frames=False,
        cpu_ops=False,
        layers=8,
    )
    folder = tmp_path_factory.mktemp("anomalies")
    both = (synthesise(replace(spec, anomalies=n), folder / str(n)) for n in (0, EACH))
    plain, wrong = ([one.truth_path for one in captures] for captures in both)
    return plain, wrong


def labels(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads(gzip.decompress(path.read_bytes()))["anomalies"]
    return found


def kernels_of(truth: Truth, label: dict[str, Any]) -> tuple[np.ndarray, tuple[int, int]]:
    """Numbers of the kernels in a label's layer, and which layer that is."""
    row = int(np.flatnonzero(truth.layers["ts"] == label["ts"])[0])
    which = (int(truth.layers["iteration"][row]), int(truth.layers["index"][row]))
    assert truth.layers["dur"][row] == label["dur"]
    return layer_kernels(truth, which), which


def layer_kernels(truth: Truth, which: tuple[int, int]) -> np.ndarray:
    columns = truth.kernels
    return np.flatnonzero((columns["iteration"] == which[0]) & (columns["layer"] == which[1]))


def names(truth: Truth, kernels: np.ndarray) -> list[str]:
    return [truth.names[i] for i in truth.kernels["name"][kernels]]


def culprit(truth: Truth, key: dict[str, int]) -> int:
    """Number of the kernel with exactly that key."""
    fits = np.logical_and.reduce([truth.kernels[name] == value for name, value in key.items()])
    (number,) = np.flatnonzero(fits)
    return int(number)


def test_every_kind_happens_as_often_as_wanted(pair: tuple[list[Path], list[Path]]) -> None:
    counted = [Counter(one["kind"] for one in labels(path)) for path in pair[1]]
    shared = {"swap", "missing", "extra"}  # Of the replayed graph, so on both ranks.
    for kind in KINDS:
        each = [count[kind] for count in counted]
        assert each == [EACH, EACH] if kind in shared else sum(each) == EACH


def test_no_layer_has_two_anomalies(pair: tuple[list[Path], list[Path]]) -> None:
    for path in pair[1]:
        starts = [one["ts"] for one in labels(path)]
        assert len(set(starts)) == len(starts)


@pytest.mark.parametrize("rank", [0, 1])
def test_what_went_wrong_is_what_the_label_says(
    pair: tuple[list[Path], list[Path]], rank: int
) -> None:
    plain, wrong = read_truth(pair[0][rank]), read_truth(pair[1][rank])
    for label in labels(pair[1][rank]):
        after, which = kernels_of(wrong, label)
        before = layer_kernels(plain, which)
        was, now = plain.kernels["dur"][before], wrong.kernels["dur"][after]
        names_before, names_after = names(plain, before), names(wrong, after)
        blamed = [int(np.flatnonzero(after == culprit(wrong, k))[0]) for k in label["culprits"]]
        if label["kind"] in ("spike", "slow_collective"):
            expected = was.copy()
            expected[blamed] *= 5 if label["kind"] == "spike" else 3
            assert now.tolist() == expected.tolist()
        elif label["kind"] == "drift":
            assert np.abs(now - was * 1.1).max() <= 0.5
            assert blamed == []
        elif label["kind"] == "stall":
            start = [
                t.kernels["ts"][k] - t.kernels["ts"][k[0]]
                for t, k in ((plain, before), (wrong, after))
            ]
            moved = start[1] - start[0]
            assert set(moved[: blamed[0]]) == {0}
            assert set(moved[blamed[0] :]) == {5_000}
        elif label["kind"] == "missing":
            assert Counter(names_before) - Counter(names_after) == Counter([label["name"]])
            assert len(names_before) == len(names_after) + 1
        elif label["kind"] == "extra":
            (at,) = blamed
            assert names_after[:at] + names_after[at + 1 :] == names_before
            assert names_after[at] not in (names_after[at - 1], names_after[at + 1])
        else:
            assert label["kind"] == "swap"
            first, second = blamed
            exchanged = [*names_before]
            exchanged[first], exchanged[second] = exchanged[second], exchanged[first]
            assert (second - first, names_after) == (3, exchanged)


def test_kernels_stay_in_order_and_do_not_overlap_anew(
    pair: tuple[list[Path], list[Path]],
) -> None:
    for plain, wrong in zip(*pair, strict=True):
        overlaps = []
        for truth in (read_truth(plain), read_truth(wrong)):
            main = truth.kernels["stream"] == 0
            ts, dur = truth.kernels["ts"][main], truth.kernels["dur"][main]
            assert (np.diff(ts) > 0).all()
            overlaps.append(int((ts[1:] < ts[:-1] + dur[:-1]).sum()))
        assert overlaps[0] == overlaps[1]


def test_the_same_seed_makes_the_same_anomalies(tmp_path: Path) -> None:
    spec = preset("sglang-qwen3-8b", steps=3, launch="graph", anomalies=1)
    first, second = (synthesise(spec, tmp_path / name)[0] for name in ("a", "b"))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.truth_path.read_bytes() == second.truth_path.read_bytes()
