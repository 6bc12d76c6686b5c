from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from perfetto_autoviz.engine import wire

MESSAGES = ProtoFactory(PlatformDelegate())
INT64 = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None)
@given(st.lists(st.one_of(INT64, st.integers(-3, 300))))
def test_packed_varints_as_protobuf_writes_them(numbers: list[int]) -> None:
    batch = MESSAGES.CellsBatch(varint_cells=numbers).SerializeToString()
    payloads = [value for _, value in wire.iter_fields(memoryview(batch))]
    decoded = wire.decode_packed_varints(
        b"".join(bytes(p) for p in payloads if not isinstance(p, int))
    )
    assert decoded.dtype == np.int64
    assert decoded.tolist() == numbers


@pytest.mark.parametrize(
    ("encoded", "number"),
    [
        # Written down by hand from the specification of the format.
        (b"\x00", 0),
        (b"\x7f", 127),
        (b"\x80\x01", 128),
        (b"\xac\x02", 300),
        (b"\xff" * 9 + b"\x01", -1),
        (b"\x80" * 9 + b"\x01", -(2**63)),
    ],
)
def test_varint_bytes(encoded: bytes, number: int) -> None:
    assert wire.decode_packed_varints(encoded).tolist() == [number]


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1))
def test_encoded_varint_decodes(number: int) -> None:
    assert wire.decode_packed_varints(wire.encode_varint(number)).tolist() == [number]


def test_fields_of_all_wire_types() -> None:
    message = b"\x08\x96\x01" + b"\x11" + b"A" * 8 + b"\x1a\x02hi" + b"\x25" + b"B" * 4
    fields = [
        (n, v if isinstance(v, int) else bytes(v)) for n, v in wire.iter_fields(memoryview(message))
    ]
    assert fields == [(1, 150), (2, b"A" * 8), (3, b"hi"), (4, b"B" * 4)]


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        sizes = [0 if isinstance(v, int) else len(v) for _, v in wire.iter_fields(memoryview(data))]
    except ValueError:
        return
    assert sum(sizes) <= len(data)


@pytest.mark.parametrize("broken", [b"\x0a", b"\x0a\x05abc", b"\x08\x80", b"\x0b", b"\x11abc"])
def test_truncated_and_unknown_fields(broken: bytes) -> None:
    with pytest.raises(ValueError, match="protobuf field"):
        list(wire.iter_fields(memoryview(broken)))
