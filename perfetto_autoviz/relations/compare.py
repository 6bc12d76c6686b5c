"""What a comparison with another build found; empty where there was none."""

from __future__ import annotations

from perfetto_autoviz.relations.schema import SPAN, Column, Relation

COMPARISON = Relation(
    "comparison",
    "The comparison that the capture was part of. One row, equal in all captures of both builds"
    " but for the first column.",
    (
        Column("build", "STRING", "A or B: which of the two the capture belongs to."),
        Column("label_a", "STRING", "Name of build A."),
        Column("label_b", "STRING", "Name of build B."),
        Column("run_id_a", "STRING", "Shared by the captures of A."),
        Column("run_id_b", "STRING", "Shared by the captures of B."),
        Column("gpu_a", "STRING", "Device that A ran on."),
        Column("gpu_b", "STRING", "Device that B ran on."),
        Column("jaccard_weight", "DOUBLE", "Weight of the similarity of sets in a score."),
        Column("levenshtein_weight", "DOUBLE", "Weight of the similarity of sequences."),
        Column("threshold", "DOUBLE", "Score above which patterns match."),
        Column("assignment", "STRING", "greedy or optimal: how partners were chosen."),
        Column("assignments_differ", "LONG", "1 if the other way chooses other partners."),
        Column("steady", "STRING", "Iterations that were compared; NULL for whole captures."),
    ),
)

MATCH = Relation(
    "match",
    "A pattern of A and its partner in B, and how the time of a run changed.",
    (
        Column("id", "LONG", "Number of the match, from 0."),
        Column("pattern_a", "STRING", "Name of A's pattern."),
        Column("pattern_b", "STRING", "Name of B's pattern."),
        Column("basis", "STRING", "What decided: op, family or manual."),
        Column("score", "DOUBLE", "The score that decided, from 0 to 1."),
        Column("rotation", "LONG", "Number of B's kernel that A's first one compares with."),
        Column("runs_a", "LONG", "A's runs that were measured."),
        Column("runs_b", "LONG", "B's runs that were measured."),
        Column("left_out_a", "LONG", "A's runs left out, as they were not complete."),
        Column("left_out_b", "LONG", "B's runs left out, as they were not complete."),
        Column("mean_a", "DOUBLE", "Mean time in ns of A's runs."),
        Column("mean_b", "DOUBLE", "Mean time in ns of B's runs."),
        Column("median_a", "DOUBLE", "Median time in ns of A's runs."),
        Column("median_b", "DOUBLE", "Median time in ns of B's runs."),
        Column("difference", "DOUBLE", "Median of B less median of A in ns."),
        Column("ratio", "DOUBLE", "Median of B over median of A, less 1."),
        Column("difference_low", "DOUBLE", "Lower end in ns of its interval; NULL if not judged."),
        Column("difference_high", "DOUBLE", "Upper end in ns of its interval."),
        Column("verdict", "STRING", "slower, faster, no change or not judged."),
        Column("idle_difference", "DOUBLE", "Change in ns of the time in which no kernel runs."),
        Column("overlap_difference", "DOUBLE", "Change in ns of a run as kernels overlap."),
    ),
)

PAIR_SCORE = Relation(
    "pair_score",
    "How alike a pattern of A and one of B are; three rows per pair.",
    (
        Column("pattern_a", "STRING", "Name of A's pattern."),
        Column("pattern_b", "STRING", "Name of B's pattern."),
        Column("basis", "STRING", "What kernels are called by: name, op or family."),
        Column("jaccard", "DOUBLE", "Common share of the two sets, from 0 to 1."),
        Column("levenshtein", "DOUBLE", "Similarity of the sequences at the best rotation."),
        Column("rotation", "LONG", "Number of B's kernel with which it starts at that rotation."),
        Column("score", "DOUBLE", "Both, weighted."),
        Column("matched", "LONG", "1 if the two are partners, else 0."),
    ),
)

OPERATION_CHANGE = Relation(
    "operation_change",
    "What an operation costs per run in both patterns of a match.",
    (
        Column("match_id", "LONG", "The match."),
        Column("op", "STRING", "Canonical operation."),
        Column("count_a", "DOUBLE", "Kernels per run in A."),
        Column("count_b", "DOUBLE", "Kernels per run in B."),
        Column("dur_a", "DOUBLE", "Summed duration in ns per run in A."),
        Column("dur_b", "DOUBLE", "Summed duration in ns per run in B."),
        Column("difference", "DOUBLE", "dur_b less dur_a in ns."),
        Column("change", "DOUBLE", "The same relative to dur_a; NULL if A has none."),
        Column("p_holm", "DOUBLE", "Level of the change, corrected; NULL if not judged."),
        Column("significant", "LONG", "1 or 0 at 5 %; NULL if not judged."),
    ),
)

EDIT = Relation(
    "edit",
    "One step from the sequence of A's pattern to that of its partner in B.",
    (
        Column("match_id", "LONG", "The match."),
        Column("number", "LONG", "Number in the order of B's sequence, from 0."),
        Column("kind", "STRING", "same, renamed, split, fused, added, removed or moved."),
        Column("ops_a", "STRING", "A's operations, joined by ' + '; NULL if added."),
        Column("ops_b", "STRING", "B's operations, joined by ' + '; NULL if removed."),
        Column("positions_a", "STRING", "Their positions in A's pattern, comma-separated."),
        Column("positions_b", "STRING", "Their positions in B's pattern, comma-separated."),
        Column("effect", "DOUBLE", "Kernel time in ns that a run spends more in B."),
        Column("certainty", "DOUBLE", "How sure the step is, from 0 to 1."),
    ),
)

UNSHARED_OPERATION = Relation(
    "unshared_operation",
    "An operation that runs in patterns of one build and in none of the other's.",
    (
        Column("build", "STRING", "The build that has it: A or B."),
        Column("op", "STRING", "Canonical operation."),
        Column("patterns", "STRING", "Patterns it runs in, comma-separated."),
        Column("run_count", "LONG", "Runs in which it occurs, on all ranks."),
        Column("kernel_count", "LONG", "Its kernels in them."),
        Column("total_dur", "LONG", "Their summed duration in ns."),
        Column("elsewhere", "LONG", "Its kernels in the other build, outside patterns."),
    ),
)

RUN_MATCH = Relation(
    "run_match",
    "A run of a pattern beside its partner in the other build.",
    (
        *SPAN,
        Column("run_id", "LONG", "The run."),
        Column("match_id", "LONG", "The match; NULL if the pattern has no partner."),
        Column("level", "LONG", "Level of the pattern."),
        Column("pattern", "STRING", "Name of the pattern."),
        Column("partner", "STRING", "Name of the other build's pattern."),
        Column("score", "DOUBLE", "Score of the match."),
        Column(
            "partner_median",
            "DOUBLE",
            "Median time in ns of the partner's runs in steps of the same phase.",
        ),
        Column("difference", "DOUBLE", "B less A in ns, of the run and that median."),
        Column("ratio", "DOUBLE", "The same relative to A."),
    ),
    timed=True,
)

COMPARISON_RELATIONS = (
    COMPARISON,
    MATCH,
    PAIR_SCORE,
    OPERATION_CHANGE,
    EDIT,
    UNSHARED_OPERATION,
    RUN_MATCH,
)
"""All of them, in the order in which they are stored."""
