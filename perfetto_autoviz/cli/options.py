"""Options that several commands have."""

from __future__ import annotations

import re

import click

from perfetto_autoviz.cli.terminal import be_quiet

trace_processor = click.option(
    "--trace-processor",
    metavar="PATH",
    help="Trace processor to use: a native shell, or a folder with the WebAssembly build. "
    "Default: AUTOVIZ_TRACE_PROCESSOR, else the first that is found (see autoviz doctor).",
)


def _regex(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Refuses before any work what the step would refuse after the load."""
    try:
        re.compile(value or "")
    except re.error as error:
        raise click.BadParameter(f"{value!r} is no regular expression: {error}") from error
    return value


anchor = click.option(
    "--anchor",
    metavar="REGEX",
    callback=_regex,
    help="Kernel that occurs once per layer, by its name or operation. Default: attention.",
)

light = click.option(
    "--light",
    is_flag=True,
    help="Leave out Python frames, then operators, if the engine's memory needs it.",
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")


def _quiet(_context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
    if value:
        be_quiet()
    return value


quiet = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    callback=_quiet,
    help="Show nothing but results and errors.",
)
