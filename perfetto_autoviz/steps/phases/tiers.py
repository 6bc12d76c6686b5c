"""Which steps prefill: evidence in tiers, from input shapes to durations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.phases import device
from perfetto_autoviz.steps.phases.groups import Groups, beside_known, by_gap
from perfetto_autoviz.steps.phases.limits import (
    FEW_TOKENS,
    GRAPH_SHARE,
    GRAPH_SIZES,
    GROWS,
    LARGE_TILES,
    LARGEST_DECODE,
    LOAD_GAP,
    MAX_QUERIES,
    MIN_OPERATORS,
    SIZE_GAP,
    SMALL_TILES,
    SMALLEST_PREFILL,
    WIDE_LOAD_GAP,
)
from perfetto_autoviz.steps.phases.shapes import StepSizes
from perfetto_autoviz.steps.phases.sizes import is_steady, mode, prefill_bearing_sizes
from perfetto_autoviz.steps.phases.verdicts import (
    ATTENTION,
    DURATIONS,
    GRIDS,
    LAUNCHES,
    SHAPES,
    TILES,
    Verdicts,
)
from perfetto_autoviz.steps.phases.work import Flags, Floats, Work

TOKENS_PER_REQUEST = 0.95
SIZE_GROUPS = 0.85
REPLAYED_SIZE = 0.8
SIZE_ALONE = 0.65
KERNEL_VARIANT = 0.85
REPLAY = 0.75
NO_REPLAY = 0.7
TILE = 0.6
DURATION_BESIDE_KNOWN = 0.6
DURATION_GAP = 0.5
# How sure each finding is. Tokens and requests of a step are read off its operators; kernels
# made for one kind of step rarely run in another; the rest are habits of servers.


class Tiers:
    """The tiers, each deciding what those before it leave open.

    Attributes:
        work: the steps.
        sizes: their tokens and requests, by shapes.
        drafts: which of them run a draft model.
        after_draft: which of the others follow such a step.
        both: which of them run the attention kernels of prefill and those of decode.
        verdicts: what has been decided.
        tokens: tokens, by shapes or grids.
    """

    def __init__(self, work: Work, sizes: StepSizes, max_num_seqs: int | None) -> None:
        """Takes the steps; ``max_num_seqs`` is the most requests at once, None if unknown."""
        self.work = work
        self.sizes = sizes
        self.drafts = device.draft_steps(work)
        self.both = np.zeros(len(work), bool)
        self.verdicts = Verdicts.none(len(work))
        self.tokens = sizes.tokens
        self._most = max_num_seqs
        self._replay = work.largest_graph_share() >= GRAPH_SHARE
        self.after_draft = np.append(False, self.drafts[:-1]) & ~self.drafts
        self._load = device.load(work)
        self._prompts = device.replayed_prompts(work, self._replay, self._load)
        self._replay &= ~self._prompts

    def judge(self, grids: Callable[[], pd.DataFrame]) -> Verdicts:
        """Asks all tiers in order; ``grids`` gives the relation ``_autoviz_grid``."""
        self.verdicts.settle(self.drafts, DURATIONS, DURATION_GAP, prefills=False)
        if (~np.isnan(self.sizes.tokens) & np.isnan(self.sizes.requests)).any():
            self._count_requests(grids)
        self._by_queries()
        # Of a replay, shapes tell the requests, which say nothing of its tokens.
        unknown = self._prompts & np.isnan(self.sizes.tokens)
        self._by_sizes(np.where(unknown, np.nan, self.sizes.size), SHAPES)
        self._by_attention(grids)
        self.tokens = self._by_grid(grids)
        self._by_sizes(self.tokens, GRIDS)
        self._by_launches()
        self._by_tiles()
        self._by_durations()
        return self.verdicts

    def _settle(self, groups: Groups, evidence: str, confidence: float) -> None:
        self.verdicts.settle(groups.prefills, evidence, confidence, prefills=True)
        self.verdicts.settle(groups.decodes, evidence, confidence, prefills=False)

    @property
    def _known(self) -> Groups:
        decided = ~self.verdicts.is_open & ~self.drafts
        return Groups(
            decided & self.verdicts.prefills,
            decided & ~self.verdicts.prefills,
        )

    def _by_queries(self) -> None:
        """By tokens of each request: one in decode, always as many in a step that verifies.

        Behind a step of a draft model, a few of each request are verified. Decode steps may
        be padded to a size that graphs are captured for.
        """
        queries, most = _queries(self.sizes), self._most
        if most is not None:
            self.verdicts.settle(self.sizes.size > most, SHAPES, TOKENS_PER_REQUEST, prefills=True)
        generates = self._generate(queries) | _is_padded(self.sizes.tokens, self.sizes.requests)
        self._settle(Groups((queries > 1) & ~generates, generates), SHAPES, TOKENS_PER_REQUEST)

    def _generate(self, queries: Floats) -> Flags:
        """Which numbers of tokens of each request are those of steps that only generate."""
        verifies = (queries == _verified(queries)) | (self.after_draft & _are_few(queries))
        return np.asarray((queries == 1) | verifies)

    def _by_sizes(self, sizes: Floats, evidence: str) -> None:
        """By sizes: of a replayed step that of its batch, of others in two groups."""
        nothing = np.zeros(len(sizes), bool)
        if evidence == SHAPES:
            replayed = self._replay & ~np.isnan(sizes)
            self.verdicts.settle(replayed, evidence, REPLAYED_SIZE, prefills=False)
        known = self._known
        if known.decodes.any() or known.prefills.any():
            beside = beside_known(np.log(sizes), known, np.log(SIZE_GAP))
            self._settle(beside, evidence, SIZE_GROUPS)
        else:
            bearing = prefill_bearing_sizes(sizes)
            # Batches that shrink step by step to one request are no prompts, either.
            batches = bearing is not None and sizes[bearing].max() < SMALLEST_PREFILL
            if bearing is not None and not (batches and is_steady(sizes[bearing])):
                lower = ~np.isnan(sizes) & ~bearing
                decodes = lower if is_steady(sizes[lower]) else nothing
                self._settle(Groups(bearing, decodes), evidence, SIZE_GROUPS)
        # What no batch is as large as; what is as large step after step.
        self.verdicts.settle(
            sizes > (self._most or LARGEST_DECODE), evidence, SIZE_ALONE, prefills=True
        )
        rest = self.verdicts.is_open & ~np.isnan(sizes)
        if is_steady(sizes[rest]) and not known.prefills.any():
            self.verdicts.settle(
                rest & (sizes < SMALLEST_PREFILL), evidence, SIZE_ALONE, prefills=False
            )

    def _by_attention(self, grids: Callable[[], pd.DataFrame]) -> None:
        """By attention kernels that only one kind of step runs.

        Drafts are verified by those of prefill.
        """
        counts = device.attention_counts(self.work)
        prefill, decode = counts["prefill"] > 0, counts["decode"] > 0
        self.both = prefill & decode
        decode &= ~prefill
        if decode[~self.drafts].all() or prefill[~self.drafts].all():
            self._settle(self._by_blocks(grids), GRIDS, SIZE_GROUPS)
        doubted = self._doubted(prefill, decode, grids)
        groups = Groups(prefill & ~self.after_draft & ~doubted, decode & ~doubted)
        self._settle(groups, ATTENTION, KERNEL_VARIANT)

    def _doubted(self, prefill: Flags, decode: Flags, grids: Callable[[], pd.DataFrame]) -> Flags:
        """Steps of another kind than most that still run the attention kernel of most.

        A build may run one kernel in both kinds of steps. Then launches and loads that part
        the steps are the better evidence.
        """
        top = self._largest_replayed()
        heavy = ~self._replay & (self._load > top + LOAD_GAP)
        if decode[~self.drafts].all():
            apart = by_gap(self._load, LOAD_GAP, WIDE_LOAD_GAP).prefills
            # No step shows a batch of decode, to which loads could be compared.
            tokens = device.tokens_by_grid(self.work, grids())
            if np.fmin.reduce(tokens) > (self._most or LARGEST_DECODE):
                heavy |= ~np.isnan(tokens)
            return heavy | apart | self._crowded(grids)
        if prefill[~self.drafts].all() and heavy.any():
            return self._replay
        return np.zeros(len(decode), bool)

    def _crowded(self, grids: Callable[[], pd.DataFrame]) -> Flags:
        """Steps of more tokens than requests: they take longer than more requests explain.

        A request has a token at least, and twice the tokens take at most twice as long; as long
        as they are few, no longer at all.
        """
        requests = np.log(np.maximum(device.requests_by_grid(self.work, grids()), FEW_TOKENS))
        load = np.where(self.drafts, np.nan, self._load)
        sizes, at = np.unique(requests, return_inverse=True)
        lightest = np.array([np.fmin.reduce(load[at == i]) for i in range(len(sizes))])
        explained = lightest + np.maximum(requests[:, None] - sizes, 0)
        excess = load - np.fmin.reduce(explained, axis=1)
        excess[self.after_draft] = np.nan
        # One step by far shows that the kernel runs prompts, too.
        return np.asarray(excess > (LOAD_GAP if (excess >= WIDE_LOAD_GAP).any() else np.inf))

    def _by_blocks(self, grids: Callable[[], pd.DataFrame]) -> Groups:
        """Steps whose grids count more tokens than requests and that take longer, and others.

        Blocks are tokens only where in some steps there is one for each request, or where
        steps of more take longer.
        """
        nothing = np.zeros(len(self.work), bool)
        load = self._load
        known = ~np.isnan(load) & ~self.drafts
        if not known.any() or np.ptp(load[known]) <= LOAD_GAP:
            return Groups(nothing, nothing)
        requests = device.requests_by_grid(self.work, grids())
        tokens = self._counted(requests, grids)
        queries = tokens / requests
        single = known & (self._generate(queries) | _is_padded(tokens, requests))
        crowded = known & (queries >= SIZE_GAP) & ~single
        if not single.any() and not _grow_with(np.log(tokens[crowded]), load[crowded]):
            return Groups(nothing, nothing)
        others = single if single.any() else known & ~crowded
        crowded &= load > load[others].max(initial=-np.inf) + LOAD_GAP
        return Groups(crowded, single if crowded.any() else nothing)

    def _largest_replayed(self) -> float:
        """The largest load of a step that is replayed from a graph; NaN without any."""
        loads = self._load[self._replay & ~self.drafts & ~np.isnan(self._load)]
        return float(loads.max()) if len(loads) else np.nan

    def _by_grid(self, grids: Callable[[], pd.DataFrame]) -> Floats:
        """Tokens by grids; fills in the requests that shapes leave open."""
        tokens = self.sizes.tokens
        if not (np.isnan(self.sizes.requests) | self.verdicts.is_open).any():
            return tokens
        self._count_requests(grids)
        by_grid = self._counted(self.sizes.requests, grids)
        return np.where(np.isnan(tokens), by_grid, tokens)

    def _count_requests(self, grids: Callable[[], pd.DataFrame]) -> None:
        """Fills in by grids the requests that shapes leave open."""
        requests, missing = self.sizes.requests, np.isnan(self.sizes.requests)
        by_grid = device.requests_by_grid(self.work, grids())
        self.sizes = replace(self.sizes, requests=np.where(missing, by_grid, requests))

    def _counted(self, requests: Floats, grids: Callable[[], pd.DataFrame]) -> Floats:
        """Tokens by grids, as far as these count tokens; NaN elsewhere.

        Each request has a token at least: fewer blocks are shared for another reason, and so
        is a small number that stays the same for other requests.
        """
        tokens = device.tokens_by_grid(self.work, grids())
        tokens[tokens < requests] = np.nan
        known = ~np.isnan(tokens) & ~np.isnan(requests)
        fixed = len(np.unique(tokens[known])) == 1 and len(np.unique(requests[known])) > 1
        return np.where(fixed & (tokens < SMALLEST_PREFILL), np.nan, tokens)

    def _by_launches(self) -> None:
        """By graphs: decode steps are replayed, as far as graphs were captured for them."""
        self.verdicts.settle(self._replay, LAUNCHES, REPLAY, prefills=False)
        largest = self._largest_replayed()
        other = (self._load <= largest) | (self._load > largest + LOAD_GAP)
        self.verdicts.settle(other & ~self._replay, LAUNCHES, NO_REPLAY, prefills=True)

    def _by_tiles(self) -> None:
        """By tiles of matrix products, unless steps that are known contradict."""
        share = device.small_tile_share(self.work)
        small, large = share >= SMALL_TILES, share <= LARGE_TILES
        known = self._known
        # Small tiles under a load far above that of decode steps are a build's habit.
        decode = self._load[known.decodes & ~np.isnan(self._load)]
        if len(decode):
            small &= ~(self._load > float(decode.max()) + LOAD_GAP)
        if not (small & known.prefills).any():
            self.verdicts.settle(small, TILES, TILE, prefills=False)
        if not (large & known.decodes).any():
            self.verdicts.settle(large, TILES, TILE, prefills=True)

    def _by_durations(self) -> None:
        known = self._known
        if known.decodes.any() or known.prefills.any():
            beside = beside_known(self._load, known, LOAD_GAP)
            self._settle(beside, DURATIONS, DURATION_BESIDE_KNOWN)
        else:
            groups = by_gap(self._load, LOAD_GAP, WIDE_LOAD_GAP)
            self._settle(groups, DURATIONS, DURATION_GAP)


def _queries(sizes: StepSizes) -> Floats:
    """Tokens of each request; NaN where it is not a step of whole requests."""
    ratio = sizes.tokens / sizes.requests
    return np.where(np.isnan(sizes.queries), ratio, sizes.queries)


def _verified(queries: Floats) -> float:
    """Tokens of each request in steps that verify drafts: the same few in most steps."""
    few = queries[_are_few(queries)]
    usual = mode(few)
    return usual if (few == usual).sum() >= MIN_OPERATORS else np.nan


def _are_few(queries: Floats) -> Flags:
    """Which numbers of tokens may be those of drafts, and the token before them."""
    return np.asarray((queries > 1) & (queries <= MAX_QUERIES + 1) & (queries % 1 == 0))


def _is_padded(tokens: Floats, requests: Floats) -> Flags:
    """Which numbers of tokens are those of requests, rounded up to a usual size of graphs."""
    power = np.exp2(np.ceil(np.log2(np.maximum(requests, 1))))
    sizes = [np.ceil(requests / step) * step for step in GRAPH_SIZES]
    small = (requests <= min(GRAPH_SIZES)) & (tokens == power)
    return np.asarray(small | np.logical_or.reduce([tokens == size for size in sizes]))


def _grow_with(sizes: Floats, load: Floats) -> bool:
    """Whether several different sizes are the larger the longer steps take."""
    if len(np.unique(sizes)) < MIN_OPERATORS or not np.ptp(load):
        return False
    return float(np.corrcoef(sizes, load)[0, 1]) >= GROWS
