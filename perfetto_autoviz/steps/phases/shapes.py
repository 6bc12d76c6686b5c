"""How many tokens and requests a step computes, by the input shapes of its operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.intervals import Ints
from perfetto_autoviz.steps.phases.limits import MIN_OPERATORS
from perfetto_autoviz.steps.phases.sizes import mode
from perfetto_autoviz.steps.phases.work import BODY, Flags, Floats, Work


@dataclass(frozen=True)
class StepSizes:
    """Sizes of n steps; arrays have shape (n,), NaN where unknown.

    Attributes:
        tokens: rows of the layers' operators, where these are launched one by one.
        requests: rows of what follows the layers: logits and sampling compute a row for
            each request.
        queries: tokens of each request, where the operators keep batch and sequence apart.
    """

    tokens: Floats
    requests: Floats
    queries: Floats

    @property
    def size(self) -> Floats:
        """Tokens, or else requests."""
        return np.where(np.isnan(self.tokens), self.requests, self.tokens)


@dataclass(frozen=True)
class _Shapes:
    """The first matrix among the inputs of the operator that launched each kernel; (m,).

    Attributes:
        rows: its first dimension; NaN without such an operator.
        inner: its second dimension where it has three, else NaN.
    """

    rows: Floats
    inner: Floats


def step_sizes(work: Work, operators: pd.DataFrame) -> StepSizes:
    """Sizes by the operators that enclose a step's own launches.

    Args:
        work: the steps.
        operators: the relation ``_autoviz_operator_shape``.
    """
    shapes = _of_kernels(work, operators)
    gemm, body = work.of_family("gemm"), work.of_family(*BODY)
    sampling = work.of_family("sampling")
    bounds = np.searchsorted(work.owner[_by_step(work)], np.arange(len(work) + 1))
    order = _by_step(work)
    rows = np.full((3, len(work)), np.nan)
    for step in range(len(work)):
        mine = order[bounds[step] : bounds[step + 1]]
        rows[:, step] = _sizes(
            shapes.rows[mine], shapes.inner[mine], gemm[mine], body[mine], sampling[mine]
        )
    return StepSizes(*rows)


def _by_step(work: Work) -> Ints:
    return np.argsort(work.owner, kind="stable")


def _sizes(
    rows: Floats, inner: Floats, gemm: Flags, body: Flags, sampling: Flags
) -> tuple[float, float, float]:
    """Tokens, requests and tokens of each request, of one step in order of its kernels."""
    shaped = ~np.isnan(rows)
    flat = shaped & np.isnan(inner)
    products = np.flatnonzero(gemm & flat)
    tokens = np.nan
    for candidates in (products[:-1], np.flatnonzero(body & flat), np.flatnonzero(body & shaped)):
        if len(candidates) >= MIN_OPERATORS:
            tokens = mode(rows[candidates])
            break
    requests = _requests(rows, products, np.flatnonzero(sampling & shaped), tokens)
    if np.isnan(tokens):
        return tokens, mode(rows[shaped]) if np.isnan(requests) else requests, np.nan
    batched = shaped & (rows * inner == tokens) & (rows < tokens)
    if batched.sum() >= MIN_OPERATORS:
        batch = mode(rows[batched])
        return tokens, batch, tokens / batch
    return tokens, requests, np.nan


def _requests(rows: Floats, products: Ints, samplers: Ints, tokens: float) -> float:
    """Rows of the logits and of sampling.

    The last product gives the logits, unless the step ends before them: then it has as many
    rows as the others, and says nothing unless something is sampled of it.
    """
    sampled = mode(rows[samplers])
    last = float(rows[products[-1]]) if len(products) else np.nan
    if last != tokens:
        return last if not np.isnan(last) else sampled
    return sampled


def _of_kernels(work: Work, operators: pd.DataFrame) -> _Shapes:
    launch, _ = work.launches()
    known = launch >= 0
    first = np.full(launch.max(initial=-1) + 1, -1)
    first[launch[known]] = np.flatnonzero(known)
    operator = _enclosing(operators, work.launch_ts[first], work.launch_utid[first])
    rows, inner = _first_matrix(operators)
    rows, inner = np.append(rows, np.nan), np.append(inner, np.nan)
    index = np.append(operator, -1)[launch]
    return _Shapes(rows[index], inner[index])


def _first_matrix(operators: pd.DataFrame) -> tuple[Floats, Floats]:
    """First and second dimension of the first input with two or three; NaN without."""
    first, second = (
        np.stack(
            [
                operators[f"{which}_{i}"].astype("Float64").to_numpy(float, na_value=np.nan)
                for i in range(4)
            ]
        )
        for which in ("first", "second")
    )
    is_matrix = ~np.isnan(first[1]) & np.isnan(first[3])
    chosen = np.where(is_matrix, first, second)
    fits = ~np.isnan(chosen[1]) & np.isnan(chosen[3])
    # A list of numbers has a row for each.
    is_list = ~np.isnan(first[0]) & np.isnan(first[1])
    rows = np.where(fits, chosen[0], np.where(is_list, first[0], np.nan))
    three = fits & ~np.isnan(chosen[2])
    return rows, np.where(three, chosen[1], np.nan)


def _enclosing(operators: pd.DataFrame, times: Ints, threads: Ints) -> Ints:
    """The innermost operator on the thread that is open at each time, -1 for none."""
    ts = operators["ts"].to_numpy(np.int64)
    end = ts + operators["dur"].to_numpy(np.int64)
    utid = operators["utid"].fillna(-1).to_numpy(np.int64)
    found = np.full(len(times), -1)
    for thread in np.unique(threads):
        mine = np.flatnonzero(utid == thread)
        mine = mine[np.lexsort((-end[mine], ts[mine]))]
        if not len(mine):
            continue
        outer = _parents(ts[mine], end[mine])
        asked = np.flatnonzero(threads == thread)
        at = np.searchsorted(ts[mine], times[asked], side="right") - 1
        closed = (at >= 0) & (end[mine[np.maximum(at, 0)]] <= times[asked])
        while closed.any():
            at[closed] = outer[at[closed]]
            closed = (at >= 0) & (end[mine[np.maximum(at, 0)]] <= times[asked])
        found[asked] = np.where(at >= 0, mine[np.maximum(at, 0)], -1)
    return found


def _parents(ts: Ints, end: Ints) -> Ints:
    """The interval around each, of intervals sorted by start and nested in one another."""
    outer = np.full(len(ts), -1)
    stack: list[int] = []
    ends = end.tolist()
    for i, start in enumerate(ts.tolist()):
        while stack and ends[stack[-1]] <= start:
            stack.pop()
        if stack:
            outer[i] = stack[-1]
        stack.append(i)
    return outer
