"""Find the captures of a run and the rank of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.metadata import describe, read_surroundings
from perfetto_autoviz.ingest.sniff import BOM
from perfetto_autoviz.ingest.source import Source, locate

FROM_METADATA = "metadata"
FROM_FILE_NAME = "file name"

_PEEK = 1 << 20
"""Bytes at either end of a capture in which Kineto writes ``distributedInfo``."""

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_DISTRIBUTED = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*(\d+)')

_SIDE_FILES = frozenset({".csv", ".txt", ".md", ".log", ".html", ".xlsx", ".png", ".yaml", ".yml"})
"""Files beside the captures in a folder that are never looked into."""


@dataclass(frozen=True)
class NamePattern:
    """How a framework or a habit writes the rank into a file name.

    Attributes:
        pattern: its first group is the rank.
        examples: real names, and the rank in each.
    """

    pattern: re.Pattern[str]
    examples: Mapping[str, int]


NAME_PATTERNS = (
    NamePattern(
        re.compile(r"(?<![a-z])rank[-_ ]?(\d+)", re.IGNORECASE),
        {
            "bs_32_rank0.json.gz": 0,  # SGLang, graph capture
            "graph_capture_rank_0.1773709742341309550.pt.trace.json.gz": 0,  # vLLM
            "profile_trace_rank_0.json.gz": 0,  # xDiT
            "rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz": 34,  # torch.profiler's handler
            "mtia_inference_rank_0.json.gz": 0,
        },
    ),
    NamePattern(
        re.compile(r"(?<![a-z])worker[-_ ]?(\d+)", re.IGNORECASE),
        {"worker3_step_12.1694128201557.pt.trace.json": 3},
    ),
    NamePattern(
        # SGLang numbers its tensor-parallel workers.
        re.compile(r"(?<![a-z0-9])TP-?(\d+)", re.IGNORECASE),
        {"1782799835.6885648-TP-0-DECODE.trace.json.gz": 0},
    ),
)
"""Tried in this order; the first that a file's name matches counts."""

HOW_TO_NAME = "name the files after their ranks, e.g. rank0.json.gz, rank1.json.gz"


@dataclass(frozen=True)
class RankedCapture:
    """A capture file of a run.

    Attributes:
        path: the file.
        rank: its rank, None while it is unknown.
        evidence: where the rank is from: ``metadata``, ``file name``, or None.
    """

    path: Path
    rank: int | None = None
    evidence: str | None = None


def find_captures(paths: Sequence[Path]) -> list[RankedCapture]:
    """Find all captures in files and folders, and their ranks.

    A single capture needs no rank. Files in a folder that are no captures are passed
    over; a file that was named must be one.

    Returns:
        The captures in the order of their ranks.

    Raises:
        CaptureError: no capture was found, a named file is none, ranks are missing or double.
    """
    found: list[tuple[Path, Source]] = []
    for path in paths:
        if path.is_dir():
            found += _in_folder(path)
        else:
            found.append((path, locate(path)))
    _refuse_twice([path for path, _ in found])
    if not found:
        raise CaptureError("no capture was given; give a capture file or a folder of rank files")
    by_metadata = {path: peek_rank(source, head_only=len(found) == 1) for path, source in found}
    return assign_ranks([path for path, _ in found], by_metadata)


def _refuse_twice(paths: Sequence[Path]) -> None:
    """A file given twice, also under another name, is no second rank."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        status = path.stat()
        file = (status.st_dev, status.st_ino)
        if file in seen:
            raise CaptureError(f"{path} is the same file as {seen[file]}; give each capture once")
        seen[file] = path


def assign_ranks(
    paths: Sequence[Path], by_metadata: Mapping[Path, int | None]
) -> list[RankedCapture]:
    """Give each capture its rank: from its metadata, else from its file name.

    Raises:
        CaptureError: a rank is missing, or two captures have the same one.
    """
    ranked = [
        RankedCapture(path, rank, None if rank is None else FROM_METADATA)
        for path, rank in ((path, by_metadata.get(path)) for path in paths)
    ]
    ranked = [_by_name(capture) if capture.rank is None else capture for capture in ranked]
    if len(ranked) == 1:
        return ranked
    unknown = [capture.path.name for capture in ranked if capture.rank is None]
    if unknown:
        raise CaptureError(f"the rank of {_some(unknown)} is unknown; {HOW_TO_NAME}")
    double = _double(ranked)
    if double is not None:
        rank, names = double
        raise CaptureError(
            f"{_some(names)} all claim rank {rank}; give one file per rank, or {HOW_TO_NAME}"
        )
    return sorted(ranked, key=lambda capture: capture.rank or 0)


def rank_in_name(name: str) -> int | None:
    """The rank that a file name tells."""
    for kind in NAME_PATTERNS:
        match = kind.pattern.search(name)
        if match:
            return int(match.group(1))
    return None


def _by_name(capture: RankedCapture) -> RankedCapture:
    rank = rank_in_name(capture.path.name)
    return capture if rank is None else replace(capture, rank=rank, evidence=FROM_FILE_NAME)


def _double(ranked: list[RankedCapture]) -> tuple[int, list[str]] | None:
    by_rank: dict[int, list[str]] = {}
    for capture in ranked:
        if capture.rank is not None:
            by_rank.setdefault(capture.rank, []).append(capture.path.name)
    return next(((rank, names) for rank, names in sorted(by_rank.items()) if len(names) > 1), None)


def _some(names: list[str]) -> str:
    return ", ".join(sorted(names)[:3]) + (", …" if len(names) > 3 else "")


def _in_folder(folder: Path) -> list[tuple[Path, Source]]:
    """The captures lying in a folder, not below it; enriched traces only where they are alone."""
    found = []
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.name.startswith(".") or path.suffix.lower() in _SIDE_FILES:
            continue
        try:
            source = locate(path)
        except CaptureError:
            continue
        if source.content.sure:
            found.append((path, source))
    if not found:
        raise CaptureError(f"the directory {folder} holds no capture; give one that does")
    # Enriched traces beside the captures that they were made from would double the ranks.
    plain = [(path, source) for path, source in found if not source.enriched]
    return plain or found


def peek_rank(source: Source, *, head_only: bool = False) -> int | None:
    """Read the rank from a capture's ends, without decoding what lies between.

    Args:
        source: where the capture lies.
        head_only: don't look at the far end, which packed files must be unpacked for.
    """
    if source.content.kind != "json":
        return None
    with source.stream() as stream:
        blocks = stream.blocks()
        tail = next(blocks, b"")
        rank = _rank_in_head(tail[:_PEEK].removeprefix(BOM))
        if rank is not None or head_only:
            return rank
        if source.gzipped or source.container != "file":
            for block in blocks:
                tail = tail[-_PEEK:] + block
        else:
            tail = _tail_of(source)
    told = _DISTRIBUTED.findall(tail[-_PEEK:])
    return int(told[-1]) if told else None


def _tail_of(source: Source) -> bytes:
    with source.open() as file:
        file.seek(max(0, source.size - _PEEK))
        return file.read()


def _rank_in_head(head: bytes) -> int | None:
    events = _EVENTS.search(head)
    if events is None or not head.lstrip().startswith(b"{"):
        return None
    surroundings = read_surroundings(head[: events.start()].lstrip(), b"}", bare=False)
    return describe(surroundings.before, {}).rank
