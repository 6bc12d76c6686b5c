"""Layers in hand-made kernel sequences, one letter a family."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.steps.layers.boundaries import Kernel, attention_anchors, layer_extents
from perfetto_autoviz.steps.layers.kinds import LayerOps, composition, kinds

FAMILIES = {
    "n": "norm",
    "g": "gemm",
    "r": "rope",
    "A": "attention",
    "R": "attention",
    "m": "moe",
    "s": "activation",
    "c": "communication",
    "M": "memory",
    "e": "elementwise",
    "E": "elementwise",
    "t": "sampling",
}


def kernels(letters: str) -> list[Kernel]:
    return [Kernel(letter, FAMILIES[letter]) for letter in letters]


def layers(letters: str) -> list[str]:
    sequence = kernels(letters)
    extents = layer_extents(sequence, attention_anchors(sequence))
    return [letters[extent.start : extent.end] for extent in extents]


@pytest.mark.parametrize(
    ("prologue", "layer", "epilogue"),
    [
        pytest.param("Me", "ngrMAgngsg", "ngt", id="dense"),
        pytest.param("Me", "ngrMAgngmmmm", "ngt", id="mixture of experts"),
        pytest.param("M", "ngnnrMAgngsg", "ngt", id="norms of query and key"),
        pytest.param("Me", "ngrMARgngsg", "nt", id="split attention with its reduction"),
        pytest.param("MMc", "ngrAgcngsgc", "ng", id="tensor parallel"),
        pytest.param("M", "ngrAgnngsgn", "ng", id="norms before and after each part"),
        pytest.param("M", "ngrAgMcMngmmmMcM", "ng", id="copies around communication"),
    ],
)
@pytest.mark.parametrize("count", [2, 3, 36])
def test_each_layer_is_found_whole(prologue: str, layer: str, epilogue: str, count: int) -> None:
    assert layers(prologue + layer * count + epilogue) == [layer] * count


def test_layers_of_two_kinds_are_all_kept() -> None:
    sliding, full = "ngrAgngmm", "ngrARgngmm"
    assert layers("Me" + (sliding + full) * 12 + "ngt") == [sliding, full] * 12


def test_a_dense_first_layer_among_experts() -> None:
    dense, sparse = "ngrAgngsg", "ngrAgngmmm"
    assert layers("M" + dense + sparse * 5 + "nt") == [dense] + [sparse] * 5


def test_cross_attention_is_part_of_its_layer() -> None:
    layer = "ngrAgngAgngsg"
    assert layers("M" + layer * 4 + "ng") == [layer] * 4


def test_a_norm_inside_the_all_reduce_starts_the_layer() -> None:
    fused = Kernel("allreduce_fusion_rmsnorm", "communication")
    body = kernels("grAgngsg")
    sequence = [*kernels("M"), *([fused, *body] * 4), *kernels("t")]
    extents = layer_extents(sequence, attention_anchors(sequence))
    assert [(e.start, e.end) for e in extents] == [(1 + 9 * i, 10 + 9 * i) for i in range(4)]


def test_one_attention_is_no_layer() -> None:
    assert layers("MengrAgngsgngt") == []


def test_softmax_stands_for_an_attention_of_several_kernels() -> None:
    softmax = Kernel("softmax_warp_forward", "elementwise")
    layer = [*kernels("nggg"), softmax, *kernels("ggngsg")]
    sequence = [*kernels("M"), *(layer * 3), *kernels("n")]
    extents = layer_extents(sequence, attention_anchors(sequence))
    assert [(e.start, e.end) for e in extents] == [(1 + 11 * i, 12 + 11 * i) for i in range(3)]


def test_no_attention_no_layers() -> None:
    assert layers("gegegegege") == []


@given(
    st.sampled_from(["ngrMAgngsg", "ngrAgngmm", "ngnnrARgngsg"]),
    st.integers(2, 20),
    st.text("Met", max_size=5),
    st.text("gt", max_size=4),
)
def test_layers_do_not_depend_on_what_is_around(
    layer: str, count: int, prologue: str, epilogue: str
) -> None:
    assert layers(prologue + layer * count + "n" + epilogue) == [layer] * count


def described(*ops: str) -> list[LayerOps]:
    return [
        LayerOps(None, "attention+moe", i, b"".join(ord(c).to_bytes(8, "little") for c in text))
        for i, text in enumerate(ops)
    ]


def test_alternating_layers_are_two_kinds() -> None:
    assert kinds(described(*["abcdefg", "abXdefg"] * 3)) == ["attention+moe", "attention+moe 2"] * 3


def test_a_first_layer_with_another_norm_is_of_the_kind_of_the_others() -> None:
    assert set(kinds(described("Xbcdefg", *["abcdefg"] * 5))) == {"attention+moe"}


def test_a_layer_like_no_other_is_irregular() -> None:
    found = kinds(described(*["abcdefg"] * 3, "abcdefgXYZ", *["abcdefg"] * 2))
    assert found == ["attention+moe"] * 3 + ["attention+moe irregular"] + ["attention+moe"] * 2


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ngrAgngmm", "attention+moe"),
        ("ngrAgngsg", "attention+mlp"),
        ("ngrAgngg", "attention+mlp"),
        ("ngrAg", "attention"),
        ("ee", "layer"),
    ],
)
def test_composition(letters: str, expected: str) -> None:
    assert composition(kernels(letters)) == expected
