from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from perfetto_autoviz.relations import RELATIONS, Column, Relation
from perfetto_autoviz.tracks.specs import CounterSpec, TrackSpec
from perfetto_autoviz.tracks.writer import build_annotations
from tests.tracks.conftest import Load

SPAN = Relation(
    "span",
    "A span.",
    (
        Column("ts", "LONG", "Start."),
        Column("dur", "LONG", "Duration."),
        Column("id", "LONG", "Number."),
        Column("level", "LONG", "Depth."),
        Column("share", "DOUBLE", "A share."),
        Column("text", "STRING", "A text."),
    ),
    timed=True,
)
FACT = Relation("fact", "A fact.", (Column("value", "LONG", "A value."),))
SCHEMA = (SPAN, FACT)

EPOCH = 1_700_000_000_123_456_789

Row = tuple[int | None, int | None, int | None, int | None, float | None, str | None]


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(SPAN.types), dtype=object)


def spec(rows: int, **changes: Any) -> TrackSpec:
    return replace(TrackSpec("span", "spans", [f"s{row}" for row in range(rows)]), **changes)


def build(rows: Sequence[Row], **changes: Any) -> bytes:
    return build_annotations({"span": frame(rows)}, [spec(len(rows), **changes)], [], 0, SCHEMA)


def parsed(trace: bytes) -> list[pb.TracePacket]:
    return list(pb.Trace.FromString(trace).packet)


def test_no_packet_names_a_clock() -> None:
    for packet in parsed(build([(5, 5, 1, 0, 0.5, "a"), (None, None, 2, 0, None, None)])):
        assert not packet.HasField("clock_snapshot")
        assert not packet.HasField("timestamp_clock_id")
        assert not packet.HasField("trace_packet_defaults")


def test_the_same_input_gives_the_same_bytes() -> None:
    rows: list[Row] = [
        (5, 5, 1, 0, 0.5, "b"),
        (7, 9, 2, 1, None, "a"),
        (None, None, 3, 0, 1.0, "b"),
    ]
    assert build(rows) == build(rows)


def test_missing_values_are_absent_and_names_are_plain() -> None:
    events = [p.track_event for p in parsed(build([(5, 5, -1, None, None, "")]))]
    annotations = next(event.debug_annotations for event in events if event.type == 1)
    interned = parsed(build([(5, 5, -1, None, None, "")]))[0].interned_data
    names = {entry.iid: entry.name for entry in interned.debug_annotation_names}
    texts = {entry.iid: entry.str for entry in interned.debug_annotation_string_values}
    assert {names[a.name_iid]: a.WhichOneof("value") for a in annotations} == {
        "id": "int_value",
        "text": "string_value_iid",
    }
    assert texts[annotations[1].string_value_iid] == b""


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 15), st.integers(0, 2)),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([0, 10**9, EPOCH]),
)
def test_every_lane_is_a_sequence_of_begin_and_end(
    spans: list[tuple[int, int, int]], base: int
) -> None:
    rows: list[Row] = [
        (base + ts, dur, index, level, None, None) for index, (ts, dur, level) in enumerate(spans)
    ]
    packets = parsed(build(rows, level="level"))
    events = [packet for packet in packets if packet.HasField("track_event")]
    times = [packet.timestamp for packet in events]
    assert times == sorted(times)
    open_at: dict[int, pb.TracePacket] = {}
    seen: dict[int, tuple[int, int]] = {}
    for packet in events:
        lane = packet.track_event.track_uuid
        if packet.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            assert lane not in open_at
            open_at[lane] = packet
        else:
            begin = open_at.pop(lane)
            number = begin.track_event.debug_annotations[0].int_value
            seen[number] = (begin.timestamp, packet.timestamp - begin.timestamp)
    assert not open_at
    assert seen == {row[2]: (row[0], row[1]) for row in rows}


def test_tracks_stand_in_order_below_one_group(load: Load) -> None:
    rows: list[Row] = [
        (100, 50, 1, 0, None, None),
        (120, 50, 2, 0, None, None),  # overlaps the first
        (125, 5, 3, 1, None, None),
        (None, None, 4, 0, None, None),
    ]
    trace = build_annotations(
        {"span": frame(rows), "fact": pd.DataFrame({"value": [7]})},
        [spec(4, level="level")],
        [CounterSpec("batch size", "requests", [100, 120], [4.0, 2.5])],
        first_ts=90,
        schema=SCHEMA,
    )
    descriptors = [p.track_descriptor for p in parsed(trace) if p.HasField("track_descriptor")]
    assert descriptors[0].child_ordering == pb.TrackDescriptor.EXPLICIT
    shown = sorted({(d.sibling_order_rank, d.name) for d in descriptors[1:]})
    assert [name for _, name in shown] == ["spans", "spans level 1", "batch size", "autoviz data"]
    assert len({rank for rank, _ in shown}) == 4
    lanes = [d for d in descriptors if d.name == "spans"]
    assert len(lanes) == 2
    assert len({d.uuid for d in lanes}) == 2
    assert {d.sibling_merge_key for d in lanes} == {"spans"}

    engine = load(trace)
    tracks = engine.query(
        "SELECT parent.name AS parent, track.name AS name, COUNT(DISTINCT track.id) AS lanes,"
        " COUNT(DISTINCT track.track_group_id) AS shown"
        " FROM track LEFT JOIN track AS parent ON track.parent_id = parent.id"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    )
    assert [tuple(row) for row in tracks.itertuples(index=False)] == [
        (None, "autoviz", 1, 1),
        ("autoviz", "autoviz data", 1, 1),
        ("autoviz", "batch size", 1, 0),
        ("autoviz", "spans", 2, 1),
        ("autoviz", "spans level 1", 1, 1),
    ]
    slices = engine.query(
        "SELECT slice.ts, slice.dur, slice.depth, slice.name, slice.category, track.name AS track"
        " FROM slice JOIN track ON track.id = slice.track_id ORDER BY slice.ts, slice.name"
    )
    assert [tuple(row) for row in slices.itertuples(index=False)] == [
        (90, 0, 0, "fact", "autoviz.fact", "autoviz data"),
        (90, 0, 0, "s3", "autoviz.span", "autoviz data"),
        (100, 50, 0, "s0", "autoviz.span", "spans"),
        (120, 50, 0, "s1", "autoviz.span", "spans"),
        (125, 5, 0, "s2", "autoviz.span", "spans level 1"),
    ]
    counter = engine.query(
        "SELECT ts, value, unit FROM counter JOIN counter_track ON track_id = counter_track.id"
    )
    assert [tuple(row) for row in counter.itertuples(index=False)] == [
        (100, 4.0, "requests"),
        (120, 2.5, "requests"),
    ]


