"""The truth that a generator writes beside a capture, and its reader.

A truth file is one JSON object, gzipped or not, named ``<capture>.truth.json.gz``. All
times are integers in ns and equal to what the capture says, so that ``ts`` is the capture's
µs times 1000. The object has these members, in this order:

``schema``      the text ``autoviz-truth``
``version``     1
``generator``   name of the program that made it
``capture``     file name of the capture it belongs to
``rank``, ``world_size``, ``seed``   numbers
``model``, ``dialect``               texts
``parts``       what kernels can be a part of: ``prologue``, ``head``, one per kind of layer,
                ``tail``, ``epilogue``, ``outside`` (of any iteration); others may be added
``kinds``       kinds of layers, each also in ``parts``
``patterns``    optional: loops that kernels run in: ``step``, ``draft step``, ``layers``, one per
                kind of layer of which several are neighbours in a turn of all kinds; layers
                of several kinds in turn are one run of ``layers``
``chunks``      list of chunks in order; a generator may write one or one per step. A chunk
                holds three members, each of which may be missing:
    ``iterations``  list of objects: ``index`` (from 0, unique), ``level`` (0 is outermost),
                    ``parent`` (index or null), ``kind`` (step, dummy, capture, generation),
                    ``phase`` (prefill, decode, mixed, draft, verify, idle, dummy), ``name``
                    (outermost annotation or null), ``host_ts``, ``host_dur`` (the outermost
                    annotation, or where it would be), ``ts``, ``dur`` (first start to last
                    end of its device activities; null without any), ``requests``,
                    ``context_requests``, ``generation_requests``, ``context_tokens``,
                    ``generation_tokens``, ``graph_batch`` (null without a graph), ``launch``
                    (graph, piecewise, eager), ``kernels`` (number of device activities)
    ``layers``      object of equally long lists: ``iteration``, ``index`` (from 0 in its
                    iteration), ``kind`` (index into ``kinds``), ``first``, ``last`` (numbers
                    of the layer's first and last device activity), ``ts``, ``dur``
    ``kernels``     object of equally long lists, one entry per device activity (kernel, copy,
                    fill) in order of ``ts`` within the chunk: ``ts``, ``dur``, ``stream``,
                    ``correlation``, ``name`` (index into ``names``), ``iteration`` (index,
                    -1 outside), ``layer`` (-1 outside), ``position`` (ordinal in its part),
                    ``part`` (index into ``parts``); optional: ``pattern`` (index into
                    ``patterns``: the innermost loop it belongs to, -1 for none) and ``place``
                    (its position in that loop)
``names``       distinct names of device activities; last, because it is known last

Device activities are numbered from 0 through all chunks. Optional members may follow; a
reader ignores what it does not know:

``edits``       of a second build: list of objects, each position of each kind of layer of both
                builds in one: ``kind`` (same, slower, faster, retuned (another tile size),
                renamed, split, fused, added, removed, moved), ``part``, ``a`` and ``b``
                (positions in the part before and after), ``names_a``, ``names_b``, ``factor``
                (duration after over before by the models; null if one side is empty)
``anomalies``   what goes wrong: list of objects: ``kind`` (spike, stall, swap, drift, missing,
                extra, slow_collective; others may be added), ``ts``, ``dur`` (first start to
                last end of the abnormal run, here a layer), ``culprits`` (device activities to
                blame, any of which is right: objects with ``ts``, and ``dur``, ``stream`` and
                ``correlation`` as far as they are known; empty for none), ``name`` (kernel to
                blame that did not run, or null), ``channel`` (run time, idle time, order, or
                null)
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from perfetto_autoviz.errors import CaptureError
from perfetto_autoviz.synth.edits import TrueEdit
from perfetto_autoviz.synth.output import open_output

SCHEMA = "autoviz-truth"
VERSION = 1
LAYER_COLUMNS = ("iteration", "index", "kind", "first", "last", "ts", "dur")
KERNEL_COLUMNS = (
    "ts",
    "dur",
    "stream",
    "correlation",
    "name",
    "iteration",
    "layer",
    "position",
    "part",
    "pattern",
    "place",
)
OPTIONAL_COLUMNS = ("pattern", "place")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TrueIteration:
    """One iteration; the fields are described in the module's documentation."""

    index: int
    kind: str
    phase: str
    name: str | None
    host_ts: int
    host_dur: int
    ts: int | None
    dur: int | None
    requests: int
    context_requests: int
    generation_requests: int
    context_tokens: int
    generation_tokens: int
    graph_batch: int | None
    launch: str
    kernels: int
    level: int = 0
    parent: int | None = None


@dataclass(frozen=True)
class TruthHeader:
    """What is known before the first step."""

    capture: str
    rank: int
    world_size: int
    seed: int
    model: str
    dialect: str
    parts: Sequence[str]
    kinds: Sequence[str]
    patterns: Sequence[str] = ()
    generator: str = "autoviz synth"


