from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfetto_autoviz.engine.wire import encode_varint
from perfetto_autoviz.tracks.ragged import constant, double_field, join, message_field, varint_field

INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300), max_size=30)


@given(INTEGERS)
def test_each_integer_is_encoded_as_one_at_a_time(values: list[int]) -> None:
    field = varint_field(4, np.array(values, dtype=np.int64), np.ones(len(values), dtype=bool))
    assert field.rows() == [bytes([4 << 3]) + encode_varint(value % 2**64) for value in values]


def test_examples_of_the_format_description() -> None:
    # The encodings of 1, 150 and -2 that protobuf's documentation works out.
    field = varint_field(1, np.array([1, 150, -2]), np.array([True, True, True]))
    assert [row.hex() for row in field.rows()] == [
        "0801",
        "089601",
        "08feffffffffffffffff01",
    ]


def test_a_missing_value_takes_no_bytes() -> None:
    present = np.array([False, True, False])
    integers = varint_field(1, np.array([7, 8, 9]), present)
    doubles = double_field(2, np.array([0.5, 1.5, 2.5]), present)
    assert integers.rows() == [b"", b"\x08\x08", b""]
    assert doubles.rows() == [b"", b"\x11" + struct.pack("<d", 1.5), b""]
    assert message_field(3, join([integers, doubles]), present).rows() == [
        b"",
        b"\x1a\x0b\x08\x08\x11" + struct.pack("<d", 1.5),
        b"",
    ]


def test_long_messages_have_long_lengths() -> None:
    body = constant(b"x" * 300, np.array([True]))
    assert message_field(3, body, np.array([True])).rows() == [b"\x1a\xac\x02" + b"x" * 300]


def test_no_rows() -> None:
    nothing = np.zeros(0, dtype=bool)
    assert varint_field(1, np.zeros(0, dtype=np.int64), nothing).rows() == []
