-- An operation that runs in patterns of one build and in none of the other's.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_unshared_operation(
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
  extract_arg(slice.arg_set_id, 'debug.build') AS build,
  extract_arg(slice.arg_set_id, 'debug.op') AS op,
  extract_arg(slice.arg_set_id, 'debug.patterns') AS patterns,
  extract_arg(slice.arg_set_id, 'debug.run_count') AS run_count,
  extract_arg(slice.arg_set_id, 'debug.kernel_count') AS kernel_count,
  extract_arg(slice.arg_set_id, 'debug.total_dur') AS total_dur,
  extract_arg(slice.arg_set_id, 'debug.elsewhere') AS elsewhere
FROM slice
WHERE
  slice.category = 'autoviz.unshared_operation'
ORDER BY
  slice.id;
