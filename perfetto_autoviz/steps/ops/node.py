"""A C++ name as a tree, however it was spelled."""

from __future__ import annotations

from dataclasses import dataclass

LAMBDA = "{lambda}"
"""Identifier of a lambda; its number within the function is :attr:`Part.number`."""

MAX_DEPTH = 48
"""Nesting of templates that is followed; the deepest name of our captures has 9 levels."""


class NameTooDeepError(ValueError):
    """The name nests deeper than :data:`MAX_DEPTH`."""


@dataclass(frozen=True, slots=True)
class Part:
    """One component of a qualified name.

    Attributes:
        ident: the identifier; empty for an anonymous namespace.
        args: template arguments.
        params: parameter types, of a lambda only.
        number: which lambda of its function, from 1; 0 for all other components.
    """

    ident: str
    args: tuple[Node, ...] = ()
    params: tuple[Node, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """A qualified name, a builtin type (one part), or a literal.

    Attributes:
        parts: the components; of a literal, its enumeration type or nothing.
        value: the literal's text, or None for a name.
    """

    parts: tuple[Part, ...]
    value: str | None = None


def words(text: str) -> frozenset[str]:
    """The words of a text, for sets of identifiers that read better in lines."""
    return frozenset(text.split())
