"""Reads the protobuf wire format where generated classes are too slow or too strict.

Source of the format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED_SIZE = {FIXED64: 8, FIXED32: 4}
_CONTINUES = 0x80
_PAYLOAD = 0x7F


def encode_varint(value: int) -> bytes:
    """Encodes a non-negative integer."""
    encoded = bytearray()
    while value >= _CONTINUES:
        encoded.append(value & _PAYLOAD | _CONTINUES)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_bytes_field(field: int, payload: bytes) -> bytes:
    """Encodes one string, bytes or message field with its tag."""
    return encode_varint(field << 3 | BYTES) + encode_varint(len(payload)) + payload


def _read_varint(buffer: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & _PAYLOAD) << shift
        if byte < _CONTINUES:
            return value, position
        shift += 7


def iter_fields(buffer: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yields (field number, value) of a message in the order of its bytes.

    Integers come as ``int``, everything else as a view of its bytes, without a copy.

    Raises:
        ValueError: the bytes are no protobuf message.
    """
    position, end = 0, len(buffer)
    while position < end:
        try:
            tag, position = _read_varint(buffer, position)
            wire_type = tag & 7
            if wire_type == VARINT:
                value, position = _read_varint(buffer, position)
                yield tag >> 3, value
                continue
            if wire_type == BYTES:
                size, position = _read_varint(buffer, position)
            else:
                size = _FIXED_SIZE[wire_type]
        except (IndexError, KeyError) as error:
            raise ValueError("truncated or unknown protobuf field") from error
        if position + size > end:
            raise ValueError("truncated protobuf field")
        yield tag >> 3, buffer[position : position + size]
        position += size


def decode_packed_varints(buffer: bytes | memoryview) -> npt.NDArray[np.int64]:
    """Decodes a packed ``repeated int64`` field at once, exact over all 64 bits."""
    raw: npt.NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8)
    ends = np.flatnonzero(raw < _CONTINUES)
    if not ends.size:
        return np.zeros(0, dtype=np.int64)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    values: npt.NDArray[Any] = (raw[starts] & _PAYLOAD).astype(np.uint64)
    longer = np.flatnonzero(ends > starts)
    shift = 0
    while longer.size:
        shift += 1
        part = (raw[starts[longer] + shift] & _PAYLOAD).astype(np.uint64)
        values[longer] |= part << np.uint64(7 * shift)
        longer = longer[ends[longer] > starts[longer] + shift]
    return values.view(np.int64)
