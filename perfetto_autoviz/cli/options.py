"""Options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

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


_STEPS = (
    click.option(
        "--anchor",
        metavar="REGEX",
        callback=_regex,
        help="Kernel that occurs once per layer, by its name or operation. Default: attention.",
    ),
    click.option(
        "--llm-inference/--no-llm-inference",
        default=None,
        help="Whether steps without annotations have phases such as prefill and decode. "
        "Default: if the kernels are those of a language model.",
    ),
    click.option(
        "--max-num-seqs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Most requests the server runs at once: a step without annotation that computes "
        "more tokens prefills.",
    ),
    click.option(
        "--num-steps",
        type=click.IntRange(min=1),
        metavar="N",
        help="Steps in a window of steady state. Default: 32.",
    ),
)
_STEP_NAMES = ("anchor", "llm_inference", "max_num_seqs", "num_steps")


def steps(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options about the steps: as the mapping ``steps``, those set."""

    @wraps(command)
    def run(**values: Any) -> None:
        given = {name: values.pop(name) for name in _STEP_NAMES}
        chosen = {name: value for name, value in given.items() if value is not None}
        command(**values, steps=chosen)

    return reduce(lambda inner, option: option(inner), reversed(_STEPS), run)


autoencoder = click.option(
    "--autoencoder",
    is_flag=True,
    help="Judge runs by a small network that learns what is normal, too (takes seconds more).",
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
