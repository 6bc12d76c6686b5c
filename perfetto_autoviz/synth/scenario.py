"""The description of a capture to synthesise."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from perfetto_autoviz.errors import UsageError
from perfetto_autoviz.synth.arrivals import Arrivals
from perfetto_autoviz.synth.dialects import Dialect
from perfetto_autoviz.synth.edits import TrueEdit
from perfetto_autoviz.synth.model import Model, load_model
from perfetto_autoviz.synth.program import LaunchMode
from perfetto_autoviz.synth.timeline import HostCosts

Framework = Literal["vllm", "sglang", "atom", "trtllm"]

RECENT_US = 1_365_627_862_757
"""A clock in µs since the profiler's base time, as current profilers write: exact to the ns
in a double."""

EPOCH_US = 1_767_189_312_000_000
"""A clock in µs since 1970, as older profilers write: a double cannot hold its ns."""


@dataclass(frozen=True)
class ScenarioSpec:
    """Everything that decides a synthetic capture; the same spec gives the same bytes.

    Attributes:
        name: used in file names.
        model: the model, or the name of a measured one.
        framework: decides file names, process names and python frames.
        dialect: how steps are annotated.
        steps: number of real engine steps.
        ranks: number of tensor-parallel ranks; each gets a file.
        seed: of everything random.
        arrivals: how requests come and go.
        decode: how steps without prefill are launched.
        prefill: how steps with prefill are launched.
        largest_graph: largest batch that a graph was captured for.
        layers: number of layers, if other than the model's.
        pdl: whether kernels may overlap as measured; False sets them apart.
        split_streams: collectives run on a stream of their own.
        shared_expert: an expert for all tokens runs beside the chosen ones, on a stream of its
            own where a graph is replayed.
        stream_moves: probability that a replayed graph has one of its kernels on the main stream.
        asynchronous: the host runs one step ahead of the device.
        speculative: draft tokens per decode step; 0 for none.
        kernels_by_kind: steps that prefill run other kernels than steps that decode.
        dummy_steps: dummy batches before the first real step.
        capture_steps: graph captures before the first real step.
        stray_copies: probability of a copy between two steps that belongs to none.
        hole_every: steps between two long absences of the host; 0 for none.
        hole_ms: length of such an absence.
        python_frames: write python functions and modules.
        cpu_ops: write operators with ``Input Dims``.
        flows: write flow events from launches to kernels.
        gpu_annotations: write the annotations' device spans, one per stream.
        clock_us: first timestamp in µs; ``RECENT_US`` or ``EPOCH_US``.
        rank_sigma: standard deviation of the log of a rank's fixed speed factor.
        rank_offset_us: largest offset between two ranks' clocks in µs.
        costs: what the host needs.
        build: 0 for the first build; others have noise of their own.
        edits: what became of the first build's kernels, for the truth.
        anomalies: how many of each kind go wrong in layers; as many as there are places for.
    """

    name: str
    model: Model | str
    framework: Framework = "vllm"
    dialect: Dialect = "vllm-detailed"
    steps: int = 24
    ranks: int = 1
    seed: int = 0
    arrivals: Arrivals = field(default_factory=Arrivals)
    decode: LaunchMode = "graph"
    prefill: LaunchMode = "eager"
    largest_graph: int = 512
    layers: int | None = None
    pdl: bool = True
    split_streams: bool = False
    shared_expert: bool = False
    stream_moves: float = 0.0
    asynchronous: bool = False
    speculative: int = 0
    kernels_by_kind: bool = False
    dummy_steps: int = 0
    capture_steps: int = 0
    stray_copies: float = 0.0
    hole_every: int = 0
    hole_ms: float = 300.0
    python_frames: bool = True
    cpu_ops: bool = True
    flows: bool = True
    gpu_annotations: bool = True
    clock_us: int = RECENT_US
    rank_sigma: float = 0.004
    rank_offset_us: float = 0.0
    costs: HostCosts = field(default_factory=HostCosts)
    build: int = 0
    edits: tuple[TrueEdit, ...] = ()
    anomalies: int = 0

    def __post_init__(self) -> None:
        if self.ranks < 1:
            raise UsageError(f"a capture needs at least one rank, not {self.ranks}")
        if self.layers is not None and self.layers < 1:
            raise UsageError(f"a model needs at least one layer, not {self.layers}")
        if isinstance(self.model, str):
            load_model(self.model)
        if self.dialect == "atom" and self.arrivals.policy == "mixed":
            raise UsageError("ATOM's annotations know no mixed step; use the policy 'separate'")
        if self.speculative and self.dialect.startswith(("vllm", "trtllm")):
            raise UsageError(
                f"the dialect {self.dialect!r} has no annotation for a draft step; use another"
            )


@dataclass(frozen=True)
class SynthCapture:
    """One written capture.

    Attributes:
        path: the capture.
        truth_path: its truth, beside it.
        rank: the rank it stands for.
        events: number of events in it.
    """

    path: Path
    truth_path: Path
    rank: int
    events: int
