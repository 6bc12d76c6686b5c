"""Detection on sequences whose loops are known by construction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.steps.patterns import (
    EXTRA_KERNEL,
    MISSING,
    SWAPPED_KERNEL,
    detect_patterns,
    kernel_places,
)
from tests.steps.patterns.sequences import kernels, runs_of, shape, text

LAYER = "nqradgmus"
STEP = "ABCDE" + LAYER * 12 + "xyz"


def test_layers_lie_in_steps() -> None:
    gaps = ([100] + [2] * (len(STEP) - 1)) * 6
    found = detect_patterns([kernels(text(STEP * 6), gaps=gaps)])
    assert shape(found) == [("P1", 9, 116, 6), ("P1.1", 9, 9, 72)]
    assert found.patterns[0].inner == (-1,) * 5 + (1,) + (-1,) * 3
    assert found.patterns[0].ops == (*text("ABCDE"), -1, *text("xyz"))
    assert found.patterns[1].ops == tuple(text(LAYER))
    assert found.patterns[1].parent == 0
    assert [pattern.level for pattern in found.patterns] == [0, 1]
    assert runs_of(found, "P1")[1] == (0, 116, 231)
    assert len(found.exceptions) == 0
    # 116 kernels of 10 ns, 115 gaps of 2 ns and one of 100 ns from one step to the next.
    assert found.patterns[0].period == 116 * 10 + 115 * 2 + 100
    assert found.patterns[0].time == 6 * 116 * 10


def test_every_kernel_has_its_place() -> None:
    found = detect_patterns([kernels(text("pb" + STEP * 5 + "vw"))])
    places = kernel_places(found)
    assert places.run[:2].tolist() == [-1, -1]
    assert places.run[-2:].tolist() == [-1, -1]
    layers = found.runs.pattern[places.run] == 1
    inside = np.array([letter in LAYER for letter in "pb" + STEP * 5 + "vw"])
    assert np.array_equal(layers & (places.run >= 0), inside)
    layer_ops = found.positions.op[found.positions.pattern == 1]
    ops = np.array(text("pb" + STEP * 5 + "vw"))
    assert np.array_equal(layer_ops[places.position[layers & inside]], ops[layers & inside])


def test_a_kernel_that_follows_itself_is_no_loop() -> None:
    assert detect_patterns([kernels([5] * 500)]).patterns == ()


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_too_few_kernels_for_a_loop(size: int) -> None:
    found = detect_patterns([kernels(list(range(size)))])
    assert found.patterns == ()
    assert kernel_places(found).run.tolist() == [-1] * size


def test_no_ranks() -> None:
    assert detect_patterns([]).patterns == ()


def test_one_step_with_an_extra_copy() -> None:
    noisy = STEP * 3 + STEP[:40] + "!" + STEP[40:] + STEP * 3
    found = detect_patterns([kernels(text(noisy))])
    assert [(name, runs) for name, _, _, runs in shape(found)] == [("P1", 7), ("P1.1", 84)]
    assert found.exceptions.kind.tolist() == [EXTRA_KERNEL]
    assert found.exceptions.kernel.tolist() == [3 * len(STEP) + 40]
    assert found.exceptions.position.tolist() == [-1]


def test_one_rank_misses_a_kernel_once() -> None:
    at = 2 * len(STEP) + 5 + 3 * len(LAYER) + 4
    noisy = STEP * 6
    ranks = [kernels(text(STEP * 6), 0), kernels(text(noisy[:at] + noisy[at + 1 :]), 1)]
    found = detect_patterns(ranks)
    assert [(name, runs) for name, _, _, runs in shape(found)] == [("P1", 12), ("P1.1", 144)]
    assert found.exceptions.kind.tolist() == [MISSING]
    run = int(found.exceptions.run[0])
    assert (int(found.runs.rank[run]), int(found.runs.number[run])) == (1, 2 * 12 + 3)
    index = found.patterns[1].ops[int(found.exceptions.position[0])]
    assert chr(index) == LAYER[4]


def test_one_rank_never_runs_a_kernel_of_the_layer() -> None:
    lacking = STEP.replace("g", "")
    ranks = [kernels(text(STEP * 5), rank) for rank in (0, 1, 2)] + [kernels(text(lacking * 5), 3)]
    found = detect_patterns(ranks)
    assert [(name, runs) for name, _, _, runs in shape(found)] == [("P1", 20), ("P1.1", 240)]
    assert set(found.runs.rank[found.exceptions.run].tolist()) == {3}
    assert found.exceptions.kind.tolist() == [MISSING] * 60


def test_a_swapped_kernel() -> None:
    noisy = list(STEP * 6)
    noisy[3 * len(STEP) + 5 + 4 * len(LAYER) + 2] = "!"
    found = detect_patterns([kernels(text("".join(noisy)))])
    assert found.exceptions.kind.tolist() == [SWAPPED_KERNEL]
    assert found.exceptions.kernel.tolist() == [3 * len(STEP) + 5 + 4 * len(LAYER) + 2]


def test_two_kinds_of_layer_in_turn() -> None:
    step = "ABC" + ("nqradgmus" + "nqrabhgmus") * 8 + "xyz"
    found = detect_patterns([kernels(text(step * 4))])
    outer, pair = found.patterns[:2]
    assert (pair.name, pair.length, len(pair.parts)) == ("P1.1", 19, 2)
    assert outer.parts == ()
    assert len(runs_of(found, "P1.1")) == 4 * 8
    assert len(runs_of(found, "P1")) == 4
    assert outer.kernels == len(step)


@pytest.mark.parametrize("damaged", [0, 2, 5])
@pytest.mark.parametrize("position", range(1, 16))
def test_a_damaged_layer_is_not_mixed_with_a_similar_one_before_it(
    damaged: int, position: int
) -> None:
    """The first layer is of the second kind but for its first kernel, as in measured models."""
    pair = "nqrk3SoNGmtbecuxf" + "nqrk2oNGmtbecuxf"
    step = "PHI" + "Zqrk2oNGmtbecuxf" + pair * 6 + "VW"
    cut = 7 * len(step) + 19 + damaged * len(pair) + position
    ops = step * 12
    found = detect_patterns([kernels(text(ops[:cut] + ops[cut + 1 :]))])
    mine = [p.length for p in found.patterns].index(len(pair))
    runs = found.runs.pattern == mine
    assert runs.sum() == 12 * 6
    odd = np.flatnonzero(runs & (found.runs.missing > 0))
    assert found.runs.number[odd].tolist() == [7 * 6 + damaged]
    assert (found.runs.missing[odd].tolist(), found.runs.extra[odd].tolist()) == ([1], [0])


@pytest.mark.parametrize("position", range(2, 17))
@pytest.mark.parametrize("last", [True, False])
def test_a_damaged_layer_at_the_end_may_be_half_a_loop(position: int, *, last: bool) -> None:
    """An odd number of layers of two kinds in turn ends, or starts, with half a pair."""
    one, other = "nqrk3SoNGmtbecuxf", "nqrk2oNGmtbec"
    inner = (one + other) * 5 + one if last else one + (other + one) * 5
    step = "PHI" + inner + "VW"
    start = 3 + len(inner) - len(one) if last else 3
    cut = 7 * len(step) + start + position
    ops = step * 12
    found = detect_patterns([kernels(text(ops[:cut] + "Z" + ops[cut + 1 :]))])
    mine = [p.length for p in found.patterns].index(len(one + other))
    runs = found.runs.pattern == mine
    assert runs.sum() == 12 * 6
    damaged = np.flatnonzero(runs & (found.runs.swapped > 0))
    assert found.runs.swapped[damaged].tolist() == [1]
    places = kernel_places(found)
    assert places.run[cut] in damaged


def test_every_sixth_layer_of_another_kind_is_no_damaged_one() -> None:
    other = LAYER.replace("a", "A")
    layers = (LAYER * 5 + other) * 4 + LAYER * 2
    found = detect_patterns([kernels(text(("BCDE" + layers + "xyz") * 6))])
    words = {"".join(map(chr, pattern.ops)) for pattern in found.patterns if pattern.length == 9}
    # The five others are exact: none of their runs is a damaged one.
    assert len(words) == 1
    mine = [pattern.length for pattern in found.patterns].index(9)
    assert not found.runs.swapped[found.runs.pattern == mine].any()
    assert len(runs_of(found, "P1")) == 6


def test_one_more_kernel_in_a_few_of_a_step_s_layers_parts_none() -> None:
    """As measured: of 38 layers the 25th, 29th, 33rd and 37th run one kernel more."""
    more = LAYER[:4] + "+" + LAYER[4:]
    step = "BCDE" + LAYER * 24 + (more + LAYER * 3) * 3 + more + LAYER + "xyz"
    starts = np.array([letter == LAYER[0] for letter in step * 4])
    found = detect_patterns([kernels(text(step * 4), layer_start=starts)])
    assert [(name, runs) for name, _, _, runs in shape(found)] == [("P1", 4), ("P1.1", 4 * 38)]
    assert found.runs.extra[found.runs.pattern == 1].sum() == 4 * 4


@pytest.mark.parametrize("casts", ["0101", "0102", "0123", "0012", "012", "01234"])
@pytest.mark.parametrize("place", [0, 5, 10, 18])
def test_steps_that_all_differ_by_a_kernel_are_runs_of_one_loop(casts: str, place: int) -> None:
    outside = "ABCDEFGHIJopstvwyz"
    steps = []
    for cast in casts:
        changed = outside[:place] + cast + outside[place:]
        steps.append(changed[:10] + LAYER * 12 + changed[10:])
    ops = text("".join(steps))
    started = np.zeros(len(ops), dtype=bool)
    started[np.cumsum([0, *map(len, steps[:-1])])] = True
    found = detect_patterns([kernels(ops, iteration_start=started)])
    runs = runs_of(found, "P1")
    assert [first for _, first, _ in runs] == np.flatnonzero(started).tolist()
    mine = found.runs.pattern == 0
    assert found.runs.missing[mine].sum() == found.runs.extra[mine].sum() == 0
    # All but those with the usual kernel there have another one in its place.
    most = max(map(casts.count, casts))
    assert sorted(found.runs.swapped[mine]) == [0] * most + [1] * (len(casts) - most)


def test_a_known_layer_start_decides_the_rotation() -> None:
    op = text(LAYER * 30)
    start = np.array([letter == "d" for letter in LAYER * 30])
    found = detect_patterns([kernels(op, layer_start=start)])
    assert "".join(map(chr, found.patterns[0].ops)) == "dgmusnqra"


def test_a_known_iteration_goes_before_a_known_layer() -> None:
    start = np.array([letter == "C" for letter in STEP * 6])
    layer = np.array([letter == "n" for letter in STEP * 6])
    ranks = [kernels(text(STEP * 6), iteration_start=start, layer_start=layer)]
    found = detect_patterns(ranks)
    assert chr(found.patterns[0].ops[0]) == "C"
    assert chr(found.patterns[1].ops[0]) == "n"


def test_a_long_gap_decides_the_rotation() -> None:
    gaps = [90 if letter == "u" else 2 for letter in LAYER * 30]
    found = detect_patterns([kernels(text(LAYER * 30), gaps=gaps)])
    assert "".join(map(chr, found.patterns[0].ops)) == "usnqradgm"


def test_two_steps_are_a_loop() -> None:
    found = detect_patterns([kernels(text(STEP * 2))])
    assert [(name, runs) for name, _, _, runs in shape(found)] == [("P1", 2), ("P1.1", 24)]


def test_a_warm_up_step_that_differs() -> None:
    warm = "ABE" + LAYER * 12 + "x!z"
    found = detect_patterns([kernels(text("MNOPQ" + warm + STEP * 6))])
    assert len(runs_of(found, "P1.1")) == 7 * 12
    assert len(runs_of(found, "P1")) == 7


def test_prefill_and_decode_layers_are_two_loops() -> None:
    prefill = "FGHIJ" + "nqraDgmus" * 12 + "vw"
    found = detect_patterns([kernels(text((STEP * 4 + prefill) * 3))])
    ops = {"".join(map(chr, p.ops)) for p in found.patterns if -1 not in p.ops}
    rotations = {LAYER[i:] + LAYER[:i] for i in range(9)}
    other = {word.replace("d", "D") for word in rotations}
    assert ops & rotations
    assert ops & other


def test_variants_of_one_operation_are_counted_apart() -> None:
    variant = np.tile([0, 0, 1, 0, 0, 2, 0, 0, 0], 30)
    variant[2] = 4
    found = detect_patterns([kernels(text(LAYER * 30), variant=variant)])
    rows = found.variants.row.tolist()
    third = found.patterns[0].ops.index(ord("r"))
    counted = {
        int(code): int(count)
        for row, code, count in zip(
            rows, found.variants.variant.tolist(), found.variants.count.tolist(), strict=True
        )
        if row == third
    }
    assert counted == {1: 29, 4: 1}


def test_statistics_per_position() -> None:
    one = kernels(text(LAYER * 30))
    dur = np.where(one.op == ord("d"), np.arange(len(one)) % 50 + 1, 10)
    found = detect_patterns([type(one)(**{**one.__dict__, "dur": dur})])
    row = found.patterns[0].ops.index(ord("d"))
    true = dur[one.op == ord("d")]
    assert found.positions.count[row] == 30
    assert found.positions.total[row] == true.sum()
    assert found.positions.mean[row] == pytest.approx(true.mean())
    assert found.positions.std[row] == pytest.approx(true.std())
    assert found.positions.median[row] == np.median(true)
    assert (found.positions.least[row], found.positions.most[row]) == (true.min(), true.max())


def test_two_ranks_with_one_number_are_refused() -> None:
    with pytest.raises(UsageError, match="same rank"):
        detect_patterns([kernels([1], 3), kernels([2], 3)])


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="layer_start"):
        kernels([1, 2, 3], layer_start=np.zeros(2, dtype=bool))


layers = st.lists(st.integers(0, 30), min_size=5, max_size=14, unique=True)
odd = st.lists(st.integers(100, 130), min_size=6, max_size=31, unique=True)
"""What is around the layers; with less, few steps are no more than chance."""


@st.composite
def models(draw: st.DrawFn) -> list[int]:
    layer, before, after = draw(layers), draw(odd), draw(odd)
    step = [op + 40 for op in before] + layer * draw(st.integers(4, 9))
    return (step + [op + 80 for op in after]) * draw(st.integers(3, 6))


def _structure(ops: list[list[int]]) -> list[tuple[object, ...]]:
    found = detect_patterns([kernels(op, rank) for rank, op in enumerate(ops)])
    return [
        (p.name, p.length, p.kernels, p.period, p.time, p.inner, p.ranks, runs_of(found, p.name))
        for p in found.patterns
    ]


@settings(max_examples=40, deadline=None)
@given(models(), st.randoms(use_true_random=False))
def test_names_of_operations_do_not_matter(ops: list[int], random: object) -> None:
    codes = sorted(set(ops))
    others = [code * 7 + 3 for code in codes]
    random.shuffle(others)  # type: ignore[attr-defined]
    renamed = dict(zip(codes, others, strict=True))
    assert _structure([ops]) == _structure([[renamed[op] for op in ops]])


@settings(max_examples=40, deadline=None)
@given(models(), st.permutations([0, 1, 2]))
def test_the_order_of_ranks_does_not_matter(ops: list[int], order: list[int]) -> None:
    ranks = [kernels(ops, 0), kernels(ops[: len(ops) // 2], 1), kernels(ops * 2, 2)]
    one = detect_patterns(ranks)
    other = detect_patterns([ranks[number] for number in order])
    assert one.patterns == other.patterns
    assert np.array_equal(one.runs.first, other.runs.first)
    assert np.array_equal(kernel_places(one).position, kernel_places(other).position)


@settings(max_examples=40, deadline=None)
@given(models(), st.integers(1, 60), st.integers(1, 60))
def test_unrelated_kernels_around_do_not_matter(ops: list[int], before: int, after: int) -> None:
    around = [*range(1000, 1000 + before), *ops, *range(2000, 2000 + after)]
    alone = [(length, period) for _, length, _, period, *_ in _structure([ops])]
    assert [(length, period) for _, length, _, period, *_ in _structure([around])] == alone


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_shuffled_sequences_have_no_patterns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    op = rng.permutation(np.array(text(STEP * 20)))
    found = detect_patterns([kernels(op)])
    assert np.mean(kernel_places(found).run >= 0) < 0.01
