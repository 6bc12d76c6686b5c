-- What an operation costs per run in both patterns of a match.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_operation_change(
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
  extract_arg(slice.arg_set_id, 'debug.match_id') AS match_id,
  extract_arg(slice.arg_set_id, 'debug.op') AS op,
  extract_arg(slice.arg_set_id, 'debug.count_a') AS count_a,
  extract_arg(slice.arg_set_id, 'debug.count_b') AS count_b,
  extract_arg(slice.arg_set_id, 'debug.dur_a') AS dur_a,
  extract_arg(slice.arg_set_id, 'debug.dur_b') AS dur_b,
  extract_arg(slice.arg_set_id, 'debug.difference') AS difference,
  extract_arg(slice.arg_set_id, 'debug.change') AS change,
  extract_arg(slice.arg_set_id, 'debug.p_holm') AS p_holm,
  extract_arg(slice.arg_set_id, 'debug.significant') AS significant
FROM slice
WHERE
  slice.category = 'autoviz.operation_change'
ORDER BY
  slice.id;
