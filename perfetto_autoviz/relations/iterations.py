"""Engine steps, the kernels that belong to them, and their phases."""

from __future__ import annotations

from perfetto_autoviz.relations.schema import SEGMENT, SPAN, Column, Relation

REAL_KINDS = ("step", "generation")
"""Kinds of iterations that do what the engine is for; the others only surround them."""

ITERATION = Relation(
    "iteration",
    "One engine step, or one step inside another at a higher level.",
    (
        *SPAN,
        Column("id", "LONG", "Number of the iteration in the capture, from 0."),
        Column("level", "LONG", "0 for an outermost iteration, 1 for one inside it, …"),
        Column("parent_id", "LONG", "The iteration this one lies in."),
        Column("number", "LONG", "Number among the real iterations of its level, from 0."),
        Column(
            "kind",
            "STRING",
            "step, generation, dummy, capture, warm-up or wrap-up; only the first two are real.",
        ),
        Column("name", "STRING", "Text of the annotation, or name of the call, it is from."),
        Column("dialect", "STRING", "Whose annotation it is, e.g. vllm, sglang."),
        Column("evidence", "STRING", "What the iteration and its kernels were derived from."),
        Column("confidence", "DOUBLE", "How sure that is, from 0 to 1."),
        Column("host_ts", "LONG", "Start of the host span in ns."),
        Column("host_dur", "LONG", "Duration of the host span in ns."),
        Column("activity_count", "LONG", "Kernels, copies and fills that belong to it."),
        Column("kernel_count", "LONG", "Kernels that belong to it."),
        Column("busy_dur", "LONG", "Time in ns in which at least one of them ran."),
        Column("distorted", "STRING", "What starting to record has changed in it, if anything."),
    ),
    timed=True,
)

ITERATION_EVIDENCE = Relation(
    "iteration_evidence",
    "One kind of evidence that was tried for iterations; the last one's are used if it holds.",
    (
        Column("number", "LONG", "Order in which it was tried, from 0."),
        Column("evidence", "STRING", "What was tried."),
        Column("iterations", "LONG", "Outermost real iterations that it gives."),
        Column(
            "coverage",
            "DOUBLE",
            "Share of the device time in them and in what lies before and after them.",
        ),
        Column("grade", "STRING", "good, degraded or not splittable."),
        Column("reason", "STRING", "Why it is not good."),
    ),
)

PHASE = Relation(
    "phase",
    "The phase of one iteration.",
    (
        *SPAN,
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

ITERATION_SEGMENT = Relation(
    "iteration_segment",
    "A stretch of consecutive device activities that belong to one iteration. The first one's"
    " durable key and the count stand for all of them, so that no row per kernel is stored.",
    (
        Column("iteration_id", "LONG", "The iteration."),
        *SEGMENT,
    ),
)
