"""Windows of iterations in which the load is steady."""

from __future__ import annotations

from perfetto_autoviz.relations.schema import SPAN, Column, Relation

STEADY_WINDOW = Relation(
    "steady_window",
    "A window of consecutive iterations in steady state.",
    (
        *SPAN,
        Column("id", "LONG", "Number of the window in the capture, from 0."),
        Column(
            "mode",
            "STRING",
            "mixed, decode or prefill: what its iterations do; any where phases are unknown.",
        ),
        Column("tier", "STRING", "What steadiness was judged by: requests, batch sizes, …"),
        Column("level", "LONG", "Level of its iterations."),
        Column("first_id", "LONG", "First iteration."),
        Column("last_id", "LONG", "Last iteration; it belongs to the window."),
        Column("first_number", "LONG", "Number of the first iteration among the real ones."),
        Column("last_number", "LONG", "Number of the last iteration among the real ones."),
        Column("iteration_count", "LONG", "Iterations in the window."),
        Column("region_first_number", "LONG", "First iteration of the steady region around it."),
        Column("region_last_number", "LONG", "Last iteration of the steady region around it."),
        Column("batch_size", "DOUBLE", "Median number of requests, of iterations that state one."),
        Column("context_tokens", "LONG", "Tokens that are prefilled in the window, where known."),
        Column("generation_tokens", "LONG", "Tokens that decode in the window, where known."),
        Column("prefill_share", "DOUBLE", "Part of its iterations that prefill, from 0 to 1."),
        Column("mean_dur", "DOUBLE", "Mean duration of its iterations on the device in ns."),
        Column("variation", "DOUBLE", "Standard deviation of that, divided by the mean."),
        Column("why", "STRING", "Why this window was chosen."),
        Column("confidence", "DOUBLE", "How sure it is that the window is steady, from 0 to 1."),
    ),
    timed=True,
)
