"""Everything a comparison leaves behind, as files in one folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from perfetto_autoviz.annotate import enriched_path, write_relations
from perfetto_autoviz.comparison.folder import MARK, files_below, written_whole
from perfetto_autoviz.comparison.opened import Side
from perfetto_autoviz.comparison.result import Comparison, PairComparison
from perfetto_autoviz.comparison.runs import BuildName, phase_medians, run_frame
from perfetto_autoviz.comparison.stored import comparison_frames
from perfetto_autoviz.relations import RUN_MATCH
from perfetto_autoviz.reports.comparison.document import document, json_text
from perfetto_autoviz.reports.comparison.page import page
from perfetto_autoviz.reports.comparison.picture import waterfall_picture
from perfetto_autoviz.reports.comparison.tables import (
    edits_table,
    matches_table,
    operations_table,
    pairs_table,
    timing_table,
)
from perfetto_autoviz.reports.csv import csv_text
from perfetto_autoviz.wholefile import writing


def write_comparison(comparison: Comparison, a: Side, b: Side, out: Path) -> None:
    """Writes tables, a page and enriched traces of both builds, whole or not at all.

    Args:
        comparison: of the two builds.
        a: A's captures.
        b: B's captures.
        out: the folder, which is replaced if it exists.

    Raises:
        UsageError: the folder can't be written.
    """
    with writing(out), written_whole(out) as folder:
        _write_tables(comparison, folder)
        (folder / "report.html").write_text(page(comparison), encoding="utf-8")
        _write_traces(comparison, "A", a, b, folder)
        _write_traces(comparison, "B", b, a, folder)
        found = {**document(comparison), "files": [*files_below(folder), MARK]}
        (folder / MARK).write_text(json_text(found), encoding="utf-8")


def _write_tables(comparison: Comparison, folder: Path) -> None:
    tables = {"matches.csv": matches_table(comparison), "pairs.csv": pairs_table(comparison)}
    for pair in comparison.pairs:
        place = pair_folder(pair)
        (folder / place).mkdir(parents=True)
        tables[f"{place}/ops.csv"] = operations_table(pair)
        tables[f"{place}/edits.csv"] = edits_table(pair)
        tables[f"{place}/timing.csv"] = timing_table(pair)
        picture = waterfall_picture(pair.waterfall, f"{pair.a.name} → {pair.b.name}")
        (folder / place / "waterfall.svg").write_text(picture, encoding="utf-8")
    for name, table in tables.items():
        (folder / name).write_text(csv_text(table), encoding="utf-8")


def pair_folder(pair: PairComparison) -> str:
    """Where the tables of a pair are; names of patterns are letters, digits and dots."""
    return f"pairs/{pair.name}"


def _write_traces(
    comparison: Comparison, build: BuildName, side: Side, other: Side, folder: Path
) -> None:
    shared = comparison_frames(comparison, build)
    medians = phase_medians(rank.relations for rank in other.ranks.values())
    (folder / build).mkdir()
    names = _trace_names(side)
    for rank, one in side.ranks.items():
        relations = {
            **one.relations,
            **shared,
            RUN_MATCH.name: run_frame(comparison, build, one.relations, medians),
        }
        write_relations(one.capture, relations, one.first_ts, folder / build / names[rank])


def _trace_names(side: Side) -> dict[int, str]:
    """A name for each rank's enriched trace: its capture's, with the rank where that is double."""
    names = {rank: enriched_path(one.capture.path).name for rank, one in side.ranks.items()}
    often = Counter(names.values())
    return {
        rank: name if often[name] == 1 else f"rank{rank}-{name}" for rank, name in names.items()
    }
