"""Loops on several streams of a device."""

from __future__ import annotations

import numpy as np
import pytest

from perfetto_autoviz.steps.patterns import RankKernels, detect_patterns, kernel_places
from perfetto_autoviz.steps.patterns.parting import keep_groups_whole
from perfetto_autoviz.steps.patterns.result import Patterns
from tests.steps.patterns.sequences import runs_of, shape, text

LAYER = "nqradgmus"
LAYERS = 14
STEPS = 8
LAYERS_IN_STEPS = [("P1", STEPS), ("P1.1", STEPS * LAYERS)]


def steps_with_side(
    side: str,
    jitter: int,
    rank: int = 0,
    moved: frozenset[int] = frozenset(),
    prompts: frozenset[int] = frozenset(),
    alone: frozenset[int] = frozenset(),
) -> tuple[RankKernels, np.ndarray, np.ndarray]:
    """Steps whose layers run ``side`` on a stream of its own, from about their middle on.

    Args:
        side: operations on the side stream in each layer.
        jitter: largest shift of a side kernel in ns; kernels of the main stream last 100 ns.
        rank: number of the rank.
        moved: steps in which the main stream's fourth kernel of each layer runs on the side.
        prompts: steps in which everything takes eight times as long.
        alone: steps that run everything on the main stream, the side's in the layer's middle.

    Returns:
        The kernels, and for each its layer (counted through all steps, -1 outside) and
        its position in the layer, the main stream's first.
    """
    rng = np.random.default_rng(rank + 1)
    rows: list[tuple[int, int, int, int, int, int]] = []
    now = 1_000
    for step in range(STEPS):
        pace = 8 if step in prompts else 1
        for letter in "ABCDE":
            rows.append((now, 100 * pace, 7, ord(letter), -1, -1))
            now += 102 * pace
        for layer in range(LAYERS):
            number = step * LAYERS + layer
            begin = now
            order = [*range(len(LAYER))]
            if step in alone:
                order[5:5] = range(len(LAYER), len(LAYER + side))
            for position in order:
                stream = 9 if position == 3 and step in moved else 7
                letter = (LAYER + side)[position]
                rows.append((now, 100 * pace, stream, ord(letter), number, position))
                now += 102 * pace
            for nth, letter in enumerate("" if step in alone else side):
                shift = int(rng.integers(-jitter, jitter + 1))
                start = begin + (350 + nth * 120 + shift) * pace
                rows.append((start, 60 * pace, 9, ord(letter), number, len(LAYER) + nth))
        for letter in "xyz":
            rows.append((now, 100 * pace, 7, ord(letter), -1, -1))
            now += 102 * pace
        now += 900
    ts, dur, stream, op, layer_of, place = np.array(rows).T
    one = RankKernels(rank, np.zeros(len(ts), dtype=np.int64), stream, ts, dur, op)
    return one, layer_of, place


def runs_by_name(found: Patterns) -> list[tuple[str, int]]:
    return [(name, runs) for name, _, _, runs in shape(found)]


@pytest.mark.parametrize("side", ["c", "cc", "ces"])
@pytest.mark.parametrize("jitter", [0, 55])
def test_kernels_of_a_side_stream_join_the_layer(side: str, jitter: int) -> None:
    one, layer, place = steps_with_side(side, jitter)
    found = detect_patterns([one])
    assert runs_by_name(found) == LAYERS_IN_STEPS
    pattern = found.patterns[1]
    assert sorted(pattern.ops) == sorted(text(LAYER + side))
    roles = found.positions.stream_role[found.positions.pattern == 1]
    assert sorted(roles.tolist()) == [0] * len(LAYER) + [1] * len(side)
    places = kernel_places(found)
    inside = layer >= 0
    assert np.all(places.pattern[inside] == 1)
    numbers = found.runs.number[places.run[inside]]
    assert np.array_equal(numbers, layer[inside])
    pairs = np.unique(np.stack([place[inside], places.position[inside]]), axis=1)
    assert pairs.shape[1] == len(LAYER + side)


def test_layers_of_prompts_take_longer_than_most() -> None:
    """What runs beside them starts later than most layers end."""
    one, layer, _ = steps_with_side("ces", 55, prompts=frozenset({0, 3}))
    found = detect_patterns([one])
    assert runs_by_name(found) == LAYERS_IN_STEPS
    assert len(found.exceptions) == 0
    places = kernel_places(found)
    assert np.array_equal(found.runs.number[places.run[layer >= 0]], layer[layer >= 0])


@pytest.mark.parametrize(
    ("run", "op", "expected"),
    [
        # A group across two runs of which the other has one of its own already.
        ("00112223", "ABABABAB", "00112233"),
        ("00012233", "ABABABAB", "00112233"),
        # A run whose group begins before it, and one that has no other.
        ("00123344", "ABABABAB", "00113344"),
        # A group of three goes to the run that most of it lies beside.
        ("000122333", "ABCABCABC", "000222333"),
        # Two groups for the same run are left alone, as are other kernels.
        ("001122", "ABXYAB", "001122"),
        ("0123", "AAAA", "0123"),
    ],
)
def test_groups_across_two_runs_go_to_one(run: str, op: str, expected: str) -> None:
    numbers = np.array([*map(int, run)])
    parted = keep_groups_whole(numbers, np.array(text(op)))
    assert "".join(map(str, parted)) == expected


