"""Abnormal runs, the kernels to blame for them, and what could be judged at all."""

from __future__ import annotations

from perfetto_autoviz.relations.schema import SPAN, Column, Relation

ANOMALY_GROUP = Relation(
    "anomaly_group",
    "Runs of a pattern on one rank that may be compared, and what was found among them.",
    (
        Column("id", "LONG", "Number of the row, unique over all ranks."),
        Column("group_id", "LONG", "The group, which has a row for each test."),
        Column("pattern_id", "LONG", "The pattern."),
        Column("name", "STRING", "What the runs have in common, e.g. decode bs 32."),
        Column("phase", "STRING", "Phase of their steps."),
        Column("size_unit", "STRING", "requests, or tokens that are prefilled."),
        Column("least_size", "LONG", "Smallest size of their steps."),
        Column("most_size", "LONG", "Largest size of their steps."),
        Column("layer_kind", "STRING", "Kind of the layer that they lie in."),
        Column("test", "STRING", "duration, or autoencoder."),
        Column("run_count", "LONG", "Runs of the group."),
        Column("judged_count", "LONG", "Runs that the test could judge."),
        Column("flagged_count", "LONG", "Runs that it flags."),
        Column("reason", "STRING", "Why runs are not judged."),
        Column("mean_dur", "DOUBLE", "Mean duration in ns, where the test is of durations."),
        Column("std_dur", "DOUBLE", "Standard deviation of the duration in ns."),
        Column("threshold", "STRING", "What is flagged, in words."),
    ),
)

RUN_ANOMALY = Relation(
    "run_anomaly",
    "A run of a pattern that a test flags.",
    (
        *SPAN,
        Column("id", "LONG", "Number of the row, unique over all ranks."),
        Column("run_id", "LONG", "The run."),
        Column("pattern_id", "LONG", "The pattern."),
        Column("level", "LONG", "Level of the pattern."),
        Column("group_id", "LONG", "The group that it was compared with."),
        Column(
            "test",
            "STRING",
            "The most specific test that flags it: sequence, kernel, drift or duration.",
        ),
        Column("tests", "STRING", "All tests that flag it, comma-separated."),
        Column("side", "STRING", "slow or fast."),
        Column("score", "DOUBLE", "Score of the test."),
        Column("threshold", "DOUBLE", "What the score exceeds."),
        Column("channel", "STRING", "run time, idle time or order."),
        Column("excess", "LONG", "Duration in ns beyond the normal one; negative if shorter."),
        Column("ranking", "LONG", "Place by the size of the excess over all ranks, from 1."),
        Column("explanation", "STRING", "What is abnormal, in words."),
    ),
    timed=True,
)

KERNEL_ANOMALY = Relation(
    "kernel_anomaly",
    "A device activity that is to blame for an abnormal run. One that is missing has no time.",
    (
        *SPAN,
        Column("id", "LONG", "Number of the row, unique over all ranks."),
        Column("run_anomaly_id", "LONG", "The abnormal run."),
        Column("run_id", "LONG", "The run."),
        Column("position", "LONG", "Position in the run, repeats of inner loops counted out."),
        Column("op", "STRING", "Canonical operation; of a missing one, that which should run."),
        Column("kind", "STRING", "plain, missing, extra or swapped."),
        Column("test", "STRING", "The test that flags the run."),
        Column("channel", "STRING", "run time, idle time (before it) or order."),
        Column("score", "DOUBLE", "How far from normal, in the unit of the threshold."),
        Column("threshold", "DOUBLE", "What the largest score of a normal run may reach."),
        Column("excess", "LONG", "Time in ns beyond the normal one; negative if shorter."),
        Column("share", "DOUBLE", "Part of the run's excess."),
        Column("normal", "DOUBLE", "Normal time in ns; negative if it normally overlaps."),
        Column("spread", "DOUBLE", "Robust standard deviation of the normal time in ns."),
        Column("ranking", "LONG", "Place among what is to blame for the run, from 1."),
        Column("explanation", "STRING", "What is abnormal, in words."),
        Column("pid", "LONG", "Process of the activity."),
        Column("tid", "LONG", "Thread of the activity."),
        Column("correlation", "LONG", "Correlation of the activity."),
        Column("tie", "LONG", "Number among activities equal in time and all of these."),
    ),
    timed=True,
)

STRAGGLER = Relation(
    "straggler",
    "A run in which one rank was late, by the work that it does itself: collectives, in which"
    " ranks wait for one another, are left out. Clocks are not compared.",
    (
        Column("pattern_id", "LONG", "The pattern."),
        Column("number", "LONG", "Number of the run on every rank."),
        Column("late_rank", "LONG", "The rank that was late."),
        Column("late", "LONG", "Time in ns that it needs more than the median of all ranks."),
        Column("usual", "LONG", "What it usually needs more, in ns."),
        Column("work", "LONG", "Time in ns that it worked."),
        Column("wait", "LONG", "Time in ns that other ranks were longer in collectives."),
    ),
)
