INCLUDE PERFETTO MODULE autoviz.source.capture;

INCLUDE PERFETTO MODULE autoviz.source.comparison;

INCLUDE PERFETTO MODULE autoviz.source.edit;

INCLUDE PERFETTO MODULE autoviz.source.match;

INCLUDE PERFETTO MODULE autoviz.source.operation_change;

INCLUDE PERFETTO MODULE autoviz.source.pair_score;

INCLUDE PERFETTO MODULE autoviz.source.run_match;

INCLUDE PERFETTO MODULE autoviz.source.unshared_operation;

-- The comparison that this capture was part of; no row if it was not compared.
-- A comparison is made by autoviz compare.
CREATE OR REPLACE PERFETTO VIEW autoviz_comparison(
  -- A or B: which of the two the capture belongs to.
  build STRING,
  -- Name of build A.
  label_a STRING,
  -- Name of build B.
  label_b STRING,
  -- Shared by the captures of A.
  run_id_a STRING,
  -- Shared by the captures of B.
  run_id_b STRING,
  -- Device that A ran on.
  gpu_a STRING,
  -- Device that B ran on.
  gpu_b STRING,
  -- Weight of the similarity of sets in a score.
  jaccard_weight DOUBLE,
  -- Weight of the similarity of sequences.
  levenshtein_weight DOUBLE,
  -- Score above which patterns match.
  threshold DOUBLE,
  -- greedy or optimal: how partners were chosen.
  assignment STRING,
  -- 1 if the other way chooses other partners.
  assignments_differ LONG,
  -- Iterations that were compared; NULL for whole captures.
  steady STRING
) AS
SELECT
  build,
  label_a,
  label_b,
  run_id_a,
  run_id_b,
  gpu_a,
  gpu_b,
  jaccard_weight,
  levenshtein_weight,
  threshold,
  assignment,
  assignments_differ,
  steady
FROM _autoviz_src_comparison;

-- Patterns of A and their partners in B, and how the time of a run changed.
CREATE OR REPLACE PERFETTO VIEW autoviz_match(
  -- Number of the match, from 0.
  id LONG,
  -- Name of A's pattern.
  pattern_a STRING,
  -- Name of B's pattern.
  pattern_b STRING,
  -- What decided: op, family or manual.
  basis STRING,
  -- The score that decided, from 0 to 1.
  score DOUBLE,
  -- Number of B's kernel that A's first one compares with.
  rotation LONG,
  -- A's runs that were measured.
  runs_a LONG,
  -- B's runs that were measured.
  runs_b LONG,
  -- A's runs left out, as they were not complete.
  left_out_a LONG,
  -- B's runs left out, as they were not complete.
  left_out_b LONG,
  -- Mean time in ns of A's runs.
  mean_a DOUBLE,
  -- Mean time in ns of B's runs.
  mean_b DOUBLE,
  -- Median time in ns of A's runs.
  median_a DOUBLE,
  -- Median time in ns of B's runs.
  median_b DOUBLE,
  -- Median of B less median of A in ns.
  difference DOUBLE,
  -- Median of B over median of A, less 1.
  ratio DOUBLE,
  -- Lower end in ns of its interval; NULL if not judged.
  difference_low DOUBLE,
  -- Upper end in ns of its interval.
  difference_high DOUBLE,
  -- slower, faster, no change or not judged.
  verdict STRING,
  -- Change in ns of the time in which no kernel runs.
  idle_difference DOUBLE,
  -- Change in ns of a run as kernels overlap.
  overlap_difference DOUBLE
) AS
SELECT
  id,
  pattern_a,
  pattern_b,
  basis,
  score,
  rotation,
  runs_a,
  runs_b,
  left_out_a,
  left_out_b,
  mean_a,
  mean_b,
  median_a,
  median_b,
  difference,
  ratio,
  difference_low,
  difference_high,
  verdict,
  idle_difference,
  overlap_difference
FROM _autoviz_src_match;

-- How alike each pattern of A and each of B are.
CREATE OR REPLACE PERFETTO VIEW autoviz_pair_score(
  -- Name of A's pattern.
  pattern_a STRING,
  -- Name of B's pattern.
  pattern_b STRING,
  -- What kernels are called by: name, op or family.
  basis STRING,
  -- Common share of the two sets, from 0 to 1.
  jaccard DOUBLE,
  -- Similarity of the sequences at the best rotation.
  levenshtein DOUBLE,
  -- Number of B's kernel with which it starts at that rotation.
  rotation LONG,
  -- Both, weighted.
  score DOUBLE,
  -- 1 if the two are partners, else 0.
  matched LONG
) AS
SELECT
  pattern_a,
  pattern_b,
  basis,
  jaccard,
  levenshtein,
  rotation,
  score,
  matched
