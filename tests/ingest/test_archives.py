"""Captures in archives, and what is handed on of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest import Capture, scan_capture
from tests.ingest.broken import bytes_of, kernel, tar_of, zip_of

PLAIN = bytes_of()
PACKED = gzip.compress(PLAIN, mtime=0)


def scan(tmp_path: Path, name: str, data: bytes) -> Capture:
    path = tmp_path / name
    path.write_bytes(data)
    return scan_capture(path, drops_overlaps=True)


def original(capture: Capture) -> bytes:
    return b"".join(capture.original_chunks())


@pytest.mark.parametrize(
    ("name", "data", "inside", "member_name"),
    [
        ("a.pt.trace.json", PLAIN, PLAIN, "a.pt.trace.json"),
        ("a.pt.trace.json.gz", PACKED, PACKED, "a.pt.trace.json.gz"),
        ("misnamed.json", PACKED, PACKED, "misnamed.json.gz"),
        ("no suffix", PLAIN, PLAIN, "no_suffix.json"),
        ("a.zip", zip_of(run1__json=PLAIN), PLAIN, "run1.json"),
        ("a.zip", zip_of(run1__json__gz=PACKED), PACKED, "run1.json.gz"),
        ("a.tar", tar_of(run1__json=PLAIN), PLAIN, "run1.json"),
        ("a.tgz", tar_of("w:gz", run1__json__gz=PACKED), PACKED, "run1.json.gz"),
        ("a.tar.gz", tar_of("w:gz", run1__json=PLAIN, x__txt=b"x"), PLAIN, "run1.json"),
    ],
)
def test_where_a_capture_may_lie(
    tmp_path: Path, name: str, data: bytes, inside: bytes, member_name: str
) -> None:
    capture = scan(tmp_path, name, data)
    assert capture.counts.kernel == 5
    assert original(capture) == b"".join(capture.chunks()) == inside
    assert capture.sha256 == hashlib.sha256(inside).hexdigest()
    assert (capture.size, capture.unpacked_size) == (len(inside), len(PLAIN))
    assert capture.member_name == member_name
    assert capture.annotations is None


def test_an_enriched_trace(tmp_path: Path) -> None:
    annotations = b"\x0a\x02\x50\x01"
    data = zip_of(run1__json=PLAIN, annotations__pftrace=annotations)
    capture = scan(tmp_path, "enriched.zip", data)
    assert capture.annotations == annotations
    assert capture.member == "run1.json"
    assert capture.counts.kernel == 5
    three = zip_of(run1__json=PLAIN, annotations__pftrace=annotations, x__txt=b"x")
    with pytest.raises(CaptureError, match="2 captures"):
        scan(tmp_path, "three.zip", three)


def test_a_repaired_capture_is_named_as_plain_json(tmp_path: Path) -> None:
    data = gzip.compress(bytes_of([kernel(0, dur=-1)]))
    assert scan(tmp_path, "run.json.gz", data).member_name == "run.json"
    only_lanes = gzip.compress(bytes_of([kernel(0, dur=12), kernel(1)]))
    assert scan(tmp_path, "run.json.gz", only_lanes).member_name == "run.json.gz"


def test_paths_inside_archives_are_never_followed(tmp_path: Path) -> None:
    capture = scan(tmp_path, "a.zip", zip_of(**{"../../etc/run1__json": PLAIN}))
    assert capture.member_name == "run1.json"
    buffer = io.BytesIO()
    (tmp_path / "target.json").write_bytes(PLAIN)
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("run1.json")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "target.json")
        archive.addfile(link)
    with pytest.raises(CaptureError, match="without a capture"):
        scan(tmp_path, "link.tar", buffer.getvalue())


def test_gzip_of_several_members_and_padding(tmp_path: Path) -> None:
    half = len(PLAIN) // 2
    members = gzip.compress(PLAIN[:half]) + gzip.compress(PLAIN[half:])
    for data in (members, members + bytes(512), members + b"padding that is no gzip"):
        capture = scan(tmp_path, "a.json.gz", data)
        assert capture.counts.kernel == 5
        # An engine refuses a file with anything behind the packed data.
        told = [] if data == members else ["padded_gzip"]
        assert [repair.kind for repair in capture.repairs] == told


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(PACKED)
    seen: list[tuple[int, int]] = []
    scan_capture(path, drops_overlaps=False, progress=lambda *step: seen.append(step))
    assert seen[-1] == (len(PACKED), len(PACKED))


def _details(tmp_path: Path, data: bytes) -> dict[str, str]:
    return {repair.kind: repair.detail for repair in scan(tmp_path, "a.json.gz", data).repairs}


def test_what_a_gzip_file_that_ends_early_lost_is_told(tmp_path: Path) -> None:
    stored = gzip.compress(PLAIN, 0, mtime=0)  # level 0: the text as it is, behind a short head
    head, cut = stored.index(PLAIN[:20]), len(PLAIN) * 3 // 4
    details = _details(tmp_path, stored[: head + cut])
    assert details["truncated_gzip"] == (
        f"the gzip file ends early: all {cut:,} bytes of text in its {head + cut:,} packed bytes"
        " were kept; it does not tell how much is missing behind them"
    )
    begun = cut - PLAIN.rindex(b'{"ph"', 0, cut)
    assert details["truncated"] == f"the file ends early: its last event is cut off ({begun} bytes)"


def test_what_a_damaged_or_padded_gzip_file_lost_is_told(tmp_path: Path) -> None:
    padded = _details(tmp_path, PACKED + b"padding")
    assert padded == {"padded_gzip": "7 bytes that follow the end of the packed data were ignored"}
    wrong_checksum = PACKED[:-8] + bytes(4) + PACKED[-4:]
    damaged = _details(tmp_path, wrong_checksum)["damaged_gzip"]
    # All of the text was kept, as nothing but the checksum behind it is wrong.
    assert damaged == (
        f"the gzip file is damaged: {len(PLAIN):,} bytes of text before the damage were kept, and"
        f" up to 8 of its {len(PACKED):,} packed bytes given up"
    )
