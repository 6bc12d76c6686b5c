-- What a distinct device activity name means.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_kernel_name(
  -- The name as recorded.
  name STRING,
  -- Canonical operation: the name without its tuning.
  op STRING,
  -- Coarse class of the operation.
  family STRING
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.name') AS name,
  extract_arg(slice.arg_set_id, 'debug.op') AS op,
  extract_arg(slice.arg_set_id, 'debug.family') AS family
FROM slice
WHERE
  slice.category = 'autoviz.kernel_name'
ORDER BY
  slice.id;
