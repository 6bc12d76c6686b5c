"""Scan a capture once, and hand its bytes to an engine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.ingest.columns import Columns, Counts, Table, is_device
from perfetto_autoviz.ingest.events import OLD_CPU_OP
from perfetto_autoviz.ingest.metadata import (
    CaptureMetadata,
    Surroundings,
    describe,
    read_surroundings,
)
from perfetto_autoviz.ingest.pftrace import PacketCount, PacketReader, count_packets
from perfetto_autoviz.ingest.reader import EventReader
from perfetto_autoviz.ingest.repair import OVERLAPS, Plan, Repair, make_plan, reading_repairs
from perfetto_autoviz.ingest.rewrite import rewrite
from perfetto_autoviz.ingest.sniff import BOM
from perfetto_autoviz.ingest.source import Source, locate
from perfetto_autoviz.ingest.unpack import BLOCK, GzipProblem, Progress


@dataclass(frozen=True)
class _Script:
    """What the second pass needs to write the capture anew, learned in the first.

    ``clean`` and ``sizes`` say for each chunk whether it was clean, and how many events it has.
    """

    plan: Plan
    surroundings: Surroundings
    clean: list[bool]
    sizes: list[int]


@dataclass(frozen=True)
class Capture:
    """A capture that was scanned and can be loaded.

    Attributes:
        path: the file it is in.
        member: its name inside an archive, or None.
        kind: ``json`` or ``pftrace``.
        sha256: SHA-256 of the capture's bytes as stored (inside the archive, if it is in one).
        size: number of those bytes.
        unpacked_size: number of bytes after unpacking gzip.
        event_count: events of the capture that could be read; packets of a native trace.
        counts: device activities, launches and annotations that must arrive in SQL.
        metadata: what the capture says about itself.
        repairs: what is changed in ``chunks()`` against the original.
        left_out: categories left out by a light load that do occur.
        annotations: bytes of the annotations if the file is an enriched trace.
    """

    path: Path
    member: str | None
    kind: Literal["json", "pftrace"]
    sha256: str
    size: int
    unpacked_size: int
    event_count: int
    counts: Counts
    metadata: CaptureMetadata
    repairs: tuple[Repair, ...]
    left_out: tuple[str, ...]
    annotations: bytes | None = field(repr=False)
    _source: Source = field(repr=False)
    _script: _Script | None = field(repr=False)
    _whole: int | None = field(repr=False)
    _left_out_events: int = field(default=0, repr=False)

    @property
    def original_is_enough(self) -> bool:
        """Whether an engine from v57 on reads the original completely and faithfully."""
        return not self.left_out and all(repair.kind == OVERLAPS for repair in self.repairs)

    @property
    def is_repaired(self) -> bool:
        """Whether an engine must be given something else than the original bytes."""
        return bool(self.repairs or self.left_out)

    @property
    def member_name(self) -> str:
        """A name for the capture inside an enriched zip: its own if the original goes in."""
        name = Path((self.member or self.path.name).replace("\\", "/")).name
        stem = name
        for suffix in (".gz", ".json", ".pftrace", ".perfetto-trace", ".zip", ".tar", ".tgz"):
            stem = stem.removesuffix(suffix)
        stem = (
            "".join(c if c.isalnum() or c in "-_.+" else "_" for c in stem).strip(".") or "capture"
        )
        if self.kind == "pftrace":
            return f"{stem}.pftrace"
        packed = self.original_is_enough and self._source.gzipped
        return f"{stem}.json.gz" if packed else f"{stem}.json"

    @property
    def is_gzipped(self) -> bool:
        """Whether the original bytes are packed already."""
        return self._source.gzipped

    @property
    def loaded_size(self) -> int:
        """About how many bytes an engine parses; events left out count by their number."""
        kept = self.event_count - self._left_out_events
        return self.unpacked_size * kept // max(1, self.event_count)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes for the engine: the original ones, or the repaired capture.

        The repaired capture is uncompressed JSON and is written while it is read once more.

        Raises:
            CaptureError: the file can no longer be read, or is not the one that was scanned.
        """
        if not self.is_repaired:
            yield from self.original_chunks()
        elif self._script is not None:
            yield from self._repaired(self._script)
        else:
            yield from self._whole_packets()

    def original_chunks(self) -> Iterator[bytes]:
        """Yield the capture's original bytes, as they are stored."""
        with self._source.open() as stored:
            while block := stored.read(BLOCK):
                yield block

    @property
    def plan(self) -> Plan | None:
        """What the repair changes in which event; None for a native trace."""
        return self._script.plan if self._script else None

    @property
    def surroundings(self) -> Surroundings | None:
        """The keys around the events; None for a native trace."""
        return self._script.surroundings if self._script else None

    @contextlib.contextmanager
    def reading(self, progress: Progress | None = None) -> Iterator[EventReader]:
        """Opens the original's events once more, numbered as in the scan and in the plan.

        Raises:
            CaptureError: the capture is no JSON, or not the one that was scanned.
        """
        if self._script is None:
            raise CaptureError(f"{self.path} is a Perfetto trace, which holds no JSON events")
        with self._source.stream(progress) as stream:
            yield EventReader(_without_bom(stream.blocks()), self._script.clean)

    @contextlib.contextmanager
    def packets(self, progress: Progress | None = None) -> Iterator[PacketReader]:
        """Opens a native trace once more, up to where the scan found whole packets.

        Raises:
            CaptureError: the file can no longer be read, or is not the one that was scanned.
        """
        with self._source.stream(progress) as stream:
            yield PacketReader(_until(stream.blocks(), self._whole or 0))

    def _repaired(self, script: _Script) -> Iterator[bytes]:
        with self.reading() as reader:
            sizes = iter(script.sizes)
            chunks = ((chunk.text, next(sizes)) for chunk in reader.chunks())
            surroundings = script.surroundings
            yield from rewrite(chunks, script.plan, surroundings.before, surroundings.after)

    def _whole_packets(self) -> Iterator[bytes]:
        with self._source.stream() as stream:
            yield from _until(stream.blocks(), self._whole or 0)


