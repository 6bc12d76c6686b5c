-- A stretch of consecutive device activities that belong to one iteration. The
-- first one's durable key and the count stand for all of them, so that no row
-- per kernel is stored.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_iteration_segment(
  -- The iteration.
  iteration_id LONG,
  -- Start in ns of the first device activity.
  first_ts LONG,
  -- Duration in ns of the first device activity.
  first_dur LONG,
  -- Process of the first device activity.
  first_pid LONG,
  -- Thread of the first device activity.
  first_tid LONG,
  -- Correlation of the first device activity.
  first_correlation LONG,
  -- Number among device activities equal in all of these.
  first_tie LONG,
  -- Device activities of the segment.
  activity_count LONG
) AS
SELECT
  extract_arg(slice.arg_set_id, 'debug.iteration_id') AS iteration_id,
  extract_arg(slice.arg_set_id, 'debug.first_ts') AS first_ts,
  extract_arg(slice.arg_set_id, 'debug.first_dur') AS first_dur,
  extract_arg(slice.arg_set_id, 'debug.first_pid') AS first_pid,
  extract_arg(slice.arg_set_id, 'debug.first_tid') AS first_tid,
  extract_arg(slice.arg_set_id, 'debug.first_correlation') AS first_correlation,
  extract_arg(slice.arg_set_id, 'debug.first_tie') AS first_tie,
  extract_arg(slice.arg_set_id, 'debug.activity_count') AS activity_count
FROM slice
WHERE
  slice.category = 'autoviz.iteration_segment'
ORDER BY
  slice.id;
