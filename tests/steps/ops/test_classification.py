"""Frames, labels, speed, and names that want to do harm."""

from __future__ import annotations

import time

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perfetto_autoviz.steps.ops import (
    RULES,
    classify,
    classify_names,
    short_label,
)
from perfetto_autoviz.steps.ops.rules import family_of


def test_empty_input() -> None:
    assert classify_names([]).empty
    assert list(classify_names([]).columns) == ["name", "op", "family"]


def test_frames_hold_plain_strings() -> None:
    frame = classify_names(["sage_fwd", "sage_fwd"])
    assert len(frame) == 1
    assert {str(dtype) for dtype in frame.dtypes} == {"object"}
    assert isinstance(frame, pd.DataFrame)


def test_short_labels_fit_and_keep_both_ends() -> None:
    ops = [op for rule in RULES for _, op in rule.examples]
    assert all(0 < len(short_label(op)) <= 28 for op in ops)
    assert short_label("reduce_segments") == "reduce_segments"
    swiglu = short_label("_matmul_ogs_NNT_bf16xbf16xmxfp4_swiglu")
    plain = short_label("_matmul_ogs_NNT_bf16xbf16xmxfp4")
    assert swiglu != plain
    assert swiglu.endswith("swiglu")


HOSTILE = {
    "templates": "a<" * 5000,
    "parentheses": "(" * 10_000,
    "calls": "f(" * 5000,
    "references": "f<" + "&(" * 3000,
    "casts": "f<" + "(a)1," * 2000,
    "lambdas": "a<{lambda(" * 900,
    "anonymous": "<unnamed>::" * 900,
    "prefixes": "_ZN1a" + "I" * 9000,
    "pointers": "_Z1aI" + "P" * 9000,
    "locals": "_Z" + "Z" * 9000,
    "length": "_ZN99999999999999999a",
    "digits": "k_0" + "1" * 9990 + "x",
    "tokens": "a_" * 5000,
    "tuning": "kernel_" + "1d" * 4990 + "!",
    "nvjet": "nvjet_" + "1_" * 4990,
    "cijk": "Cijk_" + "_MT1" * 2400 + "!",
    "bmm": "bmm_" + "A_" * 4000 + "Fp32_t1" + "x_" * 900,
    "fmha": "fmhaSm100aKernel_" + "Q1Kv1" * 1900,
    "igemm": "igemm_" + "gtc_" * 2400,
    "inductor": "triton_poi_" + "_cos_sin" * 1200,
    "dsl": "kernel_cutlass_" + "Aa_" * 3000,
    "letters": "ā" * 9000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_are_quick(kind: str) -> None:
    classify.cache_clear()
    start = time.process_time()
    found = classify(HOSTILE[kind])
    assert time.process_time() - start < 0.5
    assert 0 < len(found.op) <= 120


def base36(number: int) -> str:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return (base36(number // 36) if number >= 36 else "") + digits[number % 36]


def test_references_in_mangled_names_do_not_explode() -> None:
    doubled = "".join(f"1aIS{base36(2 * n + 1)}_S{base36(2 * n + 1)}_E" for n in range(40))
    start = time.process_time()
    assert classify(f"_Z1fI1aIiE{doubled}EvT_").op.startswith("f:a")
    assert time.process_time() - start < 0.5


ALPHABET = st.sampled_from([*"abIEZNSTKP_:<>(){}[]&*,.# 0123456789-~", "lambda", "operator"])
PREFIX = st.sampled_from(
    ["", "_Z", "_ZN", "void ", "Cijk_", "nvjet_", "triton_", "bmm_", "nccl", "Memcpy "]
)


@settings(max_examples=300, deadline=500)
@example("", "{lambda(")
@example("", "(anonymous namespace)::{lambda(int)#1}")
@given(PREFIX, st.lists(ALPHABET, max_size=60).map("".join))
def test_any_text_has_an_operation(prefix: str, rest: str) -> None:
    found = classify(prefix + rest)
    assert found.op
    assert (found.family == "other") == (found.rule == "")


@settings(max_examples=100, deadline=500)
@given(st.text(max_size=200))
def test_any_unicode_has_an_operation(text: str) -> None:
    assert classify(text).op


def test_a_thousand_names_take_less_than_a_tenth_of_a_second() -> None:
    names = [name for rule in RULES for name, _ in rule.examples]
    many = [
        f"{name.removesuffix('.kd')}{n}" for n in range(1000 // len(names) + 1) for name in names
    ]
    best = min(seconds(many[:1000]) for _ in range(5))
    assert best < 0.1


def seconds(names: list[str]) -> float:
    classify.cache_clear()
    family_of.cache_clear()
    start = time.process_time()
    for name in names:
        classify(name)
    return time.process_time() - start
