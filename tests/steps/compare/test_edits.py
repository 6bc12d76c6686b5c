"""Edit scripts: each kind by hand, and what every script must do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.compare import Item, apply_edits, edit_script, edits_frame
from perfetto_autoviz.steps.compare.costs import name_similarity
from tests.steps.compare.builds import items

SIDE = st.lists(
    st.builds(
        Item,
        op=st.sampled_from(["gemm_a", "gemm_b", "norm_x", "norm_y", "copy", "fmha"]),
        family=st.sampled_from(["gemm", "norm", "memory", "attention"]),
        dur=st.floats(0, 1e6),
    ),
    max_size=12,
)

LAYER = [
    Item("add_rmsnorm_quant", "norm", 4),
    Item("Cijk_Alik_Bljk", "gemm", 12),
    Item("paged_attention_ll4mi", "attention", 20),
    Item("vectorized_elementwise:silu", "activation", 6),
    Item("Cijk_Ailk_Bljk", "gemm", 9),
    Item("topksoftmax_bf16", "moe", 5),
]


def changes(a: list[Item], b: list[Item]) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(e.kind, e.a, e.b) for e in edit_script(a, b).edits if e.kind != "same"]


def test_nothing_changed() -> None:
    script = edit_script(LAYER, LAYER)
    assert {edit.kind for edit in script.edits} == {"same"}
    assert all(edit.effect == 0 and edit.certainty == 1 for edit in script.edits)


def test_renamed() -> None:
    b = [*LAYER]
    b[2] = Item("fmha:QkvBfloat16", "attention", 18)
    assert changes(LAYER, b) == [("renamed", (2,), (2,))]


def test_split() -> None:
    # A gemm that is split along its sum, and a kernel that adds the parts.
    b = [*LAYER[:4], Item("nvjet_tst_TNN", "gemm", 7), Item("splitKreduce", "gemm", 3), LAYER[5]]
    assert changes(LAYER, b) == [("split", (4,), (4, 5))]


def test_fused() -> None:
    b = [*LAYER[:3], Item("silu_gemm_fused", "gemm", 14), LAYER[5]]
    assert changes(LAYER, b) == [("fused", (3, 4), (3,))]


def test_added_and_removed() -> None:
    b = [LAYER[0], Item("dynamic_per_token_quant", "quantize", 2), *LAYER[1:5]]
    assert changes(LAYER, b) == [("added", (), (1,)), ("removed", (5,), ())]


def test_moved() -> None:
    b = [LAYER[3], *LAYER[:3], *LAYER[4:]]
    assert changes(LAYER, b) == [("moved", (3,), (0,))]


def test_the_cheapest_rotation_is_taken() -> None:
    b = [*LAYER[4:], *LAYER[:4]]
    script = edit_script(LAYER, b, rotations=[0, 2])
    assert script.rotation == 2
    assert {edit.kind for edit in script.edits} == {"same"}
    assert [edit.b for edit in script.edits] == [(2,), (3,), (4,), (5,), (0,), (1,)]


def test_a_faster_device_does_not_hide_which_is_which() -> None:
    # All of B takes half the time, so the expert's gemms pair one with one: by the clock
    # alone the first would be as long as both of B's together.
    a = [*LAYER, Item("moe_gemm_first", "moe", 80), Item("moe_gemm_second", "moe", 40)]
    b = [
        *(Item(item.op, item.family, item.dur / 2) for item in LAYER),
        Item("bmm_swiglu", "moe", 42),
        Item("bmm_plain", "moe", 21),
    ]
    assert changes(a, b) == [("renamed", (6,), (6,)), ("renamed", (7,), (7,))]


def test_a_raw_name_that_changed_is_less_certain() -> None:
    b = [Item(item.op, item.family, item.dur, "another tile") for item in LAYER]
    assert {(e.kind, e.certainty) for e in edit_script(LAYER, b).edits} == {("same", 0.95)}


def test_names_are_alike_by_words_in_any_order() -> None:
    assert name_similarity("cute:FusedAddRMSNormKernel", "rms_norm_add_kernel_fused_cute") == 1
    assert name_similarity("fmha", "fmha") == 1
    assert name_similarity("xyz", "abc") == 0


def test_the_table() -> None:
    b = [*LAYER[:4], Item("nvjet_tst_TNN", "gemm", 7), Item("splitKreduce", "gemm", 3), LAYER[5]]
    row = edits_frame(edit_script(LAYER, b)).query("kind == 'split'").iloc[0]
    assert row["a"] == "Cijk_Ailk_Bljk"
    assert row["b"] == "nvjet_tst_TNN + splitKreduce"
    assert (row["positions_a"], row["positions_b"]) == ("4", "4,5")
    assert row["effect"] == 1
    assert edits_frame(edit_script([], [])).empty


@given(SIDE, SIDE, st.integers(0, 11))
def test_a_script_turns_one_into_the_other(a: list[Item], b: list[Item], rotation: int) -> None:
    script = edit_script(a, b, [0, rotation % max(len(b), 1)])
    assert apply_edits([item.op for item in a], script) == [item.op for item in b]
    assert sorted(at for edit in script.edits for at in edit.a) == list(range(len(a)))
    assert sorted(at for edit in script.edits for at in edit.b) == list(range(len(b)))
    total = sum(item.dur for item in b) - sum(item.dur for item in a)
    assert sum(edit.effect for edit in script.edits) == pytest.approx(total, abs=1e-3)
    assert all(0 <= edit.certainty <= 1 for edit in script.edits)
    shapes = {
        "same": (1, 1),
        "renamed": (1, 1),
        "moved": (1, 1),
        "added": (0, 1),
        "removed": (1, 0),
    }
    for edit in script.edits:
        size = (len(edit.a), len(edit.b))
        if edit.kind in shapes:
            assert size == shapes[edit.kind]
        else:
            assert size[edit.kind == "split"] > 1 == size[edit.kind != "split"]


@given(st.text("ABab", max_size=10))
def test_a_script_of_equal_sides_is_empty(ops: str) -> None:
    assert {edit.kind for edit in edit_script(items(ops), items(ops)).edits} <= {"same"}


def test_a_script_of_another_sequence() -> None:
    with pytest.raises(ValueError, match="doesn't fit"):
        apply_edits(["x"], edit_script(items("A"), items("B")))
