"""Loops of kernels, their positions and their runs."""

from __future__ import annotations

from perfetto_autoviz.relations.schema import SEGMENT, SPAN, Column, Relation

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
        *SPAN,
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
        *SEGMENT,
    ),
)
