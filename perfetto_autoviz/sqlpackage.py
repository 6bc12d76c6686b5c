"""The SQL package ``autoviz``: its modules, what they include and what they define."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "autoviz"
SOURCE_PREFIX = f"{PACKAGE}.source."

_INCLUDE = re.compile(r"INCLUDE\s+PERFETTO\s+MODULE\s+([\w.]+)", re.IGNORECASE)
_DEFINITION = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?PERFETTO\s+(?:TABLE|VIEW|FUNCTION|MACRO)\s+(\w+)", re.IGNORECASE
)
_OWN_INCLUDE = re.compile(r"INCLUDE\s+PERFETTO\s+MODULE\s+autoviz\.[\w.]+\s*;?", re.IGNORECASE)
_NAME = re.compile(r"\b_?autoviz_\w+")

# What a text or a comment starts with.
_MAYBE_TEXT = re.compile(r"'|--|/\*")


@dataclass(frozen=True)
class Module:
    """One SQL module.

    Attributes:
        name: dotted name, e.g. ``autoviz.kernels``.
        sql: its text.
        includes: names of the modules it includes, in order.
        defines: names of the objects it creates, private ones too.
    """

    name: str
    sql: str
    includes: tuple[str, ...]
    defines: tuple[str, ...]


def sql_folder() -> Path:
    """The folder that holds the package: inside a wheel, or beside the sources."""
    here = Path(__file__).resolve().parent
    installed = here / "sql"
    return installed if installed.is_dir() else here.parent / "sql"


@cache
def modules() -> Mapping[str, Module]:
    """All modules of the package by name."""
    folder = sql_folder()
    found = {}
    for path in sorted(folder.rglob("*.sql")):
        name = ".".join((PACKAGE, *path.relative_to(folder).with_suffix("").parts))
        sql = path.read_text(encoding="utf-8")
        found[name] = Module(
            name, sql, tuple(_INCLUDE.findall(sql)), tuple(_DEFINITION.findall(sql))
        )
    return found


@cache
def _definers() -> Mapping[str, str]:
    return {thing: module.name for module in modules().values() for thing in module.defines}


def modules_needed(sql: str) -> tuple[str, ...]:
    """Modules that a statement includes, or whose objects it mentions."""
    found = dict.fromkeys(name for name in _INCLUDE.findall(sql) if name in modules())
    definers = _definers()
    found.update(dict.fromkeys(definers[name] for name in _names(sql)))
    return tuple(found)


def _names(sql: str) -> list[str]:
    """Objects of the package that a statement mentions, but not in its texts and comments.

    The tokens are those of SQLite, whose grammar PerfettoSQL extends.
    """
    found = [name for name in _NAME.findall(sql) if name in _definers()]
    if not found or not _MAYBE_TEXT.search(sql):
        return found
    # Imported where a statement needs it: it takes a tenth of a second.
    from sqlglot import TokenType
    from sqlglot.dialects.sqlite import SQLite
    from sqlglot.errors import TokenError

    try:
        tokens = SQLite.Tokenizer().tokenize(sql)
    except TokenError:
        # The engine will say better what is wrong.
        return found
    said = {token.text for token in tokens if token.token_type is not TokenType.STRING}
    return [name for name in found if name in said]


def included(name: str) -> tuple[str, ...]:
    """A module and all it includes within the package, what is included first coming first."""
    order: dict[str, None] = {}

    def visit(module_name: str) -> None:
        module = modules().get(module_name)
        if module is None or module_name in order:
            return
        for other in module.includes:
            visit(other)
        order[module_name] = None

    visit(name)
    return tuple(order)


def source_relation(module_name: str) -> str | None:
    """Name of the stored relation a source module reads, None for any other module."""
    if module_name.startswith(SOURCE_PREFIX):
        return module_name.removeprefix(SOURCE_PREFIX)
    return None


def objects_named(sql: str) -> tuple[str, ...]:
    """Public tables and views of the package that a statement mentions."""
    return tuple(dict.fromkeys(name for name in _names(sql) if not name.startswith("_")))


def without_includes(sql: str) -> str:
    """A statement without its INCLUDE statements of the package's modules."""
    return _OWN_INCLUDE.sub("", sql)
