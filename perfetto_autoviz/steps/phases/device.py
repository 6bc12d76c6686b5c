"""What the device shows of a step: kernel variants, grids, tiles, durations."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.phases.limits import (
    COMMON_SHARE,
    DRAFT_SHARE,
    LOAD_GAP,
    MIN_LAYERS,
    MIN_OPERATORS,
    NEAR,
    SIZE_GAP,
    SMALL_TILE,
    TIGHT_LOAD,
)
from perfetto_autoviz.steps.phases.names import (
    Role,
    attention_role,
    is_block_per_request,
    is_gather,
    is_paged_prefill,
    smallest_tile_side,
)
from perfetto_autoviz.steps.phases.sizes import mode
from perfetto_autoviz.steps.phases.work import TOKEN_WISE, Flags, Floats, Work

_BLOCK_PER_TOKEN = ("norm", "rope", "activation", "quantize", "memory", "moe")
"""Families of which many kernels give each token a block."""


def attention_counts(work: Work) -> dict[Role | None, Floats]:
    """Attention kernels of each step by the kind of step that runs them; None for both."""
    attention = work.of_family("attention")
    roles = work.by_name(attention_role)
    if (roles == "decode").any():
        roles[work.by_name(is_paged_prefill).astype(bool)] = "prefill"
    return {
        role: work.count(attention & (roles == role)).astype(float)
        for role in ("prefill", "decode", None)
    }


def replayed_prompts(work: Work, replayed: Flags, loads: Floats) -> Flags:
    """Which replayed steps lack the kernels that decode and take longer than those around them.

    Some servers capture graphs for steps that prefill, too. Batches change by and by, so that
    a larger one, for which a build may run another kernel, takes little longer than the one
    before it.

    Args:
        work: the steps.
        replayed: shape (n,), which of them are the replay of a graph.
        loads: shape (n,), as of `load`.
    """
    decodes = attention_counts(work)["decode"] > 0
    other = replayed & ~decodes & (work.count(work.of_family("attention")) > 0)
    found = np.zeros(len(work), bool)
    places = np.flatnonzero(replayed & decodes)
    if not len(places):
        return found
    stretch = np.searchsorted(places, np.arange(len(work)))
    for number in np.unique(stretch[other]):
        mine = other & (stretch == number)
        top = loads[places[max(number - 1, 0) : number + 1]].max()
        found[mine] = (loads[mine] > top + LOAD_GAP).all()
    return found


def draft_steps(work: Work) -> Flags:
    """Which steps run a draft model: one of far fewer layers, before a step of the model.

    One such step is enough if the recording didn't start in it.
    """
    layers = work.count(work.of_family("attention"))
    full = mode(layers[layers >= MIN_LAYERS].astype(float))
    if np.isnan(full):
        return np.zeros(len(work), bool)
    is_full = layers >= full * (1 - DRAFT_SHARE)
    small = (layers > 0) & (layers <= full * DRAFT_SHARE)
    followed = np.append(is_full[1:] | small[1:], False)
    drafts = small & followed
    if not drafts[1:].any() and not (drafts[0] and _starts_as(work, is_full)):
        return np.zeros(len(work), bool)
    # The recording may end behind a draft.
    followed[-1] = True
    return np.asarray(small & followed)


def _starts_as(work: Work, others: Flags) -> bool:
    """Whether the first step starts with the operation that most of some others start with."""
    first = np.full(len(work), np.nan)
    steps, at = np.unique(work.owner, return_index=True)
    first[steps] = work.op[at]
    return bool(first[0] == mode(first[others]))


def dummy_steps(work: Work, requests: Floats, generates: Flags, comparable: Flags) -> Flags:
    """Which steps at the start are dummy batches: their attention has next to nothing to read.

    It takes far less than in any later step of about as many requests, and less than in any of
    fewer. Those don't have longer prompts than real requests of the first steps would: none, or
    all of them, were prefilled in between, in steps of so few that no others can take part.

    Args:
        work: the steps.
        requests: shape (n,), requests of each; NaN where unknown.
        generates: shape (n,), which of them only generate.
        comparable: shape (n,), whose attention to what is cached can be told from that to prompts.
    """
    first = work.of_family("attention") & (work.owner == 0)
    found = np.zeros(len(work), bool)
    for op in np.unique(work.op[first]):
        found |= _read_less(_mean_times(work, int(op)), requests, generates, comparable)
    return found


def _read_less(time: Floats, requests: Floats, generates: Flags, comparable: Flags) -> Flags:
    """As `dummy_steps`, by the log of the mean time of one attention kernel in each step."""
    alike = generates & (requests == requests[0]) & (np.abs(time - time[0]) <= TIGHT_LOAD)
    stop = int(np.argmin(np.append(alike, False)))
    dummies = np.arange(len(time)) < stop
    others = np.flatnonzero(comparable & ~np.isnan(time) & ~dummies)
    if not stop or not len(others):
        return np.zeros(len(time), bool)
    between = requests[stop : others[0]]
    later, sizes = time[others], requests[others]
    near = np.abs(sizes - requests[0]) <= max(1.0, NEAR * requests[0])
    fewer = sizes < requests[0]
    longest = float(time[:stop].max())
    far = later[near if near.any() else fewer].min(initial=np.inf) > longest + LOAD_GAP
    judged = (near | fewer).any() and not (fewer & (later <= longest)).any()
    apart = between[between * SIZE_GAP <= requests[0]]
    prefilled = not len(between) or apart.sum() >= requests[0]
    return dummies & bool(far and judged and prefilled)


def _mean_times(work: Work, op: int) -> Floats:
    """Log of the mean duration in ns of an operation in each step; NaN where it doesn't run."""
    ran = work.op == op
    count = work.count(ran)
    mean = work.time(ran) / np.maximum(count, 1)
    return np.where(count > 0, np.log(np.maximum(mean, 1)), np.nan)


