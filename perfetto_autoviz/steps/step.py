"""What a step is: a pure function from frames to frames that names what it reads and makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from perfetto_autoviz.relations import Relation

Frames = Mapping[str, pd.DataFrame]

DEFAULT_NUM_STEPS = 32
"""Iterations of a steady window, unless the user wants another number."""


@dataclass(frozen=True)
class Options:
    """What a user may choose about the steps.

    Attributes:
        anchor: regular expression of the kernel that occurs once per layer, tried on its
            op and its name; None for attention.
        llm_inference: whether iterations without annotations have phases; None to decide
            by the kernels.
        max_num_seqs: most requests that run at once: an iteration that computes more tokens
            prefills; None if unknown.
        num_steps: iterations of a steady window.
    """

    anchor: str | None = None
    llm_inference: bool | None = None
    max_num_seqs: int | None = None
    num_steps: int = DEFAULT_NUM_STEPS


@dataclass(frozen=True)
class Read:
    """A SQL relation that a step reads, and which of its columns."""

    relation: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A step that works on one rank.

    Attributes:
        name: for messages.
        reads: what it reads; the frames are keyed by the relation's SQL name.
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
        reads: as of `Step`, from each rank.
        makes: as of `Step`, for each rank.
        run: the function; inputs and results are keyed by rank.
    """

    name: str
    reads: tuple[Read, ...]
    makes: tuple[Relation, ...]
    run: Callable[[Mapping[int, Frames], Options], dict[int, dict[str, pd.DataFrame]]]
