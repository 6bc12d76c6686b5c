-- One position of a pattern, with statistics over all its runs on all ranks.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_pattern_position(
  -- The pattern.
  pattern_id LONG,
  -- Number of the position, from 0.
  position LONG,
  -- Canonical operation; NULL at a repeat of an inner loop.
  op STRING,
  -- The pattern that repeats here; NULL at an activity.
  inner_id LONG,
  -- 0 on the device's busiest stream, 1 on the next, …
  stream_role LONG,
  -- Device activities, or repeats of the inner loop.
  kernel_count LONG,
  -- Sum of their durations in ns.
  total_dur LONG,
  -- Mean duration in ns.
  mean_dur DOUBLE,
  -- Standard deviation of the duration in ns.
  std_dur DOUBLE,
  -- Shortest duration in ns.
  min_dur LONG,
  -- Median duration in ns.
  median_dur DOUBLE,
  -- Longest duration in ns.
  max_dur LONG
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.pattern_id') AS pattern_id,
  extract_arg(slice.arg_set_id, 'debug.position') AS position,
  extract_arg(slice.arg_set_id, 'debug.op') AS op,
  extract_arg(slice.arg_set_id, 'debug.inner_id') AS inner_id,
  extract_arg(slice.arg_set_id, 'debug.stream_role') AS stream_role,
  extract_arg(slice.arg_set_id, 'debug.kernel_count') AS kernel_count,
  extract_arg(slice.arg_set_id, 'debug.total_dur') AS total_dur,
  extract_arg(slice.arg_set_id, 'debug.mean_dur') AS mean_dur,
  extract_arg(slice.arg_set_id, 'debug.std_dur') AS std_dur,
  extract_arg(slice.arg_set_id, 'debug.min_dur') AS min_dur,
  extract_arg(slice.arg_set_id, 'debug.median_dur') AS median_dur,
  extract_arg(slice.arg_set_id, 'debug.max_dur') AS max_dur
FROM slice
WHERE
  slice.category = 'autoviz.pattern_position'
ORDER BY
  slice.id;
