"""What a step is: a pure function from frames to frames that names what it reads and makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from perfetto_autoviz.options import Options
from perfetto_autoviz.relations import Relation

Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Read:
    """A SQL relation that a step reads, and which of its columns."""

    relation: str
    columns: tuple[str, ...]


class LazyFrames(Mapping[str, pd.DataFrame]):
    """The frames that a step reads, each fetched when the step first looks at it.

    So a step may name what only some captures make it read, and costs the others nothing.
    """

    def __init__(
        self, reads: Sequence[Read], fetch: Callable[[str, tuple[str, ...]], pd.DataFrame]
    ) -> None:
        """Keeps what is read, and how: ``fetch`` takes a relation and its columns."""
        self._columns = {read.relation: read.columns for read in reads}
        self._fetch = fetch

    def __getitem__(self, relation: str) -> pd.DataFrame:
        return self._fetch(relation, self._columns[relation])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True)
class Step:
    """A step that works on one rank.

    Attributes:
        name: for messages.
        reads: what it may read; the frames are keyed by the relation's SQL name, and
            fetched when the function looks at them.
        makes: the relations it makes; the frames are keyed by the relation's short name.
        run: the function.
    """

    name: str
    reads: tuple[Read, ...]
    makes: tuple[Relation, ...]
    run: Callable[[Frames, Options], dict[str, pd.DataFrame]]


@dataclass(frozen=True)
class SetStep:
    """A step that works on all ranks of a run together.

    Attributes:
        name: as of `Step`.
        reads: what it reads from each rank, all of it fetched before it runs.
        makes: as of `Step`, for each rank.
        run: the function; inputs and results are keyed by rank.
    """

    name: str
    reads: tuple[Read, ...]
    makes: tuple[Relation, ...]
    run: Callable[[Mapping[int, Frames], Options], dict[int, dict[str, pd.DataFrame]]]
