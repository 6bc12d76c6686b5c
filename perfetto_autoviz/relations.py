"""The relations that Python steps make, and that an enriched trace stores.

One description serves three readers: the session, which pushes a frame under the
relation's private source name; the track writer, which stores each row; and the
SQL modules in ``sql/source``, which read the rows back in a plain trace processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCHEMA_VERSION = 1
"""Raised when a stored relation changes so that older readers would misread it."""

SqlType = Literal["LONG", "DOUBLE", "STRING"]


@dataclass(frozen=True)
class Column:
    """One column: its name, its SQL type (any value may be NULL) and what it holds."""

    name: str
    type: SqlType
    doc: str


@dataclass(frozen=True)
class Relation:
    """A relation made by a step.

    Attributes:
        name: the short name, e.g. ``iteration``.
        doc: what a row is.
        columns: all columns, in order. A timed relation starts with ``ts`` and ``dur``.
        timed: whether a row is a span of time, stored as a slice on a visible track; a
            timed row whose ``ts`` is NULL, and every row of an untimed relation, is
            stored as an instant on the collapsed data track.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    timed: bool = False

    @property
    def source(self) -> str:
        """The private SQL name the public views read."""
        return f"_autoviz_src_{self.name}"

    @property
    def category(self) -> str:
        """The slice category under which an enriched trace stores the rows."""
        return f"autoviz.{self.name}"

    @property
    def types(self) -> dict[str, SqlType]:
        """Column name to SQL type, in order."""
        return {column.name: column.type for column in self.columns}


_SPAN = (
    Column("ts", "LONG", "Start in ns; NULL if no device activity belongs to the row."),
    Column("dur", "LONG", "Duration in ns; NULL if no device activity belongs to the row."),
)

CAPTURE = Relation(
    "capture",
    "The capture itself: who recorded it, on what, and what was repaired. One row.",
    (
        Column("schema_version", "LONG", "Version of the stored relations."),
        Column("autoviz_version", "STRING", "Version of the package that wrote the row."),
        Column("file_name", "STRING", "Name of the capture file, without its folder."),
        Column("file_size", "LONG", "Size of the capture file in bytes."),
        Column("sha256", "STRING", "SHA-256 of the capture file, in hex."),
        Column("rank", "LONG", "Rank of the process that was recorded."),
        Column("rank_evidence", "STRING", "Where the rank is from: metadata, file name, argument."),
        Column("world_size", "LONG", "Number of ranks of the run."),
        Column("framework", "STRING", "Serving framework by its annotations, e.g. vllm, sglang."),
        Column("gpu_name", "STRING", "Name of the device the kernels ran on."),
        Column("gpu_count", "LONG", "Number of devices the profiler lists."),
        Column("runtime", "STRING", "GPU runtime and version, e.g. cuda 12.9 or hip 7.0.51831."),
        Column("collective_library", "STRING", "Version of NCCL or RCCL."),
        Column("trace_name", "STRING", "The capture's own name for itself."),
        Column("base_time_ns", "LONG", "Epoch offset of the capture's clock in ns."),
        Column("event_count", "LONG", "Events in the file."),
        Column("kernel_count", "LONG", "Kernels in the file, by an independent scan."),
        Column("memcpy_count", "LONG", "Device copies in the file, by an independent scan."),
        Column("memset_count", "LONG", "Device fills in the file, by an independent scan."),
        Column("launch_count", "LONG", "Runtime and driver calls in the file."),
        Column("annotation_count", "LONG", "Host and device annotations in the file."),
        Column("repairs", "STRING", "What was repaired before loading, as a JSON list."),
        Column("left_out", "STRING", "Categories left out by a light load, comma-separated."),
        Column("metadata", "STRING", "Other top-level metadata of the capture, as JSON."),
        Column("run_id", "STRING", "Shared by all ranks annotated together."),
    ),
)

KERNEL_NAME = Relation(
    "kernel_name",
    "What a distinct device activity name means.",
    (
        Column("name", "STRING", "The name as recorded."),
        Column("op", "STRING", "Canonical operation: the name without its tuning."),
        Column("family", "STRING", "Coarse class of the operation."),
    ),
)

