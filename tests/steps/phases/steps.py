"""Steps of few kernels for tests, as frames that the inference reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from perfetto_autoviz.steps.phases.inferred import inferred_phases
from perfetto_autoviz.steps.phases.work import Work

PREFILL_ATTENTION = "BatchPrefillWithRaggedKVCacheKernel"
DECODE_ATTENTION = "BatchDecodeWithPagedKVCacheKernel"
EITHER_ATTENTION = "kernel_unified_attention_2d"

FAMILIES = {
    "norm": "norm",
    "rope": "rope",
    "gemm": "gemm",
    "Cijk_MT16x16x256_MI": "gemm",
    "Cijk_MT256x128x64_MI": "gemm",
    "argmax": "sampling",
    "ArgMaxOps": "sampling",
    "act": "activation",
}


@dataclass
class Step:
    """One step of some layers.

    Attributes:
        attention: its attention kernels, in each layer.
        tokens: rows of its operators; None without shapes.
        requests: rows of its logits; None without shapes.
        graph: whether one launch starts all layers.
        dur: of each kernel.
        attention_dur: of the first of its attention kernels, if another.
        lacks: kernels at its start that the recording lacks.
        gemm: name of its matrix products.
        layers: how many.
        samples: whether it samples.
        blocks: blocks of the grids of its layers; None without grids.
        rows: blocks of the grid of its sampling.
        shape: dimensions of the input of its norms, if other than the tokens.
    """

    attention: Sequence[str] = (EITHER_ATTENTION,)
    tokens: int | None = None
    requests: int | None = None
    graph: bool = False
    dur: int = 1000
    attention_dur: int | None = None
    lacks: int = 0
    gemm: str = "gemm"
    layers: int = 4
    samples: bool = True
    blocks: int | None = None
    rows: int | None = None
    shape: Sequence[int] = ()


@dataclass
class _Capture:
    kernels: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)
    grids: list[dict[str, int]] = field(default_factory=list)
    now: int = 0

    def add(self, owner: int, name: str, step: Step, launch: int, dims: Sequence[int]) -> None:
        seq = len(self.kernels)
        family = FAMILIES.get(name, "attention")
        dur = step.attention_dur if name == step.attention[0] else None
        self.kernels.append(
            {"owner": owner, "name": name, "dur": dur or step.dur, "launch": launch}
        )
        if dims and launch == self.now:
            sizes = {f"first_{i}": size for i, size in enumerate(dims)}
            self.operators.append({"ts": launch - 1, "dur": 3, "utid": 1, **sizes})
        blocks = step.rows if family == "sampling" else step.blocks
        if blocks is not None:
            self.grids.append({"seq": seq, "x": blocks, "yz": 1})

    def launch(self) -> int:
        self.now += 10
        return self.now


def judged(steps: Sequence[Step], max_num_seqs: int | None = None) -> pd.DataFrame:
    """What is found of steps; columns phase, batch_size, evidence and others."""
    capture = _Capture()
    for owner, step in enumerate(steps):
        _add(capture, owner, step)
    kernels = pd.DataFrame(capture.kernels)
    names = sorted(kernels["name"].unique())
    count = len(kernels)
    work = Work.of(
        np.arange(len(steps)),
        pd.DataFrame({"iteration_id": kernels["owner"], "seq": range(count)}),
        pd.DataFrame(
            {
                "ts": np.arange(count) * 1000,
                "dur": kernels["dur"],
                "kind": "kernel",
                "launch_ts": kernels["launch"],
                "launch_utid": 1,
            }
        ),
        pd.DataFrame(
            {"seq": range(count), "name_number": [names.index(name) for name in kernels["name"]]}
        ),
        pd.DataFrame(
            {
                "name": names,
                "op": [name.split("_MT")[0] for name in names],
                "family": [FAMILIES.get(name, "attention") for name in names],
            }
        ),
    )
    columns = ["ts", "dur", "utid", *(f"{w}_{i}" for w in ("first", "second") for i in range(4))]
    operators = pd.DataFrame(capture.operators).reindex(columns=columns)
    grids = pd.DataFrame(capture.grids, columns=["seq", "x", "yz"])
    rows = inferred_phases(work, lambda: operators, lambda: grids, max_num_seqs)
    return pd.DataFrame(rows)


def _add(capture: _Capture, owner: int, step: Step) -> None:
    tokens = () if step.tokens is None else (step.tokens, 64)
    launch = capture.launch()
    layer = ("norm", step.gemm, "rope", *step.attention, "act", step.gemm)
    for name in (layer * step.layers)[step.lacks :]:
        launch = launch if step.graph else capture.launch()
        dims = () if step.graph else tokens
        capture.add(owner, name, step, launch, step.shape or dims if name == "norm" else dims)
    requests = () if step.requests is None else (step.requests, 64)
    capture.add(owner, "gemm", step, capture.launch(), requests)
    if step.samples:
        name = "argmax" if step.rows is None else "ArgMaxOps"
        capture.add(owner, name, step, capture.launch(), requests)
