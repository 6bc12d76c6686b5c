"""Mending changes what is broken, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.ingest.events import read_events
from perfetto_autoviz.ingest.mend import dump, load, mend_event, mend_many, mend_text

WORDS = st.lists(
    st.sampled_from(
        ["NaN", " nan ", "-inf", "\\", "\\u", "ud83d", '"', ",}", "é", "😀", "\n", ": "]
    )
)
TEXT = WORDS.map("".join)
EVENT = st.fixed_dictionaries(
    {"ph": st.just("X"), "name": TEXT, "args": st.dictionaries(TEXT, TEXT | st.integers())}
)


@given(st.lists(EVENT, min_size=1, max_size=4))
def test_sound_text_is_left_alone(events: list[dict[str, Any]]) -> None:
    text = ",".join(json.dumps(event, ensure_ascii=False) for event in events).encode()
    assert len(read_events(text)) == len(events)
    assert mend_many(text) == (text, {})
    mended, counts = mend_text(text)
    assert (mended.encode(), +counts) == (text, {})


BROKEN = [
    (rb'"a": NaN', None, "non_finite_numbers"),
    (rb'"a": [-Infinity, 1]', [None, 1], "non_finite_numbers"),
    (rb'"a": -nan(ind)', None, None),
    (rb'"a": "\ud83d\ude00 \\ud83d"', "😀 \\ud83d", "surrogate_escapes"),
    (rb'"a": "\ude00"', "\ufffd", "surrogate_escapes"),
    (rb'"a": "C:\new\Users\\x"', r"C:\new\Users\x", "invalid_escapes"),
    (rb'"a": "50\%"', r"50\%", "invalid_escapes"),
    (b'"a": "x\xffy"', "x\ufffdy", "invalid_utf8"),
]


@pytest.mark.parametrize(("field", "value", "kind"), BROKEN)
def test_one_event_and_many_are_mended_alike(field: bytes, value: object, kind: str | None) -> None:
    event = b'{"ph": "X", "name": "NaN, nan", %b}' % field
    if kind is None:
        assert mend_event(event) is None
        return
    single = mend_event(event)
    assert single is not None
    text, counts = mend_many(event + b", " + event)
    assert single[1] == {kind: 1}
    assert counts == {kind: 2}
    assert read_events(text)
    for found in (load(single[0]), *load(b"[%b]" % text)):
        assert found == {"ph": "X", "name": "NaN, nan", "a": value}


def test_a_backslash_before_a_closing_quote_was_meant_literally() -> None:
    mended = mend_event(rb'{"ph": "X", "name": "C:\traces\", "ts": 1}')
    assert mended is not None
    assert load(mended[0])["name"] == "C:\\traces\\"


@pytest.mark.parametrize("text", [b"5", b"[]", b'{"ph": 5}', b"{", b'{"ph": "X" "a"}', b""])
def test_what_holds_no_event(text: bytes) -> None:
    assert mend_event(text) is None


def test_fields_of_wrong_types_go() -> None:
    mended = mend_event(b'{"ph": "X", "ts": [1], "pid": true, "tid": "7", "name": 5}')
    assert mended is not None
    assert load(mended[0]) == {"ph": "X", "tid": "7", "name": 5}
    assert mended[1] == {"wrong_types": 2}


@given(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back_as_they_were(whole: int, real: float) -> None:
    assert load(dump({"a": whole, "b": real})) == {"a": whole, "b": real}
