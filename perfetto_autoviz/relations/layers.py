"""Model layers."""

from __future__ import annotations

from perfetto_autoviz.relations.schema import SPAN, Column, Relation

LAYER = Relation(
    "layer",
    "One execution of a model layer in one iteration on one device.",
    (
        *SPAN,
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