ITERATION = Relation(
    "iteration",
    "One engine step, or one step inside another at a higher level.",
    (
        *_SPAN,
        Column("id", "LONG", "Number of the iteration in the capture, from 0."),
        Column("level", "LONG", "0 for an outermost iteration, 1 for one inside it, …"),
        Column("parent_id", "LONG", "The iteration this one lies in."),
        Column("number", "LONG", "Number among the real iterations of its level, from 0."),
        Column(
            "kind",
            "STRING",
            "step, dummy, capture or generation; only dummy and capture are not real.",
        ),
        Column("name", "STRING", "Text of the annotation it was derived from."),
        Column("dialect", "STRING", "Whose annotation it is, e.g. vllm, sglang."),
        Column("evidence", "STRING", "What the iteration and its kernels were derived from."),
        Column("confidence", "DOUBLE", "How sure that is, from 0 to 1."),
        Column("host_ts", "LONG", "Start of the host span in ns."),
        Column("host_dur", "LONG", "Duration of the host span in ns."),
        Column("activity_count", "LONG", "Kernels, copies and fills that belong to it."),
        Column("kernel_count", "LONG", "Kernels that belong to it."),
        Column("busy_dur", "LONG", "Time in ns in which at least one of them ran."),
    ),
    timed=True,
)

PHASE = Relation(
    "phase",
    "The phase of one iteration.",
    (
        *_SPAN,
        Column("iteration_id", "LONG", "The iteration."),
        Column("phase", "STRING", "prefill, decode, mixed, draft, verify, idle, dummy or unknown."),
        Column("batch_size", "LONG", "Requests in the step."),
        Column("context_requests", "LONG", "Requests that are prefilled in the step."),
        Column("generation_requests", "LONG", "Requests that decode in the step."),
        Column("context_tokens", "LONG", "Tokens that are prefilled in the step."),
        Column("generation_tokens", "LONG", "Tokens that decode in the step."),
        Column("graph_batch_size", "LONG", "Batch size the replayed graph was captured for."),
        Column("evidence", "STRING", "What the phase was derived from."),
        Column("confidence", "DOUBLE", "How sure that is, from 0 to 1."),
    ),
    timed=True,
)

LAYER = Relation(
    "layer",
    "One execution of a model layer in one iteration on one device.",
    (
        *_SPAN,
        Column("id", "LONG", "Number of the layer execution in the capture, from 0."),
        Column("iteration_id", "LONG", "The iteration it belongs to."),
        Column("device", "LONG", "Device it ran on."),
        Column("layer", "LONG", "Index of the layer in its iteration, from 0."),
        Column("kind", "STRING", "What it consists of, e.g. attention+moe; variants are numbered."),
        Column("anchor", "STRING", "The op that occurs once per layer and located it."),
        Column("module", "STRING", "Name of the nn.Module, where stacks were recorded."),
        Column("evidence", "STRING", "What the layer was derived from."),
        Column("first_position", "LONG", "Position in its iteration of its first activity."),
        Column("last_position", "LONG", "Position in its iteration of its last activity."),
        Column(
            "skipped",
            "STRING",
            "Positions between the two that other work holds, each after a comma, with one"
            " more at the end.",
        ),
        Column("activity_count", "LONG", "Kernels, copies and fills of the layer."),
        Column("kernel_count", "LONG", "Kernels of the layer."),
        Column("busy_dur", "LONG", "Time in ns in which at least one of them ran."),
    ),
    timed=True,
)

ITERATION_SEGMENT = Relation(
    "iteration_segment",
    "A stretch of consecutive device activities that belong to one iteration. The first one's"
    " durable key and the count stand for all of them, so that no row per kernel is stored.",
    (
        Column("iteration_id", "LONG", "The iteration."),
        Column("first_ts", "LONG", "Start in ns of the first device activity."),
        Column("first_dur", "LONG", "Duration in ns of the first device activity."),
        Column("first_pid", "LONG", "Process of the first device activity."),
        Column("first_tid", "LONG", "Thread of the first device activity."),
        Column("first_correlation", "LONG", "Correlation of the first device activity."),
        Column("first_tie", "LONG", "Number among device activities equal in all of these."),
        Column("activity_count", "LONG", "Device activities of the segment."),
    ),
)

