"""The few fields of Perfetto's trace packets that are read here, as protobuf messages.

The generated classes know every field of every data source and decode them all; these leave
what nobody asks for undecoded, and write it back as it was. Field numbers are those of
Perfetto's protos/perfetto/trace: trace_packet.proto, clock_snapshot.proto,
interned_data.proto, the folders track_event and gpu.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_PACKAGE = "autoviz"
_SCALARS = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "string": FieldDescriptorProto.TYPE_STRING,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
}

# What says how the packets of a sequence are to be read; the same in all messages of packets.
_STATE = {
    "timestamp": (8, "uint64"),
    "clock": (58, "uint64"),
    "sequence": (10, "uint64"),
    "flags": (13, "uint64"),
    "cleared": (41, "bool"),
    "dropped": (42, "bool"),
    "defaults": (59, "Defaults"),
    "snapshot": (6, "Snapshot"),
}

_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Trace": {"packet": (1, "repeated bytes")},
    "Packet": {
        **_STATE,
        "track_event": (11, "TrackEvent"),
        "gpu_event": (53, "GpuEvent"),
        "gpu_counters": (52, "GpuCounters"),
        "interned": (12, "Interned"),
        "track": (60, "Track"),
        "compressed": (50, "bytes"),
        "compressed_by_zstd": (133, "bytes"),
    },
    # A trace of which nothing but the clocks is wanted, and numbers in the place of events.
    "Clocks": {"packet": (1, "repeated Ticks")},
    "Ticks": {**_STATE, "machine": (98, "uint64"), "track_event": (11, "Count")},
    "Count": {"type": (9, "int32"), "track": (11, "uint64"), "value": (30, "uint64")},
    "TrackEvent": {
        "category_numbers": (3, "repeated uint64"),
        "categories": (22, "repeated string"),
        "type": (9, "int32"),
        "track": (11, "uint64"),
        "legacy": (6, "Legacy"),
        "delta_us": (1, "uint64"),
        "absolute_us": (16, "uint64"),
        "submission": (3000, "bytes"),
    },
    "Legacy": {"phase": (2, "int32")},
    "GpuEvent": {
        "id": (1, "uint64"),
        "duration": (2, "uint64"),
        "queue_id": (3, "int32"),
        "queue_number": (13, "uint64"),
    },
    "GpuCounters": {"descriptor": (1, "bytes")},
    "Interned": {"categories": (1, "repeated Text")},
    "Text": {"number": (1, "uint64"), "text": (2, "string")},
    "Defaults": {"clock": (58, "uint64"), "track_event": (11, "TrackEventDefaults")},
    "TrackEventDefaults": {"track": (11, "uint64")},
    "Snapshot": {"clocks": (1, "repeated Clock")},
    "Clock": {"id": (1, "uint64"), "timestamp": (2, "uint64"), "incremental": (3, "bool")},
    "Track": {"uuid": (1, "uint64"), "counter": (8, "Counter")},
    "Counter": {"incremental": (5, "bool")},
}

# Fields of which a message has one at most.
_ONE_OF = {
    ("Packet", "data"): (
        "track_event", "gpu_event", "gpu_counters", "track", "snapshot", "compressed",
        "compressed_by_zstd",
    ),
    ("TrackEvent", "own_time"): ("delta_us", "absolute_us"),
}  # fmt: skip


def _file() -> FileDescriptorProto:
    file = FileDescriptorProto(name="autoviz.proto", package=_PACKAGE, syntax="proto2")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            repeated, _, kind = kind.rpartition(" ")
            field = described.field.add(name=name, number=number)
            field.label = (
                FieldDescriptorProto.LABEL_REPEATED
                if repeated
                else FieldDescriptorProto.LABEL_OPTIONAL
            )
            if kind in _SCALARS:
                field.type = _SCALARS[kind]
            else:
                field.type = FieldDescriptorProto.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{kind}"
    for (message, choice), names in _ONE_OF.items():
        described = next(each for each in file.message_type if each.name == message)
        described.oneof_decl.add(name=choice)
        for field in described.field:
            if field.name in names:
                field.oneof_index = len(described.oneof_decl) - 1
    return file


_pool = DescriptorPool()
_pool.Add(_file())


def _message(name: str) -> Any:
    return GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


Trace = _message("Trace")
"""Packets, undecoded: what a compressed packet holds."""

Packet = _message("Packet")
"""A packet, with the events, and what is needed to understand those of its sequence.

Its field ``data`` names what the packet is, where that is one of the fields listed here.
"""

Clocks = _message("Clocks")
"""A trace of which nothing is left but what its packets do to clocks."""
