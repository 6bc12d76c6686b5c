"""Count the GPU slices of a native Perfetto trace at the level of the wire format.

Field numbers are those of Perfetto's trace_packet.proto and
gpu_render_stage_event.proto.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_PACKET = 1  # Trace.packet
_COMPRESSED_PACKETS = 50  # TracePacket.compressed_packets, a zlib stream of a Trace
_GPU_RENDER_STAGE_EVENT = 53  # TracePacket.gpu_render_stage_event
_EVENT_ID = 1  # GpuRenderStageEvent.event_id; packets without it only describe stages

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10

LARGEST_PACKET = 256 << 20
"""A packet longer than this is taken for damaged data; the format's own limit is far lower."""


class _Cut(Exception):  # noqa: N818 - not an error: the data simply ends here
    """A field reaches beyond the end of the data."""


class _Broken(Exception):  # noqa: N818 - internal signal, always caught here
    """The bytes are no protobuf."""


@dataclass(frozen=True)
class PacketCount:
    """What a native trace holds.

    Attributes:
        packets: top-level packets.
        gpu_slices: GPU render stage events that become slices.
        whole: bytes up to the end of the last whole packet.
        total: bytes read.
        broken: the bytes behind ``whole`` are no packets.
    """

    packets: int
    gpu_slices: int
    whole: int
    total: int
    broken: bool


def count_packets(blocks: Iterable[bytes]) -> PacketCount:
    """Walk over all packets; memory stays at one block and one packet."""
    packets = slices = whole = total = 0
    buffer = b""
    broken = False
    for block in blocks:
        total += len(block)
        if broken:
            continue
        buffer += block
        position = 0
        try:
            while position < len(buffer):
                number, wire, value, position_after = _field(buffer, position)
                if wire != _BYTES:
                    raise _Broken
                if number == _PACKET:
                    packets += 1
                    slices += _gpu_slices(buffer[value:position_after])
                position = position_after
        except _Cut:
            broken = len(buffer) - position > LARGEST_PACKET
        except _Broken:
            broken = True
        whole += position
        buffer = buffer[position:]
    return PacketCount(packets, slices, whole, total, broken)


def _gpu_slices(packet: bytes) -> int:
    """GPU slices of one packet; of all inside it if it is compressed."""
    found = 0
    for number, begin, end in _byte_fields(packet):
        if number == _GPU_RENDER_STAGE_EVENT:
            found += _has_event_id(packet[begin:end])
        elif number == _COMPRESSED_PACKETS:
            found += _gpu_slices_inside(packet[begin:end])
    return found


def _gpu_slices_inside(packed: bytes) -> int:
    try:
        data = zlib.decompressobj().decompress(packed, LARGEST_PACKET)
    except zlib.error:
        raise _Broken from None
    return sum(
        _gpu_slices(data[begin:end])
        for number, begin, end in _byte_fields(data)
        if number == _PACKET
    )


def _has_event_id(message: bytes) -> bool:
    position = 0
    while position < len(message):
        number, wire, _, position = _inner_field(message, position)
        if number == _EVENT_ID and wire == _VARINT:
            return True
    return False


def _byte_fields(message: bytes) -> Iterator[tuple[int, int, int]]:
    """Number, begin and end of each length-delimited field."""
    position = 0
    while position < len(message):
        number, wire, begin, position = _inner_field(message, position)
        if wire == _BYTES:
            yield number, begin, position


def _inner_field(message: bytes, position: int) -> tuple[int, int, int, int]:
    """As ``_field``, where the data is known to be complete."""
    try:
        return _field(message, position)
    except _Cut:
        raise _Broken from None


def _field(data: bytes, position: int) -> tuple[int, int, int, int]:
    """Number, wire type, begin of the value and end of the field at a position."""
    tag, position = _varint(data, position)
    number, wire = tag >> 3, tag & 7
    if number == 0:
        raise _Broken
    if wire == _VARINT:
        _, end = _varint(data, position)
        return number, wire, position, end
    if wire == _BYTES:
        length, position = _varint(data, position)
    elif wire in _FIXED_SIZES:
        length = _FIXED_SIZES[wire]
    else:
        raise _Broken
    if position + length > len(data):
        raise _Cut
    return number, wire, position, position + length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    for _ in range(_LONGEST_VARINT):
        if position >= len(data):
            raise _Cut
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
    raise _Broken
