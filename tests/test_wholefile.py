"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.wholefile import check_replaceable, check_target, whole_file


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("before")
    with whole_file(target) as partial:
        partial.write_text("after")
        assert target.read_text() == "before"
    assert target.read_text() == "after"
    assert list(tmp_path.iterdir()) == [target]


def test_what_goes_wrong_leaves_all_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("before")
    with pytest.raises(KeyError):
        _write_and_fail(target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def _write_and_fail(target: Path) -> None:
    with whole_file(target) as partial:
        partial.write_text("half")
        raise KeyError


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    target = tmp_path / "none" / "table.csv"
    with pytest.raises(UsageError) as told, whole_file(target) as partial:
        partial.write_text("text")
    assert str(told.value) == f"can't write {target}: {os.strerror(2)}"


def test_only_files_are_replaced(tmp_path: Path) -> None:
    check_replaceable(tmp_path / "new.csv", "choose another")
    with pytest.raises(UsageError, match=f"^{tmp_path} is a folder: choose another$"):
        check_replaceable(tmp_path, "choose another")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_devices_are_not_replaced() -> None:
    with pytest.raises(UsageError, match=r"^/dev/full is no regular file: choose another$"):
        check_replaceable(Path("/dev/full"), "choose another")


def test_a_missing_folder_is_named_before_any_work(tmp_path: Path) -> None:
    check_target(tmp_path / "table.csv", "choose another")
    target = tmp_path / "none" / "table.csv"
    with pytest.raises(UsageError) as told:
        check_target(target, "choose another")
    assert str(told.value) == f"there's no folder {target.parent} to write {target.name} to"
