"""What all forms of annotations are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfetto_autoviz.steps.dialects.annotation import (
    Annotation,
    Detail,
    Dialect,
    phase_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

N = r"(\d{1,18})"
"""A count. Bounded so that every one fits a 64-bit column."""

FIELD = re.compile(r"(\w+)=(\d{1,18})(?![\w/])", re.ASCII)
"""A number under a key, as in ``bs=2 toks=14721 c_sq=14721``."""


@dataclass(frozen=True)
class Pattern:
    """One form of annotation.

    Attributes:
        name: what the form is called here.
        prefixes: lower-case beginnings; every accepted text has one of them, whatever
            its case.
        expression: matches the whole text.
        build: makes the annotation of a match, or None where it lacks what all of its form have.
        examples: real texts of this form.
    """

    name: str
    prefixes: tuple[str, ...]
    expression: re.Pattern[str]
    build: Callable[[str, re.Match[str]], Annotation | None]
    examples: tuple[str, ...]


def number(text: str | None) -> int | None:
    """A count that may be missing."""
    return None if text is None else int(text)


def drafted(tokens: int | None, requests: int) -> int | None:
    """Draft tokens per request, where every request has the same number of them."""
    if not requests or tokens is None or tokens <= requests or tokens % requests:
        return None
    return tokens // requests - 1


def by_requests(
    text: str,
    dialect: Dialect,
    requests: tuple[int, int],
    tokens: tuple[int | None, int | None],
    *,
    step_number: int | None = None,
    detail: dict[str, Detail] | None = None,
) -> Annotation:
    """A step told by its (context, generation) requests and tokens."""
    context, generation = requests
    return Annotation(
        text=text,
        dialect=dialect,
        phase=phase_of(context, generation),
        batch_size=context + generation,
        context_requests=context,
        generation_requests=generation,
        context_tokens=tokens[0],
        generation_tokens=tokens[1],
        speculative_tokens=drafted(tokens[1], generation),
        step_number=step_number,
        detail=detail or {},
    )


def compiled(expression: str, flags: re.RegexFlag = re.ASCII) -> re.Pattern[str]:
    """An expression that counts in ASCII digits only."""
    return re.compile(expression, flags | re.ASCII)
