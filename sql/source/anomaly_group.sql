-- Runs of a pattern on one rank that may be compared, and what was found among
-- them.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_anomaly_group(
  -- Number of the row, unique over all ranks.
  id LONG,
  -- The group, which has a row for each test.
  group_id LONG,
  -- The pattern.
  pattern_id LONG,
  -- What the runs have in common, e.g. decode bs 32.
  name STRING,
  -- Phase of their steps.
  phase STRING,
  -- requests, or tokens that are prefilled.
  size_unit STRING,
  -- Smallest size of their steps.
  least_size LONG,
  -- Largest size of their steps.
  most_size LONG,
  -- Kind of the layer that they lie in.
  layer_kind STRING,
  -- duration, or autoencoder.
  test STRING,
  -- Runs of the group.
  run_count LONG,
  -- Runs that the test could judge.
  judged_count LONG,
  -- Runs that it flags.
  flagged_count LONG,
  -- Why runs are not judged.
  reason STRING,
  -- Mean duration in ns, where the test is of durations.
  mean_dur DOUBLE,
  -- Standard deviation of the duration in ns.
  std_dur DOUBLE,
  -- What is flagged, in words.
  threshold STRING
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.group_id') AS group_id,
  extract_arg(slice.arg_set_id, 'debug.pattern_id') AS pattern_id,
  extract_arg(slice.arg_set_id, 'debug.name') AS name,
  extract_arg(slice.arg_set_id, 'debug.phase') AS phase,
  extract_arg(slice.arg_set_id, 'debug.size_unit') AS size_unit,
  extract_arg(slice.arg_set_id, 'debug.least_size') AS least_size,
  extract_arg(slice.arg_set_id, 'debug.most_size') AS most_size,
  extract_arg(slice.arg_set_id, 'debug.layer_kind') AS layer_kind,
  extract_arg(slice.arg_set_id, 'debug.test') AS test,
  extract_arg(slice.arg_set_id, 'debug.run_count') AS run_count,
  extract_arg(slice.arg_set_id, 'debug.judged_count') AS judged_count,
  extract_arg(slice.arg_set_id, 'debug.flagged_count') AS flagged_count,
  extract_arg(slice.arg_set_id, 'debug.reason') AS reason,
  extract_arg(slice.arg_set_id, 'debug.mean_dur') AS mean_dur,
  extract_arg(slice.arg_set_id, 'debug.std_dur') AS std_dur,
  extract_arg(slice.arg_set_id, 'debug.threshold') AS threshold
FROM slice
WHERE
  slice.category = 'autoviz.anomaly_group'
ORDER BY
  slice.id;
