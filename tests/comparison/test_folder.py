"""A folder of results appears whole or not at all, and nothing of the user's is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfetto_autoviz.comparison.folder import KIND, check_folder, files_below, written_whole
from perfetto_autoviz.errors import UsageError


def fill(out: Path, text: str) -> None:
    with written_whole(out) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "table.csv").write_text(text)
        names = [*files_below(folder), "summary.json"]
        (folder / "summary.json").write_text(json.dumps({"kind": KIND, "files": names}))


def test_a_folder_is_written_and_replaced(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    fill(out, "one")
    assert files_below(out) == ["sub/table.csv", "summary.json"]
    fill(out, "two")
    assert (out / "sub" / "table.csv").read_text() == "two"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, "one")

    def fail() -> None:
        with written_whole(out) as folder:
            (folder / "half").write_text("")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert files_below(out) == ["sub/table.csv", "summary.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_nothing_new(tmp_path: Path) -> None:
    def fail() -> None:
        with written_whole(tmp_path / "out"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_new_and_empty_folders_may_be_written(tmp_path: Path) -> None:
    check_folder(tmp_path / "new" / "out", [], force=False)
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty", [], force=False)


def test_ours_is_replaced_only_by_force(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, "one")
    with pytest.raises(UsageError, match="--force"):
        check_folder(out, [], force=False)
    check_folder(out, [], force=True)


@pytest.mark.parametrize(
    "summary",
    [
        "{}",
        "no JSON",
        '{"files": ["notes.txt", "summary.json"]}',
        f'{{"kind": "{KIND}", "files": 3}}',
        "[]",
        None,
    ],
)
def test_what_is_not_ours_stays(tmp_path: Path, summary: str | None) -> None:
    (tmp_path / "notes.txt").write_text("")
    if summary is not None:
        (tmp_path / "summary.json").write_text(summary)
    with pytest.raises(UsageError, match="which no comparison wrote"):
        check_folder(tmp_path, [], force=True)


def test_a_file_that_was_added_to_ours_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, "one")
    (out / "sub" / "notes.txt").write_text("")
    with pytest.raises(UsageError, match=r"sub/notes\.txt"):
        check_folder(out, [], force=True)


def test_what_is_compared_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, "one")
    with pytest.raises(UsageError, match="while it is compared"):
        check_folder(out, [out / "sub" / "table.csv"], force=True)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        check_folder(tmp_path / "out", [], force=True)
