-- A stretch of neighbours in the order of a device, or of its streams, that
-- belong to one run and to no run inside it. The first one's durable key and
-- the count stand for all of them.
CREATE OR REPLACE PERFETTO TABLE _autoviz_src_pattern_segment(
  -- The run.
  run_id LONG,
  -- Position of the first activity; NULL for extra ones.
  position LONG,
  -- plain, extra or swapped.
  kind STRING,
  -- 1 if neighbours are those of a stream, 0 of a device.
  by_stream LONG,
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
  extract_arg(slice.arg_set_id, 'debug.run_id') AS run_id,
  extract_arg(slice.arg_set_id, 'debug.position') AS position,
  extract_arg(slice.arg_set_id, 'debug.kind') AS kind,
  extract_arg(slice.arg_set_id, 'debug.by_stream') AS by_stream,
  extract_arg(slice.arg_set_id, 'debug.first_ts') AS first_ts,
  extract_arg(slice.arg_set_id, 'debug.first_dur') AS first_dur,
  extract_arg(slice.arg_set_id, 'debug.first_pid') AS first_pid,
  extract_arg(slice.arg_set_id, 'debug.first_tid') AS first_tid,
  extract_arg(slice.arg_set_id, 'debug.first_correlation') AS first_correlation,
  extract_arg(slice.arg_set_id, 'debug.first_tie') AS first_tie,
  extract_arg(slice.arg_set_id, 'debug.activity_count') AS activity_count
FROM slice
WHERE
  slice.category = 'autoviz.pattern_segment'
ORDER BY
  slice.id;
