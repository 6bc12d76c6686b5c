"""Seeded damage to a capture: as many different broken files as a test wants."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator

Mutation = Callable[[bytes, random.Random], bytes]

_GARBAGE = (
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"NaN",
    b"-Infinity",
    b"\\ud83d",
    b"\\u12",
    b"\n",
    b"\xed\xa0\x80",
    b"<html>",
    b"1e999",
)

_VALUES: tuple[object, ...] = (
    None,
    True,
    -1,
    0,
    -5.5,
    "12.5",
    "text",
    "",
    [],
    [1],
    {},
    {"a": 1},
    1e300,
    -1e18,
    2**64,
    10**30,
    float("nan"),
    float("inf"),
)

_FIELDS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id")


def truncate(data: bytes, rng: random.Random) -> bytes:
    """Cut the file off somewhere."""
    return data[: rng.randrange(len(data))]


def cut_out(data: bytes, rng: random.Random) -> bytes:
    """Take a stretch out of the middle."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randrange(1, 400) :]


def flip_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes to any others."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 12)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def insert_garbage(data: bytes, rng: random.Random) -> bytes:
    """Put brackets, quotes, escapes and number words where they don't belong."""
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(data))
        data = data[:place] + rng.choice(_GARBAGE) * rng.randrange(1, 3) + data[place:]
    return data


def swap_types(data: bytes, rng: random.Random) -> bytes:
    """Give fields of some events values of any other type."""
    trace = json.loads(data)
    events = trace["traceEvents"]
    for event in rng.sample(events, rng.randrange(1, 1 + len(events) // 2)):
        event[rng.choice(_FIELDS)] = rng.choice(_VALUES)
    return json.dumps(trace).encode()


def drop_fields(data: bytes, rng: random.Random) -> bytes:
    """Take fields away from some events."""
    trace = json.loads(data)
    for event in trace["traceEvents"]:
        if rng.random() < 0.3:
            event.pop(rng.choice(_FIELDS), None)
    return json.dumps(trace).encode()


def repeat_stretch(data: bytes, rng: random.Random) -> bytes:
    """Write a stretch twice, as a broken download does."""
    start = rng.randrange(len(data))
    stop = start + rng.randrange(1, 600)
    return data[:stop] + data[start:stop] + data[stop:]


def damage_gzip(data: bytes, rng: random.Random) -> bytes:
    """Pack the file, then truncate it or change a byte of it."""
    packed = gzip.compress(data, mtime=0)
    return truncate(packed, rng) if rng.random() < 0.5 else flip_bytes(packed, rng)


MUTATIONS: tuple[Mutation, ...] = (
    truncate,
    cut_out,
    flip_bytes,
    insert_garbage,
    swap_types,
    drop_fields,
    repeat_stretch,
    damage_gzip,
)


def mutations(data: bytes, count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield ``count`` broken files made from one capture, the same ones for a seed.

    Args:
        data: a small capture with an object around its events.
        count: how many files to make; the kinds of damage take turns.
        seed: of the random numbers.

    Yields:
        A name that tells kind and number, and the file's bytes.
    """
    for number in range(count):
        mutation = MUTATIONS[number % len(MUTATIONS)]
        rng = random.Random(f"{seed}/{number}")
        yield f"{mutation.__name__}_{number}", mutation(data, rng)
