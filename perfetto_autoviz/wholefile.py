"""Files that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfetto_autoviz.errors import UsageError


def beside(target: Path) -> Path:
    """Where a file lies until it is whole: on the same file system, so that a rename ends it."""
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def check_replaceable(target: Path, advice: str) -> None:
    """Refuses a target that a file must not take the place of.

    Args:
        target: the file to be written.
        advice: what to do instead.

    Raises:
        UsageError: a folder or a device is there.
    """
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "no regular file"
        raise UsageError(f"{target} is {what}: {advice}")


def check_target(target: Path, advice: str) -> None:
    """Refuses before any work what couldn't be written after it; as `check_replaceable`.

    Raises:
        UsageError: a folder or a device is there, or there is no folder to write to.
    """
    check_replaceable(target, advice)
    if not target.parent.is_dir():
        raise UsageError(f"there's no folder {target.parent} to write {target.name} to")


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yields a place beside the target; what is written there takes its place if all goes well."""
    partial = beside(target)
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """As `replacing`, for a file that a user named.

    Raises:
        UsageError: it can't be written.
    """
    with writing(target), replacing(target) as partial:
        yield partial


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Names what the user wanted to be written where the system refuses to write.

    Raises:
        UsageError: it can't be written.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(f"can't write {target}: {error.strerror or error}") from error
