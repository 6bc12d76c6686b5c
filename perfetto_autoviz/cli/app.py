"""The entry point: finds the command, and tells every failure in one line."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence

import click

from perfetto_autoviz.cli.terminal import fail, shown_warnings
from perfetto_autoviz.errors import AutovizError

COMMANDS = (
    "annotate",
    "query",
    "layers",
    "patterns",
    "anomalies",
    "compare",
    "split",
    "evaluate",
    "open",
    "doctor",
    "synth",
)
"""All commands, each a module beside this one; imported when first needed."""

DEBUG_VARIABLE = "AUTOVIZ_DEBUG"
"""Set to anything, it shows tracebacks."""

_WRITE_FAILURES = frozenset({errno.ENOSPC, errno.EFBIG, errno.EIO})

USER_ERROR = 2
INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # as a shell reports a program that Ctrl-C ended
TERMINATED = 143  # the same for SIGTERM


class LazyGroup(click.Group):
    """A group whose commands are imported when they're asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there's none."""
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(f"perfetto_autoviz.cli.{cmd_name}").command
        if not isinstance(found, click.Command):
            raise TypeError(f"{cmd_name} has no command")
        return found


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    package_name="perfetto-autoviz", prog_name="autoviz", message="%(prog)s %(version)s"
)
@click.pass_context
def group(context: click.Context) -> None:
    """Turns GPU captures of LLM inference into enriched Perfetto traces.

    Start with: autoviz annotate CAPTURE
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _open_closed_streams() -> None:
    """Lets what is printed go nowhere where the caller closed an output (``>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.StringIO())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: without the program's name; those of the process if not given.

    Returns:
        The exit code: 0, 2 for what a user can mend, 70 for a bug, 130 after Ctrl-C.
    """
    _open_closed_streams()
    try:
        with _ended_by_signals(), shown_warnings():
            return _run(arguments)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as error:
        return _usage_error(error)
    except AutovizError as error:
        return fail(str(error), USER_ERROR)
    except OSError as error:
        if error.errno == errno.EPIPE:
            # Quietly: the reader of our output went away, for instance ``| head``.
            _forget_output()
            return 0
        return fail(_os_error(error), USER_ERROR)
    except Exception as error:
        # The outermost frame: a bug is told in one line too.
        if os.environ.get(DEBUG_VARIABLE):
            raise
        return fail(
            f"this is a bug, please report it: {type(error).__name__}: {error}"
            f" ({DEBUG_VARIABLE}=1 shows where)",
            INTERNAL_ERROR,
        )


def _run(arguments: Sequence[str] | None) -> int:
    given = None if arguments is None else list(arguments)
    # Not standalone, so that errors come here; then exit codes are returned.
    code = group.main(args=given, prog_name="autoviz", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _usage_error(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    hint = f"; see {context.command_path} --help" if context else ""
    return fail(f"{error.format_message().rstrip('.')}{hint}", USER_ERROR)


def _os_error(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    if not place and error.errno in _WRITE_FAILURES:
        # Whatever writes files names them.
        place = "standard output: "
        _forget_output()
    return f"{place}{error.strerror or error}"


def _forget_output() -> None:
    """Lets the rest of standard output go nowhere: Python flushes it once more as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends the process like an exception, so that engines and partial files go too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
