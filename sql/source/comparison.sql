-- The comparison that the capture was part of. One row, equal in all captures
-- of both builds but for the first column.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_comparison(
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
  extract_arg(slice.arg_set_id, 'debug.build') AS build,
  extract_arg(slice.arg_set_id, 'debug.label_a') AS label_a,
  extract_arg(slice.arg_set_id, 'debug.label_b') AS label_b,
  extract_arg(slice.arg_set_id, 'debug.run_id_a') AS run_id_a,
  extract_arg(slice.arg_set_id, 'debug.run_id_b') AS run_id_b,
  extract_arg(slice.arg_set_id, 'debug.gpu_a') AS gpu_a,
  extract_arg(slice.arg_set_id, 'debug.gpu_b') AS gpu_b,
  extract_arg(slice.arg_set_id, 'debug.jaccard_weight') AS jaccard_weight,
  extract_arg(slice.arg_set_id, 'debug.levenshtein_weight')
    AS levenshtein_weight,
  extract_arg(slice.arg_set_id, 'debug.threshold') AS threshold,
  extract_arg(slice.arg_set_id, 'debug.assignment') AS assignment,
  extract_arg(slice.arg_set_id, 'debug.assignments_differ')
    AS assignments_differ,
  extract_arg(slice.arg_set_id, 'debug.steady') AS steady
FROM slice
WHERE
  slice.category = 'autoviz.comparison'
ORDER BY
  slice.id;