def tokens_by_grid(work: Work, grids: pd.DataFrame) -> Floats:
    """Tokens of each step, where kernels give each token a block.

    A number of blocks that several operations of a step share is that of its tokens.

    Args:
        work: the steps.
        grids: the relation ``_autoviz_grid``.
    """
    found = np.full(len(work), np.nan)
    x, yz = _of_kernels(work, grids)
    shown = work.of_family(*_BLOCK_PER_TOKEN) & (x > 1) & (yz == 1)
    frame = pd.DataFrame({"owner": work.owner[shown], "op": work.op[shown], "x": x[shown]})
    shared = frame.drop_duplicates().groupby(["owner", "x"]).size()
    shared = shared[shared >= MIN_OPERATORS]
    for owner, of_step in shared.groupby(level="owner"):
        best = of_step[of_step == of_step.max()]
        found[int(str(owner))] = float(best.index.get_level_values("x").max())
    return found


def requests_by_grid(work: Work, grids: pd.DataFrame) -> Floats:
    """Requests of each step, where kernels give each request a row of blocks.

    Args:
        work: the steps.
        grids: the relation ``_autoviz_grid``.
    """
    found = np.full(len(work), np.nan)
    x, _ = _of_kernels(work, grids)
    attention = np.flatnonzero(work.of_family("attention"))
    last = np.full(len(work), len(work.owner))
    last[work.owner[attention]] = attention
    behind = np.arange(len(work.owner)) > last[work.owner]
    gathers = work.by_name(is_gather).astype(bool) & behind
    shown = (work.by_name(is_block_per_request).astype(bool) | gathers) & ~np.isnan(x)
    for step in np.unique(work.owner[shown]):
        found[step] = mode(x[shown & (work.owner == step)])
    return found


def _of_kernels(work: Work, grids: pd.DataFrame) -> tuple[Floats, Floats]:
    """Blocks in x, and in the other two dimensions, of each kernel; NaN where unknown."""
    by_seq = grids.set_index("seq").reindex(work.seq).astype("Float64")
    x, yz = (np.asarray(by_seq[c].to_numpy(float, na_value=np.nan)) for c in ("x", "yz"))
    return x, yz


def small_tile_share(work: Work) -> Floats:
    """Part of the time of matrix products in small tiles; NaN where no name states a tile.

    Experts' products are left out: each has a part of the tokens only.
    """
    sides = work.by_name(smallest_tile_side)
    stated = work.of_family("gemm") & np.array([side is not None for side in sides], bool)
    small = stated & np.array([side is not None and side <= SMALL_TILE for side in sides], bool)
    total = work.time(stated)
    return np.where(total > 0, work.time(small) / np.maximum(total, 1), np.nan)


def load(work: Work) -> Floats:
    """Log of how much longer a step's operations take than in the median step.

    Only operations whose work grows with the tokens count, and of these those that nearly
    all steps run, each by its mean duration and as much as it takes of the time. Experts don't:
    the more tokens, the more of them are read.

    Returns:
        Shape (n,); NaN for a step without such operations.
    """
    token_wise = work.of_family(*TOKEN_WISE)
    frame = pd.DataFrame({"owner": work.owner, "op": work.op, "dur": work.dur.astype(float)})
    frame = frame[token_wise]
    if frame.empty:
        return np.full(len(work), np.nan)
    table = frame.groupby(["owner", "op"])["dur"].agg(["mean", "sum"])
    means = table["mean"].unstack("op").reindex(range(len(work)))
    working = means.notna().any(axis=1)
    common = means[working].notna().mean() >= COMMON_SHARE
    if not common.any():
        return np.full(len(work), np.nan)
    weights = table["sum"].groupby(level="op").sum().to_numpy(float)[common.to_numpy(bool)]
    logs = np.log(np.maximum(means.to_numpy(float)[:, common.to_numpy(bool)], 1.0))
    known = ~np.isnan(logs)
    relative = np.where(known, logs - np.nanmedian(logs, axis=0), 0.0)
    total = (known * weights).sum(axis=1)
    scaled = (relative * weights).sum(axis=1) / np.maximum(total, 1.0)
    return np.asarray(np.where(total > 0, scaled, np.nan))
