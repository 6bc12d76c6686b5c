"""Events are found where they are, whatever their text holds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.ingest.events import split_clean
from perfetto_autoviz.ingest.reader import EventReader
from perfetto_autoviz.ingest.splitter import last_boundary, split_events

TEXT = st.text(st.sampled_from('ab"\\{}[],: \n😀/u'), max_size=8)
VALUE = st.recursive(
    st.none() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
EVENT = st.fixed_dictionaries({"ph": st.just("X"), "name": TEXT, "args": VALUE})
EVENTS = st.lists(EVENT, max_size=12)


@given(EVENTS, st.booleans())
def test_spans_are_the_events(events: list[dict[str, Any]], ascii_only: bool) -> None:
    text = json.dumps(events, ensure_ascii=ascii_only).encode()
    split = split_events(text[1:] + b', "traceName": "x"}')
    found = [json.loads(text[1:][begin:end]) for begin, end in split.spans]
    assert found == events
    assert split.end == len(text) - 2
    assert split.junk == split.odd_separators == 0


@given(EVENTS, st.integers(0, 400))
def test_a_cut_list_gives_its_whole_events(events: list[dict[str, Any]], length: int) -> None:
    text = json.dumps(events).encode()[1:]
    ends = [len(json.dumps(events[:count]).encode()) - 2 for count in range(1, len(events) + 1)]
    split = split_events(text[:length])
    assert len(split.spans) == sum(end <= length for end in ends)


@given(EVENTS, st.lists(st.integers(1, 60), min_size=1, max_size=30), st.booleans())
def test_blocks_of_any_size_give_the_same_events(
    events: list[dict[str, Any]], sizes: list[int], bare: bool
) -> None:
    text = json.dumps(events if bare else {"a": 1, "traceEvents": events, "b": [2]}, indent=1)
    data = text.encode()
    blocks: list[bytes] = []
    while data:
        size = sizes[len(blocks) % len(sizes)]
        blocks.append(data[:size])
        data = data[size:]
    reader = EventReader(blocks)
    found = [json.loads(piece) for chunk in reader.chunks() for piece in split_clean(chunk.text)]
    plain = {"ph": "X"}
    assert [{**plain, **event} for event in found] == events
    assert reader.ended
    lost = {kind: count for kind, count in reader.faults.counts.items() if count}
    assert set(lost) <= {"surrogate_escapes"}


def test_a_boundary_is_the_last_place_between_two_objects() -> None:
    text = b'{"a": 1},\n {"b": 2} ,{"c": 3'
    assert last_boundary(text) == (text.index(b" ,{"), text.index(b'{"c"'))
    assert last_boundary(b'{"a": 1}') is None


def test_a_boundary_far_back_is_found() -> None:
    text = b'{"a": 1},{"b": "' + b"x" * 3_000_000
    assert last_boundary(text) == (8, 9)


def test_brackets_that_match_nothing_are_passed_over() -> None:
    text = b'{"ph": "X"}}, {"ph": "X"}] trailing'
    split = split_events(text)
    assert [text[begin:end] for begin, end in split.spans] == [b'{"ph": "X"}'] * 2