@dataclass(frozen=True)
class Truth:
    """A truth file in memory.

    Attributes:
        header: what was known before the first step.
        names: distinct names of device activities.
        iterations: all iterations in order of index.
        layers: one int64 array per column of ``LAYER_COLUMNS``, shape ``(layers,)``.
        kernels: one int64 array per column of ``KERNEL_COLUMNS``, shape ``(kernels,)``.
        edits: what became of the first build's kernels, if this is a second one.
    """

    header: TruthHeader
    names: Sequence[str]
    iterations: Sequence[TrueIteration]
    layers: Mapping[str, Ints]
    kernels: Mapping[str, Ints]
    edits: Sequence[TrueEdit] = ()


@dataclass
class TruthWriter:
    """Writes a truth file chunk by chunk; the file appears when it is complete.

    Args:
        path: where the file will be; gzipped if the name ends in ``.gz``.
        header: what is known before the first step.
        edits: what became of the first build's kernels, if this is a second one.
        names: distinct names so far.
        anomalies: what went wrong so far, as the file says it.
    """

    path: Path
    header: TruthHeader
    edits: Sequence[TrueEdit] = ()
    names: dict[str, int] = field(default_factory=dict)
    anomalies: list[dict[str, Any]] = field(default_factory=list)
    _chunks: int = 0

    def __post_init__(self) -> None:
        self._output = open_output(self.path)
        self._stream: IO[bytes] = self._output.stream
        head = {"schema": SCHEMA, "version": VERSION, **asdict(self.header)}
        self._stream.write(orjson.dumps(head)[:-1] + b',\n"chunks":[')

    def name_ids(self, names: Sequence[str]) -> Ints:
        """Indices of names in the file's list, extending it; shape as ``names``."""
        known = self.names
        return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)

    def chunk(
        self,
        iterations: Sequence[TrueIteration],
        layers: Mapping[str, Ints],
        kernels: Mapping[str, Ints],
    ) -> None:
        """Write one chunk."""
        body = {
            "iterations": [asdict(iteration) for iteration in iterations],
            "layers": {column: layers[column] for column in LAYER_COLUMNS} if layers else {},
            "kernels": {column: kernels[column] for column in KERNEL_COLUMNS} if kernels else {},
        }
        self._stream.write(b",\n" if self._chunks else b"\n")
        self._stream.write(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY))
        self._chunks += 1

    def close(self) -> None:
        """Finish the file and let it appear."""
        tail = b'\n],\n"names":' + orjson.dumps(list(self.names))
        if self.edits:
            tail += b',\n"edits":' + orjson.dumps([asdict(one) for one in self.edits])
        if self.anomalies:
            tail += b',\n"anomalies":' + orjson.dumps(self.anomalies)
        self._output.commit(tail + b"}\n")

    def __enter__(self) -> TruthWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._output.discard()


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object of a truth file of any generator, packed or not.

    Raises:
        CaptureError: the file is no truth file, or of a version this reader doesn't know.
    """
    raw = path.read_bytes()
    try:
        document = orjson.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (orjson.JSONDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise CaptureError(f"{path.name} is no readable truth file: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CaptureError(f"{path.name} is no truth file: its schema is not {SCHEMA!r}")
    if document.get("version") != VERSION:
        raise CaptureError(
            f"{path.name} has truth version {document.get('version')}; this reads {VERSION}"
        )
    return document


def read_truth(path: Path) -> Truth:
    """Read a truth file of any generator.

    Raises:
        CaptureError: the file is no truth file, or of a version this reader doesn't know.
    """
    document = read_document(path)
    chunks = document["chunks"]
    iterations = [
        TrueIteration(**{k: v for k, v in row.items() if k in TrueIteration.__dataclass_fields__})
        for chunk in chunks
        for row in chunk.get("iterations", ())
    ]
    return Truth(
        header=TruthHeader(
            **{k: document[k] for k in TruthHeader.__dataclass_fields__ if k in document}
        ),
        names=document["names"],
        iterations=sorted(iterations, key=lambda iteration: iteration.index),
        layers=_columns(chunks, "layers", LAYER_COLUMNS),
        kernels=_columns(chunks, "kernels", KERNEL_COLUMNS),
        edits=[_edit(row) for row in document.get("edits", ())],
    )


def _edit(row: Mapping[str, Any]) -> TrueEdit:
    lists = ("a", "b", "names_a", "names_b")
    return TrueEdit(**{**row, **{name: tuple(row[name]) for name in lists}})


def _columns(
    chunks: Sequence[Mapping[str, Any]], member: str, columns: Sequence[str]
) -> dict[str, Ints]:
    parts = [chunk[member] for chunk in chunks if chunk.get(member)]
    return {
        column: np.concatenate([_column(part, column) for part in parts])
        if parts
        else np.empty(0, dtype=np.int64)
        for column in columns
    }


def _column(part: Mapping[str, Any], column: str) -> Ints:
    if column in OPTIONAL_COLUMNS and column not in part:
        return np.full(len(part["ts"]), -1, dtype=np.int64)
    return np.array(part[column], dtype=np.int64)
