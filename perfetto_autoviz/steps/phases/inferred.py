"""Phases of steps whose annotations tell none, from all other evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.phases import device
from perfetto_autoviz.steps.phases.limits import SIZE_GAP
from perfetto_autoviz.steps.phases.shapes import step_sizes
from perfetto_autoviz.steps.phases.tiers import Tiers
from perfetto_autoviz.steps.phases.work import Flags, Floats, Work

Reader = Callable[[], pd.DataFrame]


def inferred_phases(
    work: Work, operators: Reader, grids: Reader, max_num_seqs: int | None
) -> list[dict[str, Any]]:
    """Phase, counts, evidence and confidence of each step, in the order of ``work.ids``.

    Whether a step prefills comes from the tiers. A step that does is ``mixed`` where it also
    runs the attention kernels of decode, or where its requests are those of the steps
    around it; a step that does not is ``verify`` after a step of a draft model.

    Args:
        work: the steps and their kernels.
        operators: gives the relation ``_autoviz_operator_shape``.
        grids: gives the relation ``_autoviz_grid``; asked only if shapes and kernels
            leave something open.
        max_num_seqs: most requests that run at once, None if unknown.
    """
    tiers = Tiers(work, step_sizes(work, operators()), max_num_seqs)
    verdicts = tiers.judge(grids)
    active = work.count(np.ones(len(work.owner), bool)) > 0
    decodes = ~verdicts.is_open & ~verdicts.prefills
    prefills = ~verdicts.is_open & verdicts.prefills
    plain = decodes & ~tiers.after_draft & ~tiers.drafts
    # A request that decodes has one token, unless drafts are verified.
    counted = ~plain | ~np.isnan(tiers.sizes.requests)
    requests = np.where(counted, tiers.sizes.requests, tiers.tokens)
    dummies = device.dummy_steps(work, requests, plain, decodes | (prefills & tiers.both))
    decodes &= ~dummies
    mixed = prefills & (tiers.both | _all_take_part(prefills, decodes, requests))
    names = np.select(
        [~active, tiers.drafts, dummies, mixed, prefills, decodes & tiers.after_draft, decodes],
        ["idle", "draft", "dummy", "mixed", "prefill", "verify", "decode"],
        "unknown",
    )
    return [
        _row(
            int(work.ids[i]),
            str(names[i]),
            requests[i],
            tiers.tokens[i],
            str(verdicts.evidence[i]),
            float(verdicts.confidence[i]),
        )
        for i in range(len(work))
    ]


def _all_take_part(prefills: Flags, decodes: Flags, requests: Floats) -> Flags:
    """Which prefill steps also decode, by the requests of the steps around them.

    Where a server prefills apart from decode, only new requests take part in such a step,
    and the next decode step has them and those from before; where it does both at once, all
    requests take part in it, so that it has about as many as the decode steps.
    """
    mixed = np.zeros(len(prefills), bool)
    for first, stop in _stretches(prefills):
        inside = requests[first:stop]
        if first == 0 or stop == len(prefills) or np.isnan(inside).any():
            continue
        if not (decodes[first - 1] and decodes[stop]):
            continue
        before, after = requests[first - 1], requests[stop]
        if float(inside.min()) * SIZE_GAP < min(before, after):
            continue
        together = abs(float(inside[-1]) - after)
        apart = abs(before + float(inside.sum()) - after)
        # False for unknown requests, too.
        mixed[first:stop] = bool(together < apart)
    return mixed


def _stretches(flags: Flags) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return [(int(first), int(stop)) for first, stop in edges.reshape(-1, 2)]


def _row(
    number: int, phase: str, requests: float, tokens: float, evidence: str, confidence: float
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "iteration_id": number,
        "phase": phase,
        "batch_size": _whole(requests),
        "evidence": evidence,
        "confidence": confidence,
    }
    if phase == "prefill":
        row |= {
            "context_requests": _whole(requests),
            "generation_requests": 0,
            "context_tokens": _whole(tokens),
            "generation_tokens": 0,
        }
    elif phase in ("decode", "verify", "draft"):
        row |= {
            "context_requests": 0,
            "generation_requests": _whole(requests),
            "context_tokens": 0,
            "generation_tokens": _whole(tokens),
        }
    return row


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