def test_no_kernels_beside_runs() -> None:
    none = np.empty(0, dtype=np.int64)
    assert len(keep_groups_whole(none, none)) == 0


def test_a_replay_moves_a_kernel_to_another_stream() -> None:
    one, layer, place = steps_with_side("", 0, moved=frozenset({2, 5}))
    found = detect_patterns([one])
    assert runs_by_name(found) == LAYERS_IN_STEPS
    places = kernel_places(found)
    moved = (place == 3) & (layer >= 0)
    assert len(np.unique(places.position[moved])) == 1
    assert len(found.exceptions) == 0


@pytest.mark.parametrize("jitter", [0, 55])
def test_steps_without_a_graph_run_all_on_one_stream(jitter: int) -> None:
    one, layer, place = steps_with_side("ces", jitter, alone=frozenset({0, 4, 5}))
    found = detect_patterns([one])
    assert runs_by_name(found) == LAYERS_IN_STEPS
    assert len(found.exceptions) == 0
    places = kernel_places(found)
    inside = layer >= 0
    assert np.array_equal(found.runs.number[places.run[inside]], layer[inside])
    pairs = np.unique(np.stack([place[inside], places.position[inside]]), axis=1)
    assert pairs.shape[1] == len(LAYER + "ces")
    # Positions count in the program's order, though most steps don't run in it.
    ops = "".join(map(chr, found.patterns[1].ops))
    assert ops in 2 * (LAYER[:5] + "ces" + LAYER[5:])


@pytest.mark.parametrize("side", ["cd", "ces"])
def test_a_rank_lacks_a_kernel_of_a_side_stream(side: str) -> None:
    """Half of the runs have it then; the other half miss it."""
    (first, _, _), (other, _, place) = (steps_with_side(side, 50, rank) for rank in range(2))
    there = place != len(LAYER)
    names = ("device", "stream", "ts", "dur", "op")
    lacking = RankKernels(1, **{name: getattr(other, name)[there] for name in names})
    found = detect_patterns([first, lacking])
    assert [(one.name, one.ranks) for one in found.patterns] == [("P1", (0, 1)), ("P1.1", (0, 1))]
    (missing,) = {found.exceptions.position[i] for i in range(len(found.exceptions))}
    assert len(found.exceptions) == STEPS * LAYERS
    assert set(found.runs.rank[found.exceptions.run].tolist()) == {1}
    assert found.patterns[1].ops[missing] == ord(side[0])


def test_a_collective_waits_longer_than_the_layer_takes() -> None:
    """The stream that is busiest is not the one whose loop it is."""
    one, layer, _ = steps_with_side("c", 0)
    names = ("device", "stream", "ts", "op")
    dur = np.where(one.stream == 9, 800, one.dur)
    found = detect_patterns([RankKernels(0, dur=dur, **{n: getattr(one, n) for n in names})])
    assert [(p.name, p.kernels) for p in found.patterns][1] == ("P1.1", len(LAYER) + 1)
    places = kernel_places(found)
    assert np.array_equal(found.runs.number[places.run[layer >= 0]], layer[layer >= 0])


def test_side_streams_on_several_ranks() -> None:
    ranks = [steps_with_side("ce", 50, rank)[0] for rank in range(3)]
    found = detect_patterns(ranks)
    assert [(p.name, p.ranks) for p in found.patterns] == [("P1", (0, 1, 2)), ("P1.1", (0, 1, 2))]
    assert len(runs_of(found, "P1.1")) == 3 * STEPS * LAYERS


def test_spans_hold_the_kernels_of_all_streams() -> None:
    one, layer, _ = steps_with_side("ces", 55)
    found = detect_patterns([one])
    mine = found.runs.pattern == 1
    for number, ts, dur in zip(
        found.runs.number[mine], found.runs.ts[mine], found.runs.dur[mine], strict=True
    ):
        kernels = layer == number
        assert ts == one.ts[kernels].min()
        assert ts + dur == (one.ts + one.dur)[kernels].max()


def test_strays_of_another_stream_stay_outside() -> None:
    one, layer, _ = steps_with_side("", 0)
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(one.ts[0], one.ts[-1], 25))
    strays = {
        "device": np.zeros(25, dtype=np.int64),
        "stream": np.full(25, 3),
        "ts": at,
        "dur": np.full(25, 5),
        "op": np.full(25, 77),
    }
    both = RankKernels(
        0, **{name: np.concatenate([getattr(one, name), new]) for name, new in strays.items()}
    )
    found = detect_patterns([both])
    assert runs_by_name(found) == LAYERS_IN_STEPS
    assert len(found.exceptions) == 0
    assert np.all(kernel_places(found).run[len(layer) :] == -1)