PATTERN = Relation(
    "pattern",
    "A sequence of device activities that repeats, found over all ranks of a run together.",
    (
        Column("id", "LONG", "Number of the pattern in the run, from 0."),
        Column("name", "STRING", "P1 for an outermost loop, P1.2 for the second one inside it."),
        Column("level", "LONG", "0 for an outermost loop, 1 for one inside it, …"),
        Column("parent_id", "LONG", "The pattern whose runs hold most of its time."),
        Column("length", "LONG", "Positions: device activities and repeats of inner loops."),
        Column("kernel_count", "LONG", "Device activities of a typical run, with inner loops."),
        Column("run_count", "LONG", "Runs on all ranks."),
        Column("period", "LONG", "Median time in ns from the start of one run to the next."),
        Column("total_dur", "LONG", "Sum in ns of the durations of all its runs' activities."),
        Column("ranks", "STRING", "Ranks that run it, comma-separated."),
    ),
)

PATTERN_POSITION = Relation(
    "pattern_position",
    "One position of a pattern, with statistics over all its runs on all ranks.",
    (
        Column("pattern_id", "LONG", "The pattern."),
        Column("position", "LONG", "Number of the position, from 0."),
        Column("op", "STRING", "Canonical operation; NULL at a repeat of an inner loop."),
        Column("inner_id", "LONG", "The pattern that repeats here; NULL at an activity."),
        Column("stream_role", "LONG", "0 on the device's busiest stream, 1 on the next, …"),
        Column("kernel_count", "LONG", "Device activities, or repeats of the inner loop."),
        Column("total_dur", "LONG", "Sum of their durations in ns."),
        Column("mean_dur", "DOUBLE", "Mean duration in ns."),
        Column("std_dur", "DOUBLE", "Standard deviation of the duration in ns."),
        Column("min_dur", "LONG", "Shortest duration in ns."),
        Column("median_dur", "DOUBLE", "Median duration in ns."),
        Column("max_dur", "LONG", "Longest duration in ns."),
    ),
)

PATTERN_RUN = Relation(
    "pattern_run",
    "One contiguous execution of a pattern.",
    (
        *_SPAN,
        Column("id", "LONG", "Number of the run, unique over all ranks."),
        Column("pattern_id", "LONG", "The pattern."),
        Column("level", "LONG", "Level of the pattern."),
        Column("parent_id", "LONG", "The run that it lies in."),
        Column("number", "LONG", "Number among the runs of its pattern on its rank, from 0."),
        Column("device", "LONG", "Device it ran on."),
        Column("stream", "LONG", "Stream it ran on; NULL if it may be spread over several."),
        Column("missing", "LONG", "Positions that did not run."),
        Column("extra", "LONG", "Activities, or repeats, that are not in the pattern."),
        Column("swapped", "LONG", "Positions at which something else ran."),
    ),
    timed=True,
)

PATTERN_SEGMENT = Relation(
    "pattern_segment",
    "A stretch of neighbours in the order of a device, or of its streams, that belong to one run"
    " and to no run inside it. The first one's durable key and the count stand for all of them.",
    (
        Column("run_id", "LONG", "The run."),
        Column("position", "LONG", "Position of the first activity; NULL for extra ones."),
        Column("kind", "STRING", "plain, extra or swapped."),
        Column("by_stream", "LONG", "1 if neighbours are those of a stream, 0 of a device."),
        *ITERATION_SEGMENT.columns[1:],
    ),
)

RELATIONS: tuple[Relation, ...] = (
    CAPTURE,
    KERNEL_NAME,
    ITERATION,
    ITERATION_SEGMENT,
    PHASE,
    LAYER,
    PATTERN,
    PATTERN_POSITION,
    PATTERN_RUN,
    PATTERN_SEGMENT,
)
"""All stored relations, in the order in which the steps make them."""
