-- One kind of evidence that was tried for iterations; the last one's are used
-- if it holds.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_iteration_evidence(
  -- Order in which it was tried, from 0.
  number LONG,
  -- What was tried.
  evidence STRING,
  -- Outermost real iterations that it gives.
  iterations LONG,
  -- Share of the device time in them and in what lies before and after them.
  coverage DOUBLE,
  -- good, degraded or not splittable.
  grade STRING,
  -- Why it is not good.
  reason STRING
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.number') AS number,
  extract_arg(slice.arg_set_id, 'debug.evidence') AS evidence,
  extract_arg(slice.arg_set_id, 'debug.iterations') AS iterations,
  extract_arg(slice.arg_set_id, 'debug.coverage') AS coverage,
  extract_arg(slice.arg_set_id, 'debug.grade') AS grade,
  extract_arg(slice.arg_set_id, 'debug.reason') AS reason
FROM slice
WHERE
  slice.category = 'autoviz.iteration_evidence'
ORDER BY
  slice.id;
