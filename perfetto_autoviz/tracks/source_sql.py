"""SQL that reads stored relations back: the text of the modules below ``sql/source``.

A live session replaces these modules by the frames themselves, so each defines nothing
but its relation's source, column by column and type by type.

After a relation changed, refresh the files with
``python -m perfetto_autoviz.tracks.source_sql sql/source``.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfetto_autoviz.relations import RELATIONS, Column, Relation
from perfetto_autoviz.tracks.specs import DATA_TITLE

_WIDTH = 80

_SPAN = ("ts", "dur")


def source_module_name(relation: Relation) -> str:
    """Full name of the module that defines a relation's source."""
    return f"autoviz.source.{relation.name}"


def source_module(relation: Relation) -> str:
    """SQL that defines a relation's source from the slices of an enriched trace.

    Without such slices the table is empty and has the same typed columns. Rows of a
    relation with a column ``id``, or else one that ends so, come in its order; others in
    the order in which they were written.
    """
    columns = ",\n".join(_declared(column) for column in relation.columns)
    values = ",\n".join(f"  {_value(relation, column)}" for column in relation.columns)
    return (
        f"{_comment(relation.doc)}\n"
        f"CREATE OR REPLACE PERFETTO TABLE {relation.source}(\n{columns}\n) AS\n"
        f"SELECT\n{values}\n"
        "FROM slice\n"
        f"{_track_join(relation)}"
        f"WHERE\n  slice.category = '{relation.category}'\n"
        f"ORDER BY\n  {_order(relation)};\n"
    )


def source_modules(schema: Sequence[Relation] = RELATIONS) -> dict[str, str]:
    """SQL text by module name, for all relations."""
    return {source_module_name(relation): source_module(relation) for relation in schema}


def write_source_modules(folder: Path, schema: Sequence[Relation] = RELATIONS) -> None:
    """Writes each module to its file below ``sql/source``; files of no relation are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.sql"):
        path.unlink()
    for relation in schema:
        path = folder / f"{relation.name}.sql"
        path.write_text(source_module(relation), encoding="utf-8")


def _declared(column: Column) -> str:
    return f"{_comment(column.doc, indent='  ')}\n  {column.name} {column.type}"


def _value(relation: Relation, column: Column) -> str:
    if relation.timed and column.name in _SPAN:
        # A row without a time lies at an arbitrary one, on the data track.
        return f"iif(track.name = '{DATA_TITLE}', NULL, slice.{column.name}) AS {column.name}"
    value = f"extract_arg(slice.arg_set_id, 'debug.{column.name}')"
    fits = len(f"  {value} AS {column.name},") <= _WIDTH
    return f"{value} AS {column.name}" if fits else f"{value}\n    AS {column.name}"


def _track_join(relation: Relation) -> str:
    return "JOIN track ON track.id = slice.track_id\n" if relation.timed else ""


def _order(relation: Relation) -> str:
    keys = [name for name in relation.types if name == "id" or name.endswith("_id")]
    if not relation.timed or not keys:
        return "slice.id"
    key = "id" if "id" in keys else keys[0]
    return f"extract_arg(slice.arg_set_id, 'debug.{key}'), slice.id"


def _comment(text: str, indent: str = "") -> str:
    return "\n".join(_comment_lines(text, f"{indent}-- "))


def _comment_lines(text: str, prefix: str) -> Iterator[str]:
    return iter(
        textwrap.wrap(
            text, _WIDTH, initial_indent=prefix, subsequent_indent=prefix,
            break_on_hyphens=False,
        )
    )  # fmt: skip


if __name__ == "__main__":
    write_source_modules(Path(sys.argv[1]))
