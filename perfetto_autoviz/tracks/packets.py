"""Trace packets of track events: descriptors, interned texts, slices, counters.

Field numbers are those of Perfetto's protos/perfetto/trace (trace_packet.proto,
interned_data.proto and the track_event folder). No packet names a clock and there is
no clock snapshot: only then does a trace processor lay the file over the capture
beside it without an offset.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfetto_autoviz.engine.wire import VARINT, encode_bytes_field, encode_varint
from perfetto_autoviz.tracks.interning import InternTable, text_bytes
from perfetto_autoviz.tracks.ragged import (
    Ragged,
    constant,
    double_field,
    join,
    message_field,
    varint_field,
)

_TRACE_PACKET = 1
_PACKET_TIMESTAMP, _PACKET_SEQUENCE, _PACKET_EVENT = 8, 10, 11
_PACKET_INTERNED, _PACKET_FLAGS, _PACKET_DESCRIPTOR = 12, 13, 60
_SEQUENCE = 1
_STATE_CLEARED, _STATE_NEEDED = 1, 2

_EVENT_CATEGORY, _EVENT_ANNOTATION, _EVENT_TYPE, _EVENT_NAME, _EVENT_TRACK = 3, 4, 9, 10, 11
_EVENT_VALUE, _EVENT_COLOUR = 44, 54
_BEGIN, _END, _COUNTER = 1, 2, 4

_ANNOTATION_NAME, _ANNOTATION_INT, _ANNOTATION_DOUBLE, _ANNOTATION_STRING = 1, 4, 5, 17

_INTERNED_CATEGORY, _INTERNED_NAME, _INTERNED_ANNOTATION = 1, 2, 3
_INTERNED_STRING, _INTERNED_COLOUR = 29, 43

_TRACK_UUID, _TRACK_NAME, _TRACK_PARENT, _TRACK_COUNTER = 1, 2, 5, 8
_TRACK_ORDERING, _TRACK_RANK, _TRACK_DESCRIPTION = 11, 12, 14
_TRACK_MERGE, _TRACK_MERGE_KEY = 15, 16
_COUNTER_UNIT = 6
_ORDERING_EXPLICIT, _MERGE_BY_KEY = 3, 3

_UUID_BYTES = 8

Integers = npt.NDArray[np.int64]


class Texts:
    """The interned texts of a file, by what they're used for."""

    def __init__(self) -> None:
        self.categories = InternTable()
        self.names = InternTable()
        self.annotations = InternTable()
        self.strings = InternTable()
        self.colours = InternTable()

    def packet(self) -> bytes:
        """The packet that defines them; it comes before all events."""
        interned = b"".join(
            (
                self.categories.encode(_INTERNED_CATEGORY),
                self.names.encode(_INTERNED_NAME),
                self.annotations.encode(_INTERNED_ANNOTATION),
                self.strings.encode(_INTERNED_STRING),
                self.colours.encode(_INTERNED_COLOUR),
            )
        )
        return _packet(_STATE_CLEARED, encode_bytes_field(_PACKET_INTERNED, interned))


def track_uuid(*path: str | int) -> int:
    """A number for a track that depends on nothing but its path."""
    key = "\0".join(map(str, (*path,))).encode("utf-8", errors="replace")
    digest = hashlib.blake2b(key, digest_size=_UUID_BYTES).digest()
    return int.from_bytes(digest, "little")


def root_track(uuid: int, title: str) -> bytes:
    """The packet of a group whose children stand in the order of their ranks."""
    return _track(uuid, title, _number(_TRACK_ORDERING, _ORDERING_EXPLICIT))


def slice_track(uuid: int, parent: int, title: str, rank: int, description: str = "") -> bytes:
    """The packet of one lane. Lanes of one title are shown as one track."""
    return _track(
        uuid,
        title,
        _number(_TRACK_PARENT, parent),
        _number(_TRACK_RANK, rank),
        _number(_TRACK_MERGE, _MERGE_BY_KEY),
        encode_bytes_field(_TRACK_MERGE_KEY, text_bytes(title)),
        _described(description),
    )


def counter_track(
    uuid: int, parent: int, title: str, rank: int, unit: str, description: str = ""
) -> bytes:
    """The packet of a counter's track."""
    return _track(
        uuid,
        title,
        _number(_TRACK_PARENT, parent),
        _number(_TRACK_RANK, rank),
        encode_bytes_field(_TRACK_COUNTER, encode_bytes_field(_COUNTER_UNIT, text_bytes(unit))),
        _described(description),
    )


