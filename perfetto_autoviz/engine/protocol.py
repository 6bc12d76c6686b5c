"""The messages of the trace processor's HTTP API, as bytes in and plain values out.

The message classes come from the descriptors inside the ``perfetto`` package, so they
follow the release it pins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from google.protobuf.message import DecodeError
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from perfetto_autoviz.engine import wire
from perfetto_autoviz.errors import EngineError, QueryError

MAX_MESSAGE = 64 * 2**20 - 64
"""Bytes: the engine's RPC buffer breaks on a message of 64 MiB (proto_ring_buffer.h)."""

_SQL_FIELD = 1  # QueryArgs.sql_query


@dataclass(frozen=True)
class Status:
    """What the engine says about itself."""

    version: str
    api_version: int


@lru_cache(maxsize=1)
def _messages() -> ProtoFactory:
    return ProtoFactory(PlatformDelegate())


def _parse(message: Any, body: bytes) -> Any:
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise EngineError(f"the engine's answer can't be read: {error}") from error
    return message


def query_request(sql: str) -> bytes:
    """Serialises a query.

    Raises:
        QueryError: the text is no valid Unicode, or too long for one message.
    """
    try:
        text = sql.encode()
    except UnicodeEncodeError as error:
        raise QueryError(f"the SQL text holds an unpaired surrogate: {error}") from error
    return _limited(
        "the SQL text",
        "split it into several statements",
        wire.encode_bytes_field(_SQL_FIELD, text),
    )


def register_request(name: str, modules: Mapping[str, str]) -> bytes:
    """Serialises the registration of an SQL package, replacing one of the same name.

    Raises:
        QueryError: the package is too large for one message.
    """
    stream = _messages().TraceProcessorRpcStream()
    call = stream.msg.add()
    call.request = call.TPM_REGISTER_SQL_PACKAGE
    call.register_sql_package_args.package_name = name
    call.register_sql_package_args.allow_override = True
    for module, sql in modules.items():
        call.register_sql_package_args.modules.add(name=module, sql=sql)
    return _limited(f"the SQL package {name}", "register less at once", stream.SerializeToString())


def register_error(body: bytes) -> str:
    """The engine's complaint about a registration, or an empty string."""
    stream = _parse(_messages().TraceProcessorRpcStream(), body)
    for message in stream.msg:
        complaint = message.fatal_error or message.register_sql_package_result.error
        if complaint:
            return str(complaint)
    return ""


def append_error(body: bytes) -> str:
    """The engine's complaint about a piece of a trace, or an empty string."""
    return str(_parse(_messages().AppendTraceDataResult(), body).error)


def finalize_error(body: bytes) -> str:
    """The engine's complaint about the end of a trace, or an empty string.

    Older engines answer with nothing or with a few words that are no message.
    """
    result = _messages().TraceProcessorRpc().finalize_data_result
    if not hasattr(result, "error"):
        return ""
    try:
        result.ParseFromString(body)
    except DecodeError:
        return ""
    return str(result.error)


def status(body: bytes) -> Status:
    """Reads the answer of ``/status``."""
    result = _parse(_messages().StatusResult(), body)
    return Status(str(result.human_readable_version), int(result.api_version))


def _limited(what: str, remedy: str, message: bytes) -> bytes:
    if len(message) > MAX_MESSAGE:
        size = len(message) / 2**20
        raise QueryError(f"{what} has {size:.0f} MiB, the engine takes at most 64 MiB: {remedy}")
    return message
