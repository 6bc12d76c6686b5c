"""What device activities do, as arrays, and what the units of a division consist of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfetto_autoviz.steps.intervals import Ints

Bools = NDArray[np.bool_]

_PROJECTION = ("gemm", "moe")

MOST_PROJECTIONS = 12
"""Matrix products per attention: six or seven forward in a layer without a fused attention."""

# Copies between host and device, e.g. "Memcpy HtoD (Pinned -> Device)".
_HOST_COPY = r"HtoD|DtoH|Host2Device|Device2Host"
_INPUT_COPY = r"HtoD|Host2Device"
# What engines of language models do with the keys and values of earlier steps, e.g.
# "reshape_and_cache_flash:Fp8KVCacheDataType=1", "store_kvcache",
# "create_flashinfer_kv_indices_triton", "paged_attention_ll4mi_reduce".
_CACHE = r"kv_?cache|and_cache|kv_indices|paged"
# Kernels of which a step has a few and a layer none: looking tokens up, choosing the next
# ones, a loss, an optimizer, e.g. "at::native::(anonymous namespace)::indexSelectLargeIndex",
# "reduce_kernel:ArgMaxOps<float>", "nll_loss_forward_reduce_cuda_kernel_2d",
# "multi_tensor_apply:FusedAdamMathFunctor".
_ONCE = r"embedding|argmax|argmin|multinomial|nll_loss|cross_entropy|adam|\bsgd|\blamb\b"


@dataclass(frozen=True)
class Work:
    """Device activities in the order of their durable key; all arrays have shape (n,).

    Attributes:
        ts: starts in ns.
        dur: durations in ns.
        device: device numbers.
        stream: numbers that tell the streams of all devices apart.
        op: codes of the operations.
        correlation: number shared with the launch, -1 for none.
        launch_ts: starts in ns of the launches, -1 where none is recorded.
        launch_thread: utid of the launching thread, -1 where none is recorded.
        is_kernel: whether it is a kernel, not a copy or a fill.
        attends: whether it is a kernel of attention.
        projects: whether it is a matrix product or an expert.
        keeps: whether it handles the keys and values that an engine keeps for later steps.
        samples: whether it chooses tokens.
        feeds: whether it copies from the host.
        marks: whether it is of a kind that steps have and layers have not: a copy from or to
            the host, a lookup of tokens, a choice of the next ones, a loss, an optimizer.
    """

    ts: Ints
    dur: Ints
    device: Ints
    stream: Ints
    op: Ints
    correlation: Ints
    launch_ts: Ints
    launch_thread: Ints
    is_kernel: Bools
    attends: Bools
    projects: Bools
    keeps: Bools
    samples: Bools
    feeds: Bools
    marks: Bools

    @classmethod
    def of(cls, activities: pd.DataFrame) -> Work:
        """From the frame of ``_autoviz_activity``, sorted by ``seq``."""

        def ints(name: str) -> Ints:
            return activities[name].fillna(-1).to_numpy(np.int64)

        op, distinct = pd.factorize(activities["op"].fillna(""))
        family = activities["family"].fillna("")
        attends = (family == "attention").to_numpy(bool)
        projects = family.isin(_PROJECTION).to_numpy(bool)
        if not attends.any():
            attends = _attending_softmax(_of_ops(op, distinct, "softmax"), projects)
        samples = (family == "sampling").to_numpy(bool)
        streams = pd.MultiIndex.from_arrays([ints("device"), ints("stream")])
        return cls(
            ts=ints("ts"),
            dur=ints("dur"),
            device=ints("device"),
            stream=pd.factorize(streams)[0].astype(np.int64),
            op=op.astype(np.int64),
            correlation=ints("correlation"),
            launch_ts=ints("launch_ts"),
            launch_thread=ints("launch_utid"),
            is_kernel=(activities["kind"] == "kernel").to_numpy(bool),
            attends=attends,
            projects=projects,
            keeps=_of_ops(op, distinct, _CACHE),
            samples=samples,
            feeds=_of_ops(op, distinct, _INPUT_COPY),
            marks=samples
            | _of_ops(op, distinct, _HOST_COPY)
            | (_of_ops(op, distinct, _ONCE) & (family != "rope").to_numpy(bool)),
        )

    def __len__(self) -> int:
        return len(self.ts)

    @cached_property
    def total(self) -> int:
        """Summed durations of all activities in ns."""
        return int(self.dur.sum())

    def launched_by(self, thread: int) -> int:
        """Summed durations in ns of what a thread launches."""
        return int(self.dur[self.launch_thread == thread].sum())

    def attentions(self, order: Ints) -> Bools:
        """Where in an order an attention starts; kernels with no projection between are one.

        Args:
            order: shape (m,), indices of activities.
        """
        attends = self.attends[order]
        fed = np.cumsum(self.projects[order])
        at = np.flatnonzero(attends)
        first = np.ones(len(at), bool)
        first[1:] = fed[at[1:]] != fed[at[:-1]]
        starts = np.zeros(len(order), bool)
        starts[at[first]] = True
        return starts


def _attending_softmax(softmax: Bools, projects: Bools) -> Bools:
    """Softmax kernels that stand for an attention of several kernels; none if they do not.

    A loss and a classifier have a softmax, too, but one for all their layers.
    """
    apart = np.count_nonzero(np.diff(np.cumsum(projects)[softmax])) + softmax.any()
    enough = apart * MOST_PROJECTIONS >= projects.sum()
    return softmax if enough else np.zeros_like(softmax)


def _of_ops(op: Ints, distinct: pd.Index[str], pattern: str) -> Bools:
    matches: Bools = pd.Series(distinct).str.contains(pattern, case=False).to_numpy(bool)
    return matches[op] if len(matches) else np.zeros(len(op), bool)