FROM _autoviz_src_pair_score;

-- What each operation costs per run in both patterns of a match.
CREATE OR REPLACE PERFETTO VIEW autoviz_operation_change(
  -- The match.
  match_id LONG,
  -- Canonical operation.
  op STRING,
  -- Kernels per run in A.
  count_a DOUBLE,
  -- Kernels per run in B.
  count_b DOUBLE,
  -- Summed duration in ns per run in A.
  dur_a DOUBLE,
  -- Summed duration in ns per run in B.
  dur_b DOUBLE,
  -- dur_b less dur_a in ns.
  difference DOUBLE,
  -- The same relative to dur_a; NULL if A has none.
  change DOUBLE,
  -- Level of the change, corrected; NULL if not judged.
  p_holm DOUBLE,
  -- 1 or 0 at 5 %; NULL if not judged.
  significant LONG
) AS
SELECT
  match_id,
  op,
  count_a,
  count_b,
  dur_a,
  dur_b,
  difference,
  change,
  p_holm,
  significant
FROM _autoviz_src_operation_change;

-- Steps from the sequence of A's pattern to that of its partner in B.
CREATE OR REPLACE PERFETTO VIEW autoviz_edit(
  -- The match.
  match_id LONG,
  -- Number in the order of B's sequence, from 0.
  number LONG,
  -- same, renamed, split, fused, added, removed or moved.
  kind STRING,
  -- A's operations, joined by ' + '; NULL if added.
  ops_a STRING,
  -- B's operations, joined by ' + '; NULL if removed.
  ops_b STRING,
  -- Their positions in A's pattern, comma-separated.
  positions_a STRING,
  -- Their positions in B's pattern, comma-separated.
  positions_b STRING,
  -- Kernel time in ns that a run spends more in B.
  effect DOUBLE,
  -- How sure the step is, from 0 to 1.
  certainty DOUBLE
) AS
SELECT
  match_id,
  number,
  kind,
  ops_a,
  ops_b,
  positions_a,
  positions_b,
  effect,
  certainty
FROM _autoviz_src_edit;

-- Operations that run in patterns of one build and in none of the other's.
CREATE OR REPLACE PERFETTO VIEW autoviz_unshared_operation(
  -- The build that has it: A or B.
  build STRING,
  -- Canonical operation.
  op STRING,
  -- Patterns it runs in, comma-separated.
  patterns STRING,
  -- Runs in which it occurs, on all ranks.
  run_count LONG,
  -- Its kernels in them.
  kernel_count LONG,
  -- Their summed duration in ns.
  total_dur LONG,
  -- Its kernels in the other build, outside patterns.
  elsewhere LONG
) AS
SELECT
  build,
  op,
  patterns,
  run_count,
  kernel_count,
  total_dur,
  elsewhere
FROM _autoviz_src_unshared_operation;

-- Runs on this rank beside their partners in the other build.
CREATE OR REPLACE PERFETTO VIEW autoviz_run_match(
  -- The run.
  run_id LONG,
  -- Rank of the recorded process. NULL if unknown.
  rank LONG,
  -- Start in ns; NULL if no device activity belongs to the row.
  ts TIMESTAMP,
  -- Duration in ns; NULL if no device activity belongs to the row.
  dur DURATION,
  -- The match; NULL if the pattern has no partner.
  match_id LONG,
  -- Level of the pattern.
  level LONG,
  -- Name of the pattern.
  pattern STRING,
  -- Name of the other build's pattern.
  partner STRING,
  -- Score of the match.
  score DOUBLE,
  -- Median time in ns of the partner's runs in steps of the same phase.
  partner_median DOUBLE,
  -- B less A in ns, of the run and that median.
  difference DOUBLE,
  -- The same relative to A.
  ratio DOUBLE
) AS
SELECT
  run_id,
  (SELECT rank FROM _autoviz_src_capture) AS rank,
  ts,
  dur,
  match_id,
  level,
  pattern,
  partner,
  score,
  partner_median,
  difference,
  ratio
FROM _autoviz_src_run_match;
