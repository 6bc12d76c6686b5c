"""Runs the engine, and ends it as soon as the process that asked for it is gone.

This file is started as a program, ``python -I -S guard.py COMMAND…``, and imports the
standard library only. Its standard input is a pipe whose other end the owner holds: the
operating system closes it however the owner ends, by ``kill -9`` too, on every platform. A byte
on it asks for the same end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def _end_with_owner(child: subprocess.Popen[bytes]) -> None:
    # os.read, since a buffered reader's lock would trouble the interpreter's exit.
    os.read(0, 1)
    child.kill()


def run(command: list[str]) -> int:
    """Runs a command until it ends or the owner does.

    Returns:
        The exit code of the command, negative for a signal.
    """
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_owner, args=(child,), daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    code = run(sys.argv[1:])
    os._exit(code if code >= 0 else 128 - code)
