"""The packets of a native Perfetto trace: read one by one, and its GPU slices counted."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from perfetto_autoviz.ingest.packet_schema import Packet, Trace

_PACKET_TAG = 0x0A  # Trace.packet, the only field of a trace
_LONGEST_VARINT = 10

LARGEST_PACKET = 256 << 20
"""A packet longer than this is taken for damaged data; the format's own limit is far lower."""


class _Broken(Exception):  # noqa: N818 - internal signal, always caught here
    """The bytes are no packets."""


class PacketReader:
    """The packets of a trace, in the order of the file; memory stays at one block and one packet.

    Iterating gives each packet as its bytes and decoded, those inside compressed ones in their
    place. It ends where the data ends or is no packets any more.

    Attributes:
        packets: packets of the file given so far; a compressed one is one.
        whole: bytes up to the end of the last whole packet.
        total: bytes read.
        broken: the bytes behind ``whole`` are no packets.
        compressed: whether packets were compressed with zlib.
        zstd: whether packets were compressed with zstd, which is not read.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self.packets = self.whole = self.total = 0
        self.broken = self.compressed = self.zstd = False

    def __iter__(self) -> Iterator[tuple[bytes, Any]]:
        top_level = self._top_level()
        for raw in top_level:
            try:
                inside = self._inside(raw)
            except _Broken as broken:
                with contextlib.suppress(StopIteration):
                    top_level.throw(broken)
                return
            yield from inside

    def _inside(self, raw: bytes) -> Sequence[tuple[bytes, Any]]:
        packet = _decoded(raw)
        data = packet.WhichOneof("data")
        if data == "compressed":
            self.compressed = True
            return [(inner, _decoded(inner)) for inner in _unpacked(packet.compressed)]
        self.zstd |= data == "compressed_by_zstd"
        return ((raw, packet),)

    def raw(self, *, compressed: bool) -> Iterator[bytes]:
        """The same packets, not decoded.

        Args:
            compressed: whether some are compressed, as known from an earlier reading.
        """
        if compressed:
            yield from (raw for raw, _ in self)
        else:
            yield from self._top_level()

    def _top_level(self) -> Generator[bytes, None, None]:
        buffer = b""
        for block in self._blocks:
            self.total += len(block)
            if self.broken:
                continue
            buffer += block
            position = 0
            try:
                for begin, end in _frames(buffer):
                    yield buffer[begin:end]
                    self.packets += 1
                    position = end
                self.broken = len(buffer) - position > LARGEST_PACKET
            except _Broken:
                self.broken = True
            self.whole += position
            buffer = buffer[position:]


def _decoded(raw: bytes) -> Any:
    try:
        return Packet.FromString(raw)
    except DecodeError:
        raise _Broken from None


def _unpacked(packed: bytes) -> list[bytes]:
    try:
        data = zlib.decompressobj().decompress(packed, LARGEST_PACKET)
        packets: list[bytes] = list(Trace.FromString(data).packet)
    except (zlib.error, DecodeError):
        raise _Broken from None
    return packets


def _frames(buffer: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of each packet that is whole.

    Raises:
        _Broken: what follows them is no packet.
    """
    position, size = 0, len(buffer)
    while position < size:
        if buffer[position] != _PACKET_TAG:
            raise _Broken
        length = shift = 0
        at = position + 1
        while True:
            if at - position > _LONGEST_VARINT:
                raise _Broken
            if at >= size:
                return
            byte = buffer[at]
            at += 1
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if at + length > size:
            return
        yield at, at + length
        position = at + length


@dataclass(frozen=True)
class PacketCount:
    """What a native trace holds.

    Attributes:
        packets: top-level packets.
        gpu_slices: GPU render stage events that become slices.
        whole: bytes up to the end of the last whole packet.
        total: bytes read.
        broken: the bytes behind ``whole`` are no packets.
        zstd: whether packets are compressed with zstd, which is not read.
    """

    packets: int
    gpu_slices: int
    whole: int
    total: int
    broken: bool
    zstd: bool


def count_packets(blocks: Iterable[bytes]) -> PacketCount:
    """Walks over all packets."""
    reader = PacketReader(blocks)
    # Packets without the number only describe stages.
    slices = sum(packet.gpu_event.HasField("id") for _, packet in reader)
    return PacketCount(
        reader.packets, slices, reader.whole, reader.total, reader.broken, reader.zstd
    )
