"""Every broken file ends in the result its builder states, or in one line."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest import Capture, scan_capture
from tests.ingest.broken import BrokenFile, broken_files, bytes_of, events_of
from tests.ingest.conftest import DEVICE, events_in, slices
from tests.ingest.mutate import mutations

FILES = broken_files()


def _events(capture: Capture) -> list[dict[str, object]]:
    data = b"".join(capture.chunks())
    return events_in(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def test_there_are_enough_and_their_names_differ() -> None:
    assert len({broken.name for broken in FILES}) == len(FILES) >= 30


@pytest.mark.parametrize(
    "broken", [f for f in FILES if f.devices is not None], ids=lambda f: f.name
)
def test_mended(broken: BrokenFile, tmp_path: Path) -> None:
    path = tmp_path / broken.file_name
    path.write_bytes(broken.data)
    capture = scan_capture(path, drops_overlaps=True)
    assert capture.counts.device == broken.devices
    assert broken.repairs <= {repair.kind for repair in capture.repairs}
    if not broken.name.startswith("zip"):
        arrived = slices(_events(capture), *DEVICE)
        assert len(arrived) == broken.devices
        assert set(broken.names) <= {event["name"] for event in arrived}


@pytest.mark.parametrize("broken", [f for f in FILES if f.devices is None], ids=lambda f: f.name)
def test_refused(broken: BrokenFile, tmp_path: Path) -> None:
    path = tmp_path / broken.file_name
    path.write_bytes(broken.data)
    with pytest.raises(CaptureError) as caught:
        scan_capture(path, drops_overlaps=True)
    line = str(caught.value)
    assert broken.says in line
    assert "\n" not in line
    assert broken.name in line


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="does not exist"):
        scan_capture(tmp_path / "nothing.json", drops_overlaps=False)
    with pytest.raises(CaptureError, match="is a directory"):
        scan_capture(tmp_path, drops_overlaps=False)


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(CaptureError, match="no regular file"):
        scan_capture(tmp_path / "pipe.json", drops_overlaps=False)


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.json"
    path.write_bytes(bytes_of())

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CaptureError, match="permission denied"):
        scan_capture(path, drops_overlaps=False)


@pytest.mark.parametrize("seed", range(4))
def test_generated_damage_ends_in_a_capture_or_one_line(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "capture.json"
    for name, data in mutations(bytes_of(events_of(12)), 250, seed):
        path.write_bytes(data)
        refusal, capture = "", None
        try:
            capture = scan_capture(path, drops_overlaps=bool(seed % 2))
        except CaptureError as error:
            refusal = str(error)
        assert "\n" not in refusal, name
        if capture is None:
            continue
        events = events_in(_text(b"".join(capture.chunks())))
        assert len(slices(events, *DEVICE)) == capture.counts.device > 0, name
        assert capture.repairs or events == _strict(data), name


def _strict(data: bytes) -> object:
    """The events as a strict reader sees them; a file that it refuses needs a repair."""
    try:
        return events_in(_text(data))
    except ValueError:
        return None


def _text(data: bytes) -> bytes:
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
