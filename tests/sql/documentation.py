"""Reads what a PerfettoSQL module defines, and judges how it is documented.

The rules are those of Perfetto's standard library, as its contribution guide states them:
a comment above each object, argument, column and ``RETURNS``; private names with an
underscore; declared types; lines of at most 80 columns; no wildcard includes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONGEST_LINE = 80
COLUMN_TYPES = {
    "LONG", "DOUBLE", "STRING", "TIMESTAMP", "DURATION", "ARGSETID", "ID", "BOOLEAN", "JOINID",
}  # fmt: skip
MACRO_TYPES = {"Expr", "TableOrSubquery", "ColumnName", "ColumnNameList"}
PREFIX = "autoviz_"

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<text>'(?:[^']|'')*')|(?P<word>[\w$.*]+)|(?P<mark>[^\s\w])"
)


@dataclass(frozen=True)
class Token:
    """A word, a quoted text or a mark, and the number of its line, from 1."""

    text: str
    line: int


@dataclass(frozen=True)
class Member:
    """A column or an argument; ``documented``: a comment stands right above it."""

    name: str
    type: str
    line: int
    documented: bool


@dataclass(frozen=True)
class Definition:
    """What one CREATE statement makes.

    Attributes:
        kind: TABLE, VIEW, FUNCTION, MACRO or INDEX.
        name: its name.
        line: the line of CREATE.
        documented: a comment stands right above it.
        members: columns of a table or view, arguments of a function or macro.
        returns: columns of a table function; one nameless member for any other function.
    """

    kind: str
    name: str
    line: int
    documented: bool
    members: tuple[Member, ...]
    returns: tuple[Member, ...] = ()


def definitions(sql: str) -> list[Definition]:
    """All objects that the CREATE PERFETTO statements of a module make, in order."""
    comments = _comment_lines(sql)
    return [_definition(statement, comments) for statement in _created(sql, perfetto=True)]


def problems(name: str, sql: str) -> list[str]:
    """What is wrong with a module, one line each; nothing for a good one.

    Args:
        name: the module's name without its package, e.g. ``source.layer``.
        sql: its text.
    """
    found = [
        f"{name}: {part!r} can't be part of a module's name"
        for part in name.split(".")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", part)
    ]
    found += [
        f"{name}:{number}: longer than {LONGEST_LINE} columns"
        for number, line in enumerate(sql.splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    found += [f"{name}:{line}: {what}" for line, what in _bad_statements(sql)]
    for definition in definitions(sql):
        found += [f"{name}:{line}: {what}" for line, what in _bad_definition(definition)]
    return found


def _bad_statements(sql: str) -> Iterator[tuple[int, str]]:
    for statement in _created(sql, perfetto=False):
        yield statement[0].line, "CREATE without PERFETTO makes nothing that is documented"
    for statement in _statements(sql):
        words = [token.text.upper() for token in statement]
        if words[0] == "INCLUDE" and "*" in statement[-1].text:
            yield statement[0].line, "an include of everything below a name"
        elif words[0] not in {"CREATE", "INCLUDE"}:
            yield statement[0].line, f"a module only creates and includes, no {words[0]}"


def _bad_definition(thing: Definition) -> Iterator[tuple[int, str]]:
    public = not thing.name.startswith("_")
    if not re.fullmatch(rf"_?{PREFIX}[a-z0-9_]+", thing.name):
        yield thing.line, f"{thing.name} is neither {PREFIX}… nor _{PREFIX}… in lower case"
    if thing.kind == "INDEX":
        return
    if public and not thing.documented:
        yield thing.line, f"{thing.name} has no comment right above it"
    if public and thing.kind in {"TABLE", "VIEW"} and not thing.members:
        yield thing.line, f"{thing.name} declares no columns"
    if thing.kind in {"FUNCTION", "MACRO"} and not thing.returns:
        yield thing.line, f"{thing.name} doesn't say what it returns"
    types = COLUMN_TYPES | MACRO_TYPES if thing.kind == "MACRO" else COLUMN_TYPES
    for member in (*thing.members, *thing.returns):
        what = f"{thing.name}.{member.name}"
        if public and not member.documented:
            yield member.line, f"{what} has no comment right above it"
        if member.type.partition("(")[0] not in types:
            yield member.line, f"{what} has the type {member.type or 'of nothing'}"


def _comment_lines(sql: str) -> set[int]:
    """Numbers of the lines that hold nothing but a comment that says something."""
    return {
        number
        for number, line in enumerate(sql.splitlines(), 1)
        if re.fullmatch(r"\s*--\s*\S.*", line)
    }


def _tokens(sql: str) -> Iterator[Token]:
    line, place = 1, 0
    for found in _TOKEN.finditer(sql):
        line += sql.count("\n", place, found.start())
        place = found.start()
        if found.lastgroup != "comment":
            yield Token(found[0], line)


def _statements(sql: str) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in _tokens(sql):
        if token.text != ";":
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _created(sql: str, *, perfetto: bool) -> Iterator[list[Token]]:
    for statement in _statements(sql):
        head = [token.text.upper() for token in statement[:4]]
        if head[0] == "CREATE" and ("PERFETTO" in head) == perfetto:
            yield statement


def _definition(statement: Sequence[Token], comments: set[int]) -> Definition:
    at = next(i for i, token in enumerate(statement) if token.text.upper() == "PERFETTO")
    kind, name = statement[at + 1].text.upper(), statement[at + 2].text
    documented = statement[0].line - 1 in comments
    rest = statement[at + 3 :]
    members: tuple[Member, ...] = ()
    returns: tuple[Member, ...] = ()
    if kind != "INDEX" and rest and rest[0].text == "(":
        inside, rest = _parenthesised(rest)
        members = _members(inside, comments)
    if rest and rest[0].text.upper() == "RETURNS":
        returns = _returns(rest, comments)
    return Definition(kind, name, statement[0].line, documented, members, returns)


def _returns(tokens: Sequence[Token], comments: set[int]) -> tuple[Member, ...]:
    """The columns behind RETURNS TABLE, or the one type behind RETURNS."""
    line = tokens[0].line
    if tokens[1].text.upper() != "TABLE":
        return (Member("returned", tokens[1].text, line, line - 1 in comments),)
    return _members(_parenthesised(tokens[2:])[0], comments)


def _parenthesised(tokens: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    """What lies inside of the parentheses that open the tokens, and what follows them."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return tokens[1:i], tokens[i + 1 :]
    raise ValueError(f"line {tokens[0].line}: this parenthesis is never closed")


def _members(tokens: Sequence[Token], comments: set[int]) -> tuple[Member, ...]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(
        Member(name.text, "".join(t.text for t in kind), name.line, name.line - 1 in comments)
        for name, *kind in (part for part in parts if part)
    )