def scan_capture(
    path: Path | str,
    *,
    drops_overlaps: bool,
    leave_out: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Capture:
    """Read a capture once from end to end, and plan what must be repaired.

    Args:
        path: a Kineto JSON capture, also gzipped or alone in a zip or tar; a Perfetto
            trace with GPU render stages; or an enriched trace.
        drops_overlaps: whether the engine drops slices that cross on a thread (up to v56).
        leave_out: categories to leave out for a light load, e.g. ``python_function``.
        progress: called with the bytes read and the bytes there are.

    Raises:
        CaptureError: the file is no capture of GPU work; one line says what it is.
    """
    source = locate(Path(path))
    if source.content.kind == "pftrace":
        return _scan_pftrace(source, progress)
    left_out = frozenset(category.lower() for category in leave_out)
    if "cpu_op" in left_out:
        left_out |= {OLD_CPU_OP}
    columns = Columns(leave_out=left_out, keep_all=drops_overlaps)
    sizes: list[int] = []
    with source.stream(progress) as stream:
        noted: Counter[str] = Counter()
        reader = EventReader(_without_bom(stream.blocks(), noted))
        try:
            for chunk in reader.chunks():
                events = chunk.events or []
                sizes.append(len(events))
                columns.add(events, chunk.text)
        except CaptureError as error:
            raise CaptureError(f"{source.path}: {error}") from None
        sha256 = stream.sha256()
        unpacked, problem = stream.size, stream.problem
    surroundings = read_surroundings(reader.preamble, reader.trailer, bare=reader.bare)
    faults = _all_faults(reader, surroundings, noted)
    table = columns.table()
    plan, repairs = make_plan(columns, table, drops_overlaps=drops_overlaps)
    counts = columns.counts()
    _require_device_work(source.path, counts, columns)
    if columns.left_out:
        plan.leave_out = left_out
    return Capture(
        path=source.path,
        member=source.member,
        kind="json",
        sha256=sha256,
        size=source.size,
        unpacked_size=unpacked,
        event_count=columns.total,
        counts=counts,
        metadata=describe(
            {**surroundings.before, **surroundings.after}, _kernels_by_device(columns, table)
        ),
        repairs=(*_gzip_repairs(problem), *reading_repairs(*faults), *repairs),
        left_out=tuple(sorted(columns.left_out)),
        annotations=source.annotations(),
        _source=source,
        _script=_Script(plan, surroundings, reader.clean, sizes),
        _whole=None,
        _left_out_events=columns.left_out.total(),
    )


def _until(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The first ``size`` bytes."""
    for block in blocks:
        if size <= 0:
            return
        yield block[:size]
        size -= len(block)


def _without_bom(blocks: Iterable[bytes], noted: Counter[str] | None = None) -> Iterator[bytes]:
    first = True
    for block in blocks:
        if first and block.startswith(BOM):
            block = block[len(BOM) :]
            if noted is not None:
                noted["bom"] += 1
        first = False
        yield block


def _gzip_repairs(problem: GzipProblem | None) -> tuple[Repair, ...]:
    return (Repair(problem.kind, 1, problem.detail),) if problem else ()


def _all_faults(
    reader: EventReader, surroundings: Surroundings, noted: Counter[str]
) -> tuple[Counter[str], Counter[str]]:
    """Everything mended or lost while reading: how often, and how many bytes."""
    counts = reader.faults.counts + noted + Counter(surroundings.mended)
    lost = Counter(reader.faults.bytes_lost)
    if surroundings.lost:
        counts["unreadable_metadata"] += 1
        lost["unreadable_metadata"] += surroundings.lost
    if surroundings.garbage:
        counts["trailing_garbage"] += 1
        lost["trailing_garbage"] += surroundings.garbage
    if not (surroundings.closed if reader.ended else counts["truncated"]):
        counts["unclosed"] += 1
    return counts, lost


def _kernels_by_device(columns: Columns, table: Table) -> dict[object, int]:
    """Device activities by process, which is the device in Kineto captures."""
    device = table.thread[is_device(table.kind)]
    by_thread = np.bincount(device, minlength=len(columns.threads)).tolist()
    found: Counter[object] = Counter()
    for thread, count in zip(columns.threads, by_thread, strict=True):
        if count:
            found[thread.pid] += count
    return dict(found)


def _require_device_work(path: Path, counts: Counts, columns: Columns) -> None:
    if counts.device:
        return
    if not columns.total:
        raise CaptureError(f"{path} holds no events; the profiler recorded nothing, record again")
    raise CaptureError(
        f"{path} holds {columns.total} events but no GPU kernel, copy or fill{columns.elsewhere()};"
        " record with ProfilerActivity.CUDA"
    )


def _scan_pftrace(source: Source, progress: Progress | None) -> Capture:
    with source.stream(progress) as stream:
        found = count_packets(stream.blocks())
        sha256 = stream.sha256()
        problem = stream.problem
    if found.zstd:
        raise CaptureError(
            f"{source.path} is a Perfetto trace compressed with zstd, which isn't read;"
            " record it with zlib or without compression"
        )
    if not found.gpu_slices:
        raise CaptureError(
            f"{source.path} is a Perfetto trace without GPU render stages;"
            " give a capture with GPU work"
        )
    return Capture(
        path=source.path,
        member=source.member,
        kind="pftrace",
        sha256=sha256,
        size=source.size,
        unpacked_size=found.total,
        event_count=found.packets,
        counts=Counts(unnamed=found.gpu_slices),
        metadata=CaptureMetadata(),
        repairs=_pftrace_repairs(found, problem),
        left_out=(),
        annotations=source.annotations(),
        _source=source,
        _script=None,
        _whole=found.whole,
    )


def _pftrace_repairs(found: PacketCount, problem: GzipProblem | None) -> tuple[Repair, ...]:
    counts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    if found.whole < found.total:
        kind = "unreadable_events" if found.broken else "truncated"
        counts[kind] += 1
        lost[kind] = found.total - found.whole
    return (*_gzip_repairs(problem), *reading_repairs(counts, lost))
