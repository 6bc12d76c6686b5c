"""What a scan reads of an event, and what its category stands for."""

from __future__ import annotations

import re

import msgspec

ABSENT = float("-inf")
"""Stands for a duration that an event does not have; ``null`` is read as None."""


class Event(msgspec.Struct, gc=False):
    """The fields of a trace event that decide where it belongs; the rest is skipped unread."""

    ph: str = ""
    cat: str = ""
    ts: float | str | None = None
    dur: float | str | None = ABSENT
    pid: int | str | float | None = None
    tid: int | str | float | None = None


OTHER, KERNEL, MEMCPY, MEMSET, LAUNCH, HOST_ANNOTATION, DEVICE_ANNOTATION = range(7)
"""Kinds of slices. Device activities are the ones from ``KERNEL`` to ``MEMSET``."""

FLOW = 7
"""Ends of flow arrows; no slices, but they follow the slice they are bound to."""

KIND_BY_CATEGORY = {
    "kernel": KERNEL,
    "gpu_memcpy": MEMCPY,
    "gpu_memset": MEMSET,
    # Kineto before 2021 wrote "Kernel", "Memcpy", "Memset" and "Runtime".
    "memcpy": MEMCPY,
    "memset": MEMSET,
    "runtime": LAUNCH,
    "cuda_runtime": LAUNCH,
    "cuda_driver": LAUNCH,
    "hip_runtime": LAUNCH,
    "hip_driver": LAUNCH,
    "xpu_runtime": LAUNCH,
    "xpu_driver": LAUNCH,
    "user_annotation": HOST_ANNOTATION,
    "gpu_user_annotation": DEVICE_ANNOTATION,
}
"""Kind by the category in lower case; every other category is ``OTHER``."""

OLD_CPU_OP = "operator"
"""What Kineto before 2021 called ``cpu_op``, in lower case."""

_events = msgspec.json.Decoder(list[Event])
_raw = msgspec.json.Decoder(list[msgspec.Raw])
# An even number of backslashes before it: \\ud83d is a backslash and five letters.
_BAD_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u(?:[dD][89a-fA-F]|0000)")

Unreadable = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""What decoding text that is no clean list of events may raise."""


def read_events(text: bytes) -> list[Event]:
    """Decode comma-separated events.

    Raises:
        msgspec.DecodeError: the text is malformed, a field has the wrong type, or an escape
            is of a surrogate or of NUL (valid JSON, but engines fail on the one, and end the
            text at the other).
        UnicodeDecodeError: a byte is no UTF-8.
        RecursionError: values are nested too deep.
    """
    if not text.isascii():
        text.decode()
    if b"\\u" in text and _BAD_ESCAPE.search(text):
        raise msgspec.DecodeError("escaped surrogate or NUL")
    return _events.decode(b"[%b]" % text)


def split_clean(text: bytes) -> list[bytes]:
    """Cut text that ``read_events`` accepts into one piece of bytes per event."""
    return [bytes(raw) for raw in _raw.decode(b"[%b]" % text)]


def kind_of(category: str) -> int:
    """The kind of a slice of this category."""
    return KIND_BY_CATEGORY.get(category.lower(), OTHER)
