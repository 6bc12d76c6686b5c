-- A pattern of A and its partner in B, and how the time of a run changed.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_match(
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
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.pattern_a') AS pattern_a,
  extract_arg(slice.arg_set_id, 'debug.pattern_b') AS pattern_b,
  extract_arg(slice.arg_set_id, 'debug.basis') AS basis,
  extract_arg(slice.arg_set_id, 'debug.score') AS score,
  extract_arg(slice.arg_set_id, 'debug.rotation') AS rotation,
  extract_arg(slice.arg_set_id, 'debug.runs_a') AS runs_a,
  extract_arg(slice.arg_set_id, 'debug.runs_b') AS runs_b,
  extract_arg(slice.arg_set_id, 'debug.left_out_a') AS left_out_a,
  extract_arg(slice.arg_set_id, 'debug.left_out_b') AS left_out_b,
  extract_arg(slice.arg_set_id, 'debug.mean_a') AS mean_a,
  extract_arg(slice.arg_set_id, 'debug.mean_b') AS mean_b,
  extract_arg(slice.arg_set_id, 'debug.median_a') AS median_a,
  extract_arg(slice.arg_set_id, 'debug.median_b') AS median_b,
  extract_arg(slice.arg_set_id, 'debug.difference') AS difference,
  extract_arg(slice.arg_set_id, 'debug.ratio') AS ratio,
  extract_arg(slice.arg_set_id, 'debug.difference_low') AS difference_low,
  extract_arg(slice.arg_set_id, 'debug.difference_high') AS difference_high,
  extract_arg(slice.arg_set_id, 'debug.verdict') AS verdict,
  extract_arg(slice.arg_set_id, 'debug.idle_difference') AS idle_difference,
  extract_arg(slice.arg_set_id, 'debug.overlap_difference')
    AS overlap_difference
FROM slice
WHERE
  slice.category = 'autoviz.match'
ORDER BY
  slice.id;
