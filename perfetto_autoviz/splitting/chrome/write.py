"""One pass over a capture that writes all its cuts side by side, events byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from perfetto_autoviz.ingest import Capture
from perfetto_autoviz.ingest.events import split_clean
from perfetto_autoviz.ingest.mend import dump
from perfetto_autoviz.ingest.metadata import Surroundings
from perfetto_autoviz.ingest.reader import EventReader
from perfetto_autoviz.ingest.unpack import Progress
from perfetto_autoviz.splitting.packing import gzip_files
from perfetto_autoviz.splitting.select import Selection
from perfetto_autoviz.steps.intervals import runs

_BETWEEN = b",\n"


def write_cuts(
    capture: Capture,
    surroundings: Surroundings,
    selection: Selection,
    chunks: Sequence[int],
    targets: Mapping[int, Path],
    progress: Progress | None = None,
) -> None:
    """Writes the events of each output to its file, in the order and with the bytes of the capture.

    Text that is no JSON is mended as when it is read; whatever else a reader repairs is left
    to the reader of the cut.

    Args:
        capture: the capture.
        surroundings: the keys around its events.
        selection: which events go where.
        chunks: how many events each chunk of the capture holds.
        targets: the file of each output.
        progress: called with the bytes read and the bytes there are.
    """
    with capture.reading(progress) as reader, gzip_files(targets) as writer:
        begun: set[int] = set()
        for number, text in _texts(reader, selection, chunks):
            before = _BETWEEN if number in begun else _head(reader, surroundings)
            writer.add(number, before + text)
            begun.add(number)
        for number in targets:
            writer.add(number, _tail(reader, surroundings))


def _texts(
    reader: EventReader, selection: Selection, chunks: Sequence[int]
) -> Iterator[tuple[int, bytes]]:
    """The outputs that each chunk has events for, and those events."""
    first = 0
    for chunk, size in zip(reader.chunks(), chunks, strict=True):
        low, high = np.searchsorted(selection.row, (first, first + size))
        if low < high:
            pieces = split_clean(chunk.text)
            for number, rows in _by_output(selection, int(low), int(high)):
                yield number, _BETWEEN.join([pieces[row - first] for row in rows])
        first += size


def _by_output(selection: Selection, low: int, high: int) -> Iterator[tuple[int, list[int]]]:
    order = np.argsort(selection.output[low:high], kind="stable")
    rows, numbers = selection.row[low:high][order], selection.output[low:high][order]
    for begin, length in zip(*runs(numbers), strict=True):
        yield int(numbers[begin]), rows[begin : begin + length].tolist()


def _head(reader: EventReader, surroundings: Surroundings) -> bytes:
    """What stands before the events, as it stood in the capture."""
    if reader.bare:
        return b"[\n"
    if _is_clean(surroundings):
        return reader.preamble + b'"traceEvents": [\n'
    keys = b"".join(
        b"%b:%b," % (dump(key), dump(value)) for key, value in surroundings.before.items()
    )
    return b'{%b"traceEvents": [\n' % keys


def _tail(reader: EventReader, surroundings: Surroundings) -> bytes:
    if reader.bare:
        return b"\n]\n"
    if _is_clean(surroundings):
        return b"\n]" + reader.trailer
    keys = b"".join(
        b",%b:%b" % (dump(key), dump(value)) for key, value in surroundings.after.items()
    )
    return b"\n]%b}\n" % keys


def _is_clean(surroundings: Surroundings) -> bool:
    """Whether what stands around the events is whole as it is."""
    return (
        surroundings.closed
        and not surroundings.lost
        and not surroundings.garbage
        and not surroundings.mended
    )
