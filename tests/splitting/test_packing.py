"""Gzip files that grow side by side."""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfetto_autoviz.splitting.packing import GzipFile, gzip_files


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=300), max_size=6))
def test_pieces_are_one_gzip_member(pieces: list[bytes]) -> None:
    path = Path("unused")
    file = GzipFile(path)

    class Sink:
        data = b""

        def write(self, data: bytes) -> int:
            self.data += data
            return len(data)

    sink = Sink()
    for piece in pieces:
        file.hold(piece)
        file.pack(sink)  # type: ignore[arg-type]
    file.pack(sink, last=True)  # type: ignore[arg-type]
    assert gzip.decompress(sink.data) == b"".join(pieces)
    assert sink.data.count(b"\x1f\x8b\x08") >= 1


def test_more_files_than_may_be_open(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 180
    long = 90_000  # repeats of a text that make it too long to be held back
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 160), hard))
    try:
        targets = {number: tmp_path / f"{number}.gz" for number in range(count)}
        with gzip_files(targets) as files:
            for turn in range(3):
                for number in range(count):
                    files.add(number, b"%d of %d;" % (turn, number) * (long if turn else 1))
            assert not any(path.exists() for path in targets.values())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(tmp_path.iterdir()) == sorted(targets.values())
    for number in (0, 150, count - 1):
        text = gzip.decompress(targets[number].read_bytes())
        assert text == b"".join(
            b"%d of %d;" % (turn, number) * (long if turn else 1) for turn in range(3)
        )


def test_nothing_appears_if_something_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.gz"
    target.write_bytes(b"before")

    def fail() -> None:
        with gzip_files({0: target, 1: tmp_path / "b.gz"}) as files:
            files.add(0, b"text" * 1_000_000)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == b"before"