def test_thousands_of_rows_without_a_time_keep_their_arguments(load: Load) -> None:
    values = list(range(20_000))
    trace = build_annotations({"fact": pd.DataFrame({"value": values})}, [], [], EPOCH, SCHEMA)
    rows = load(trace).query(
        "SELECT ts, dur, depth, EXTRACT_ARG(arg_set_id, 'debug.value') AS value"
        " FROM slice WHERE category = 'autoviz.fact' ORDER BY id"
    )
    assert rows["value"].tolist() == values
    assert set(rows["ts"]) == {EPOCH}
    assert set(rows["dur"]) == {0}
    assert set(rows["depth"]) == {0}


def test_colour_words_arrive_where_the_interface_looks(load: Load) -> None:
    rows: list[Row] = [(10, 1, 1, 0, None, None), (20, 1, 2, 0, None, None)]
    engine = load(build(rows, colours=["decode", None]))
    words = engine.query("SELECT EXTRACT_ARG(arg_set_id, 'correlation_id') AS word FROM slice")
    assert words["word"].tolist() == ["decode", None]


def test_texts_the_engine_cannot_hold_are_made_holdable(load: Load) -> None:
    engine = load(build([(10, 1, 1, 0, None, "a\0b\ud800c")]))
    text = engine.query("SELECT EXTRACT_ARG(arg_set_id, 'debug.text') AS text FROM slice")
    assert text["text"].tolist() == ["a\N{REPLACEMENT CHARACTER}b?c"]


@pytest.mark.parametrize(
    ("rows", "changes", "complaint"),
    [
        ([(5, -1, 1, 0, None, None)], {}, "ends before it starts"),
        ([(-5, 1, 1, 0, None, None)], {}, "negative"),
        ([(5, None, 1, 0, None, None)], {}, "missing together"),
        ([(2**63 - 2, 5, 1, 0, None, None)], {}, "after the last time"),
        ([(5, 1, 1, 0, None, None)], {"names": []}, "for each row"),
        ([(5, 1, 1, 0, None, None)], {"colours": []}, "for each row"),
    ],
)
def test_what_cannot_be_stored_is_refused(
    rows: list[Row], changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        build(rows, **changes)


def test_frames_that_do_not_fit_are_refused() -> None:
    row = frame([(5, 1, 1, 0, None, None)])
    with pytest.raises(ValueError, match="columns"):
        build_annotations({"span": row.drop(columns="text")}, [spec(1)], [], 0, SCHEMA)
    with pytest.raises(ValueError, match="no relation"):
        build_annotations({"other": row}, [], [], 0, SCHEMA)
    with pytest.raises(ValueError, match="need a track"):
        build_annotations({"span": row}, [], [], 0, SCHEMA)
    with pytest.raises(ValueError, match="only a relation with times"):
        build_annotations({}, [TrackSpec("fact", "facts", [])], [], 0, SCHEMA)
    with pytest.raises(ValueError, match="two tracks"):
        build_annotations({"span": row}, [spec(1), spec(1)], [], 0, SCHEMA)


@pytest.mark.parametrize(
    "row",
    [(5, 1, "one", 0, None, None), (5, 1, 1.5, 0, None, None), (5, 1, 1, 0, None, 7)],
)
def test_values_of_another_type_are_refused(row: Row) -> None:
    with pytest.raises(TypeError, match="stands where"):
        build([row])


def test_nothing_at_all_is_a_trace() -> None:
    empty = {relation.name: pd.DataFrame(columns=list(relation.types)) for relation in RELATIONS}
    packets = parsed(build_annotations(empty, [], [], 0))
    assert [p.track_descriptor.name for p in packets if p.HasField("track_descriptor")] == [
        "autoviz",
        "autoviz data",
    ]
    assert not [p for p in packets if p.HasField("track_event")]


def test_a_counter_leaves_out_what_is_no_number() -> None:
    counter = CounterSpec("share", "%", [1, 2, 3], [0.5, np.nan, 1.0])
    events = [
        p for p in parsed(build_annotations({}, [], [counter], 0)) if p.HasField("track_event")
    ]
    assert [(p.timestamp, p.track_event.double_counter_value) for p in events] == [
        (1, 0.5),
        (3, 1.0),
    ]
