"""A folder of results that appears whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.wholefile import beside

MARK = "summary.json"
"""The file whose entry ``files`` lists all that is ours in a folder."""

KIND = "perfetto_autoviz comparison"
"""What that file calls itself."""


def check_folder(out: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Makes sure, before any work, that results may be written to a folder.

    Args:
        out: the folder.
        inputs: files that are read.
        force: replace a folder of results.

    Raises:
        UsageError: there is something at that place that must stay.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file: give a folder with -o")
    if not out.exists() or not any(out.iterdir()):
        return
    strange = _strange(out)
    if strange is not None:
        raise UsageError(f"{out} holds {strange}, which no comparison wrote: choose another folder")
    if not force:
        raise UsageError(f"{out} holds a comparison: replace it with --force, or choose another")
    inside = [path for path in inputs if out.resolve() in path.resolve().parents]
    if inside:
        raise UsageError(f"{inside[0]} would be replaced while it is compared: choose another -o")


@contextlib.contextmanager
def written_whole(out: Path) -> Iterator[Path]:
    """Yields a folder beside the output, that takes its place if all goes well.

    Args:
        out: the output; what it holds is replaced.
    """
    out = out.resolve()
    partial = beside(out)
    before = out.with_name(f".{out.name}.{os.getpid()}.old")
    partial.mkdir(parents=True)
    try:
        yield partial
        if out.exists():
            out.rename(before)
        try:
            partial.rename(out)
        except OSError:
            if before.exists():
                before.rename(out)
            raise
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(before, ignore_errors=True)


def files_below(folder: Path) -> list[str]:
    """All files of a folder by their paths in it, sorted."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()
    )


def _strange(out: Path) -> str | None:
    """A file in the folder that no comparison wrote there."""
    listed = _listed(out / MARK)
    return next((name for name in files_below(out) if name not in listed), None)


def _listed(mark: Path) -> list[str]:
    """The files that a summary of ours names."""
    try:
        found = json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    if not isinstance(found, dict) or found.get("kind") != KIND:
        return []
    files = found.get("files")
    return files if isinstance(files, list) else []
