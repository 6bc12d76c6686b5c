"""The folder that keeps fetched engines, shared by all processes of a user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from perfetto_autoviz.errors import EngineError

CACHE_VARIABLE = "AUTOVIZ_CACHE"


def cache_folder() -> Path:
    """Where fetched files are kept: ``AUTOVIZ_CACHE``, or the platform's cache folder.

    Raises:
        EngineError: the folder can't be made.
    """
    folder = Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("perfetto-autoviz"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"the cache folder {folder} can't be made ({error.strerror}): set {CACHE_VARIABLE}"
        ) from error
    return folder


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Lets one process after the other through, so that many at once fetch a file once.

    The operating system releases the lock when its holder ends, however it ends.

    Raises:
        EngineError: the cache folder can't be written to.
    """
    path = cache_folder() / f"{name}.lock"
    try:
        file = path.open("a+b")
    except OSError as error:
        raise EngineError(f"{path} isn't writable ({error}): set {CACHE_VARIABLE}") from error
    with file:
        _lock(file.fileno())
        yield


if os.name == "posix":
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

else:
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
