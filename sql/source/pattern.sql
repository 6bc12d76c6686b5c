-- A sequence of device activities that repeats, found over all ranks of a run
-- together.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_pattern(
  -- Number of the pattern in the run, from 0.
  id LONG,
  -- P1 for an outermost loop, P1.2 for the second one inside it.
  name STRING,
  -- 0 for an outermost loop, 1 for one inside it, …
  level LONG,
  -- The pattern whose runs hold most of its time.
  parent_id LONG,
  -- Positions: device activities and repeats of inner loops.
  length LONG,
  -- Device activities of a typical run, with inner loops.
  kernel_count LONG,
  -- Runs on all ranks.
  run_count LONG,
  -- Median time in ns from the start of one run to the next.
  period LONG,
  -- Sum in ns of the durations of all its runs' activities.
  total_dur LONG,
  -- Ranks that run it, comma-separated.
  ranks STRING
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.id') AS id,
  extract_arg(slice.arg_set_id, 'debug.name') AS name,
  extract_arg(slice.arg_set_id, 'debug.level') AS level,
  extract_arg(slice.arg_set_id, 'debug.parent_id') AS parent_id,
  extract_arg(slice.arg_set_id, 'debug.length') AS length,
  extract_arg(slice.arg_set_id, 'debug.kernel_count') AS kernel_count,
  extract_arg(slice.arg_set_id, 'debug.run_count') AS run_count,
  extract_arg(slice.arg_set_id, 'debug.period') AS period,
  extract_arg(slice.arg_set_id, 'debug.total_dur') AS total_dur,
  extract_arg(slice.arg_set_id, 'debug.ranks') AS ranks
FROM slice
WHERE
  slice.category = 'autoviz.pattern'
ORDER BY
  slice.id;
