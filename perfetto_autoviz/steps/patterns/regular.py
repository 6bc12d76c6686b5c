"""Damage that recurs at equal distances is none: it is another kind of layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from perfetto_autoviz.steps.patterns.align import align
from perfetto_autoviz.steps.patterns.kernels import Index
from perfetto_autoviz.steps.patterns.limits import STRUCTURAL_REPEATS, TURNS
from perfetto_autoviz.steps.patterns.line import RESERVED
from perfetto_autoviz.steps.patterns.near import NearCopy, Search
from perfetto_autoviz.steps.patterns.stacks import common_distance, find_copies


def release_regular(search: Search, copies: Sequence[NearCopy]) -> None:
    """Take back the damaged copies of a loop that are another kind between its repeats.

    Where every sixth layer has another attention, it isn't a damaged one of the five others.
    Its own damaged copies are closer to it than to them and are taken back with it. What recurs
    among a few of a step's layers only, as one more kernel in four of its last ones, parts none.

    Args:
        search: the loop, and the marks of its copies.
        copies: its damaged copies in order.
    """
    kinds = _kinds(search, [copy for copy in copies if _between_copies(search, copy)])
    for copy in copies if kinds else ():
        window = search.line.symbol[copy.start : copy.stop]
        if any(_distance(search, kind, window) < copy.edits for kind in kinds):
            cut = slice(copy.start, copy.stop)
            search.marks.loop[cut] = RESERVED
            search.marks.run[cut] = search.marks.position[cut] = -1
            search.marks.kind[cut] = 0


def _kinds(search: Search, copies: Sequence[NearCopy]) -> list[Index]:
    """The words of damaged copies that recur regularly."""
    marked = find_copies(search.marks)
    size = int(np.sum(marked.loop == search.loop))
    numbers: dict[bytes, list[int]] = defaultdict(list)
    for copy in copies:
        word = search.line.symbol[copy.start : copy.stop].tobytes()
        numbers[word].append(int(np.searchsorted(marked.start, copy.start)))
    return [np.frombuffer(word, np.int32) for word, at in numbers.items() if _takes_turns(at, size)]


def _takes_turns(numbers: Sequence[int], copies: int) -> bool:
    if len(numbers) <= STRUCTURAL_REPEATS:
        return False
    apart, times = common_distance(numbers)
    # What follows itself is the loop as another rank runs it. Noise is sometimes as far apart as
    # before, but not three times.
    regular = apart > 1 and times >= STRUCTURAL_REPEATS and 2 * times >= len(numbers) - 1
    return regular and apart * len(numbers) >= TURNS * copies


def _between_copies(search: Search, copy: NearCopy) -> bool:
    """Whether the loop lies on both sides, with less between than what is odd in the copy.

    More is where a step ends, whose first layer is often an odd one.
    """
    before = search.marks.loop[max(copy.start - copy.edits - 1, 0) : copy.start]
    after = search.marks.loop[copy.stop : copy.stop + copy.edits + 1]
    return bool((before == search.loop).any() and (after == search.loop).any())


def _distance(search: Search, kind: Index, window: Index) -> int:
    if kind.tobytes() == window.tobytes():
        return 0
    found = align(kind, window, len(window), search.costs)
    return found.edits + len(window) - len(found.position)