def annotation_integers(number: int, values: Integers, present: npt.NDArray[np.bool_]) -> Ragged:
    """One integer argument per slice."""
    return _annotation(number, varint_field(_ANNOTATION_INT, values, present), present)


def annotation_doubles(
    number: int, values: npt.NDArray[np.float64], present: npt.NDArray[np.bool_]
) -> Ragged:
    """One floating-point argument per slice."""
    return _annotation(number, double_field(_ANNOTATION_DOUBLE, values, present), present)


def annotation_strings(number: int, texts: Integers) -> Ragged:
    """One text argument per slice, by its number in `Texts.strings`; 0 is missing."""
    present = texts > 0
    return _annotation(number, varint_field(_ANNOTATION_STRING, texts, present), present)


def begin_packets(
    times: Integers,
    tracks: Integers,
    category: int,
    names: Integers,
    colours: Integers,
    annotations: Sequence[Ragged],
) -> list[bytes]:
    """A packet per slice that begins it and carries all that is known about it.

    Args:
        times: start of each slice in ns.
        tracks: uuid of each slice's lane.
        category: number in `Texts.categories`.
        names: number of each name in `Texts.names`; 0 is none.
        colours: number of each colour word in `Texts.colours`; 0 is none.
        annotations: the arguments, a column each.
    """
    everywhere = _everywhere(times)
    return _events(
        times,
        [
            constant(_number(_EVENT_TYPE, _BEGIN), everywhere),
            varint_field(_EVENT_TRACK, tracks, everywhere),
            constant(_number(_EVENT_CATEGORY, category), everywhere),
            varint_field(_EVENT_NAME, names, names > 0),
            varint_field(_EVENT_COLOUR, colours, colours > 0),
            *annotations,
        ],
    )


def end_packets(times: Integers, tracks: Integers) -> list[bytes]:
    """A packet per slice that ends it."""
    everywhere = _everywhere(times)
    return _events(
        times,
        [
            constant(_number(_EVENT_TYPE, _END), everywhere),
            varint_field(_EVENT_TRACK, tracks, everywhere),
        ],
    )


def counter_packets(times: Integers, track: int, values: npt.NDArray[np.float64]) -> list[bytes]:
    """A packet per value of one counter."""
    everywhere = _everywhere(times)
    head = _number(_EVENT_TYPE, _COUNTER) + _number(_EVENT_TRACK, track)
    value = double_field(_EVENT_VALUE, values, everywhere)
    return _events(times, [constant(head, everywhere), value])


def _events(times: Integers, fields: Sequence[Ragged]) -> list[bytes]:
    everywhere = _everywhere(times)
    head = _number(_PACKET_SEQUENCE, _SEQUENCE) + _number(_PACKET_FLAGS, _STATE_NEEDED)
    packet = join(
        [
            varint_field(_PACKET_TIMESTAMP, times, everywhere),
            constant(head, everywhere),
            message_field(_PACKET_EVENT, join(fields), everywhere),
        ]
    )
    return message_field(_TRACE_PACKET, packet, everywhere).rows()


def _annotation(number: int, value: Ragged, present: npt.NDArray[np.bool_]) -> Ragged:
    name = constant(_number(_ANNOTATION_NAME, number), present)
    return message_field(_EVENT_ANNOTATION, join([name, value]), present)


def _track(uuid: int, title: str, *fields: bytes) -> bytes:
    name = encode_bytes_field(_TRACK_NAME, text_bytes(title))
    body = _number(_TRACK_UUID, uuid) + name + b"".join(fields)
    return _packet(_STATE_NEEDED, encode_bytes_field(_PACKET_DESCRIPTOR, body))


def _packet(flags: int, content: bytes) -> bytes:
    head = _number(_PACKET_SEQUENCE, _SEQUENCE) + _number(_PACKET_FLAGS, flags)
    return encode_bytes_field(_TRACE_PACKET, head + content)


def _described(text: str) -> bytes:
    return encode_bytes_field(_TRACK_DESCRIPTION, text_bytes(text)) if text else b""


def _number(field: int, value: int) -> bytes:
    return encode_varint(field << 3 | VARINT) + encode_varint(value)


def _everywhere(times: Integers) -> npt.NDArray[np.bool_]:
    return np.ones(times.size, dtype=np.bool_)
