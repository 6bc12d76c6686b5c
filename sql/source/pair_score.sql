-- How alike a pattern of A and one of B are; three rows per pair.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_pair_score(
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
  extract_arg(slice.arg_set_id, 'debug.pattern_a') AS pattern_a,
  extract_arg(slice.arg_set_id, 'debug.pattern_b') AS pattern_b,
  extract_arg(slice.arg_set_id, 'debug.basis') AS basis,
  extract_arg(slice.arg_set_id, 'debug.jaccard') AS jaccard,
  extract_arg(slice.arg_set_id, 'debug.levenshtein') AS levenshtein,
  extract_arg(slice.arg_set_id, 'debug.rotation') AS rotation,
  extract_arg(slice.arg_set_id, 'debug.score') AS score,
  extract_arg(slice.arg_set_id, 'debug.matched') AS matched
FROM slice
WHERE
  slice.category = 'autoviz.pair_score'
ORDER BY
  slice.id;
